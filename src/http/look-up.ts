/**
 * Resolves host names for every outgoing connection. The system's resolver occupies one of the process's four shared
 * threads for each lookup. If the name servers are silent it keeps the thread for about ten seconds, even after the
 * caller has given up. A single receiver with such a name could occupy all threads again and again, and then no other
 * connection would be made, not even to a region. Therefore:
 *
 * - Callers that ask for a name while it is being looked up share one lookup, so that a name takes one thread.
 * - One thread is left to everything else, and one of ours to names whose last lookup was quick.
 * - The result of a slow lookup is cached for a while, since its callers may be gone when it arrives.
 */
import type { LookupAddress, LookupOptions } from 'node:dns';
import type { Clock } from '../time/clock.ts';

/** Has the signature of `dns.lookup`, as `net.connect` takes it. */
export type LookUp = (hostname: string, options: LookupOptions, answered: Answered) => void;

type Answered = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Of the four threads that Node has by default. */
const MOST_AT_ONCE = 3;
/** Of these, for names whose last lookup was slow or that were never looked up. */
const MOST_UNPROVEN_AT_ONCE = 2;
/** Name servers that work answer far sooner. */
const SLOW_MS = 1_000;
/** As short as the TTL of most names. */
const KEPT_MS = 60_000;
/** The most names remembered, the latest ones: a receiver's redirects may name any number of hosts. */
const MAX_NAMES = 1_000;

interface Question {
  readonly hostname: string;
  readonly options: LookupOptions;
  readonly askers: Answered[];
}

/** `ask` is the system's resolver. */
export function createLookUp({ ask, clock }: { readonly ask: LookUp; readonly clock: Clock }): LookUp {
  /** Lookups that are running or waiting for their turn. */
  const open = new Map<string, Question>();
  const waiting = new Set<string>();
  const underWay = new Set<string>();
  /** Names whose last lookup was quick. */
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

  /** The cached answer, unless it has expired. */
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
      // Sockets expect the callback in a later turn of the event loop.
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
