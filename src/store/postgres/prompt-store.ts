/**
 * A view of a store on a server for those who wait for an answer, such as people and scrapes. If the server falls
 * silent, their transactions fail with `store_down` within `LOOK_MS + ANSWER_MS`, while the watch itself waits until
 * the connection is known to be lost.
 *
 * A slow statement is no silence, since a server that is there answers a question on another connection meanwhile.
 * One that has not answered such a question is not asked another one: until it answers, everybody is refused at once.
 */
import { setImmediate } from 'node:timers/promises';
import { NestwatchError } from '../../errors.ts';
import { type Clock, sleep } from '../../time/clock.ts';
import type { Store, Turns } from '../store.ts';

/** How long a transaction may take before the server is asked whether it is there. */
const LOOK_MS = 1_000;
/** How long it may take to answer that. */
const ANSWER_MS = 1_500;

export function createPromptStore(store: Store, turns: Turns, clock: Clock): Store {
  /** The question that the server has not answered yet. */
  let question: { readonly askedMs: number; readonly answered: Promise<unknown> } | undefined;

  function ask(): NonNullable<typeof question> {
    const answered = turns.shown().then(
      () => undefined,
      (error: unknown) => error,
    );
    const asked = { askedMs: clock.monotonicMs(), answered };
    question = asked;
    void answered.then(() => {
      if (question === asked) question = undefined;
    });
    return asked;
  }

  /** Resolves to why the server cannot be used, or to undefined if it answers. */
  async function obstacle(signal: AbortSignal): Promise<unknown> {
    const { askedMs, answered } = question ?? ask();
    const late = sleep(clock, askedMs + ANSWER_MS - clock.monotonicMs(), signal).then(async () => {
      // If this process stood still, an answer may have arrived that was not read yet.
      await setImmediate();
      await setImmediate();
      return new NestwatchError('store_down', 'The server of the store does not answer.');
    });
    return Promise.race([answered, late]);
  }

  return {
    async transaction<T>(work: Parameters<typeof store.transaction<T>>[0]): Promise<T> {
      if (question && clock.monotonicMs() - question.askedMs >= ANSWER_MS) {
        const found = await obstacle(AbortSignal.abort());
        if (found !== undefined) throw found;
      }
      let refusal: unknown;
      let isWorkDone = false;
      const refuse = () => {
        if (refusal !== undefined) throw refusal;
      };
      const ending = new AbortController();
      const answer = store
        .transaction(async (tx) => {
          isWorkDone = false;
          refuse();
          const value = await work(tx);
          // Whoever was refused is told the truth: nothing is committed.
          refuse();
          isWorkDone = true;
          return value;
        })
        .finally(() => ending.abort());
      const silence = (async () => {
        for (;;) {
          await sleep(clock, LOOK_MS, ending.signal);
          if (ending.signal.aborted) return answer;
          const found = await obstacle(ending.signal);
          // From now on only the commit itself tells whether it takes place.
          if (found === undefined || isWorkDone) continue;
          refusal = found;
          throw found;
        }
      })();
      answer.catch(() => {});
      return Promise.race([answer, silence]);
    },
    space: () => store.space(),
    close: () => store.close(),
  };
}
