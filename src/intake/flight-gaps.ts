/**
 * Stretches of time in which the service's list of a Bird's Flights cannot be read, however it is asked: so many
 * started at one moment, or with messages so long, that no answer holds them. There is nothing else to ask, so polls go
 * on behind them; they are told (`FeedIncomplete`), nothing later counts as proven, and reviews try again.
 */
import type { Fact } from '../alerts/fact.ts';
import { keptSinceUs } from './kept-since.ts';

/** Of start dates, both inclusive. */
export interface UnreadWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

/** What a poll has read to its end. */
export interface ReadSpan {
  /** The oldest start that it looked at; Infinity where it did not reach the end. */
  readonly fromUs: number;
  readonly serviceNowUs: number;
  readonly unread: readonly UnreadWindow[];
}

export interface FlightGaps {
  of(birdId: string): readonly UnreadWindow[];
  /** Those of the Bird after a poll, the oldest first, none of them touching another. */
  after(birdId: string, span: ReadSpan): readonly UnreadWindow[];
  /** What alerting is to be told when these are the Bird's; undefined where it knows. */
  factOf(birdId: string, windows: readonly UnreadWindow[]): Fact | undefined;
  /** They were committed. */
  keep(birdId: string, windows: readonly UnreadWindow[]): void;
}

export function isTouching(one: UnreadWindow, other: UnreadWindow): boolean {
  return one.fromUs <= other.toUs && one.toUs >= other.fromUs;
}

const NONE: readonly UnreadWindow[] = [];

export function createFlightGaps(region: string, retentionMs: number): FlightGaps {
  /** Only Birds that have some. */
  const known = new Map<string, readonly UnreadWindow[]>();
  let told = 0;

  const of = (birdId: string) => known.get(birdId) ?? NONE;

  function totalOf(birdId: string, windows: readonly UnreadWindow[]): readonly UnreadWindow[] {
    const others = [...known].flatMap(([id, own]) => (id === birdId ? [] : own));
    return [...others, ...windows];
  }

  return {
    of,
    after(birdId, { fromUs, serviceNowUs, unread }) {
      const before = of(birdId);
      if (before.length + unread.length === 0) return NONE;
      const keptUs = keptSinceUs(serviceNowUs, retentionMs);
      // What the poll looked at and could read this time is whole again.
      const left = before.filter((one) => one.fromUs < fromUs && one.toUs >= keptUs);
      return merged([...left, ...unread]);
    },
    factOf(birdId, windows) {
      const total = totalOf(birdId, windows);
      if (total.length === told) return undefined;
      const sinceUs = total.reduce((us, one) => Math.min(us, one.fromUs), Number.MAX_SAFE_INTEGER);
      const missing = total.length;
      return { fact: 'feed_gap', region, feed: 'flight', missing, sinceUs: missing === 0 ? 0 : sinceUs };
    },
    keep(birdId, windows) {
      if (windows.length === 0) known.delete(birdId);
      else known.set(birdId, windows);
      told = totalOf(birdId, windows).length;
    },
  };
}

function merged(windows: readonly UnreadWindow[]): UnreadWindow[] {
  const result: UnreadWindow[] = [];
  for (const one of windows.toSorted((a, b) => a.fromUs - b.fromUs)) {
    const last = result.at(-1);
    if (last && isTouching(last, one)) {
      result[result.length - 1] = { fromUs: last.fromUs, toUs: Math.max(last.toUs, one.toUs) };
    } else result.push(one);
  }
  return result;
}
