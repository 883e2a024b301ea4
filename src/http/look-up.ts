/**
 * Looks up the names of servers, for everybody who connects to one. The system's resolver takes a thread for each
 * question, of the four that all of the process shares, and where the servers of a name are silent it keeps that for some
 * ten seconds, though whoever asked has given up. One receiver with such a name took all of them, again and again, and no
 * other connection was made, to a region either. So it is asked with care:
 *
 * - Whoever asks for a name that is being looked up gets the same answer: a name takes one thread.
 * - Some threads are left to all else, and some of ours to names that were looked up quickly the last time.
 * - An answer that was slow is kept for a while, since whoever asked for it may be gone when it comes.
 */
import type { LookupAddress, LookupOptions } from 'node:dns';
import type { Clock } from '../time/clock.ts';

/** As `dns.lookup` has it, and `net.connect` takes it. */
export type LookUp = (hostname: string, options: LookupOptions, answered: Answered) => void;

type Answered = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Of the four threads that Node has by default. */
const MOST_AT_ONCE = 3;
/** Of these, for names that were slow the last time, and for those that were never looked up. */
const MOST_UNPROVEN_AT_ONCE = 2;
/** Servers that are there answer far sooner. */
const SLOW_MS = 1_000;
/** As short as a name's own time to live mostly is. */
const KEPT_MS = 60_000;
/** Those that were asked for last; a receiver may name others by its redirects. */
const MAX_NAMES = 1_000;

interface Question {
  readonly hostname: string;
  readonly options: LookupOptions;
  readonly askers: Answered[];
}

/** `ask` asks the system. */
export function createLookUp({ ask, clock }: { readonly ask: LookUp; readonly clock: Clock }): LookUp {
  /** Those under way, and those that wait for their turn. */
  const open = new Map<string, Question>();
  const waiting = new Set<string>();
  const underWay = new Set<string>();
  /** Names whose last answer was quick. */
  const proven = new Set<string>();
  const kept = new Map<string, { readonly untilMs: number; readonly answer: Parameters<Answered> }>();

  const isProven = (key: string) => proven.has(open.get(key)!.hostname);

  function beginAll(): void {
    for (const key of waiting) {
      if (underWay.size >= MOST_AT_ONCE) return;
      const unproven = [...underWay].filter((one) => !isProven(one)).length;
      if (isProven(key) || unproven < MOST_UNPROVEN_AT_ONCE) begin(key);
    }
  }

  function begin(key: string): void {
    const question = open.get(key)!;
    const { hostname, options, askers } = question;
    const beganMs = clock.monotonicMs();
    waiting.delete(key);
    underWay.add(key);
    ask(hostname, options, (...answer) => {
      const endedMs = clock.monotonicMs();
      const isQuick = endedMs - beganMs < SLOW_MS;
      underWay.delete(key);
      open.delete(key);
      proven.delete(hostname);
      if (isQuick) proven.add(hostname);
      else if (answer[0] === null) kept.set(key, { untilMs: endedMs + KEPT_MS, answer });
      forgetOldest(proven);
      forgetOldest(kept);
      beginAll();
      for (const asker of askers) asker(...answer);
    });
  }

  /** What is kept of this question, unless it is too old. */
  function known(key: string): Parameters<Answered> | undefined {
    const one = kept.get(key);
    if (one && one.untilMs > clock.monotonicMs()) return one.answer;
    kept.delete(key);
    return undefined;
  }

  return (hostname, options, answered) => {
    const { family, hints, all, order, verbatim } = options;
    const key = JSON.stringify([hostname, family, hints, all, order, verbatim]);
    const answer = known(key);
    if (answer) {
      // Sockets expect an answer no sooner than in a later turn.
      process.nextTick(() => answered(...answer));
      return;
    }
    const same = open.get(key);
    if (same) {
      same.askers.push(answered);
      return;
    }
    open.set(key, { hostname, options, askers: [answered] });
    waiting.add(key);
    beginAll();
  };
}

function forgetOldest(names: Set<string> | Map<string, unknown>): void {
  for (const name of names.keys()) {
    if (names.size <= MAX_NAMES) return;
    names.delete(name);
  }
}
