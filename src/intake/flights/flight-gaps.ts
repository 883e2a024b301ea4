/**
 * Stretches of time in which the service's list of a Bird's Flights cannot be read, however it is asked: so many
 * started at one moment, or with messages so long, that no answer holds them. There is nothing else to ask, so polls go
 * on behind them; they are told (`FeedIncomplete`), nothing later counts as proven, and reviews try again. They are in
 * the store, so that a new life knows them.
 */
import type { Report } from '../../report.ts';
import type { AuditRecord } from '../../store/audit-store.ts';
import type { Store } from '../../store/store.ts';
import type { Commit } from '../commit.ts';
import { keptSinceUs } from '../retention-horizon.ts';

export interface FlightGapsOptions {
  readonly region: string;
  readonly retentionMs: number;
  readonly store: Store;
  readonly commit: Commit;
  readonly report: Report;
}

/** Of start dates, both inclusive. */
export interface UnreadWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

/** What a poll has read to its end. */
export interface ReadSpan {
  /** It tried what started from here on: Infinity where it did not reach the end, 0 where it tried all gaps anew. */
  readonly fromUs: number;
  readonly serviceNowUs: number;
  readonly unread: readonly UnreadWindow[];
}

export interface FlightGaps {
  /** A poll of the Bird begins: from here on what the store knows is known, and the Bird is there. */
  open(birdId: string): Promise<void>;
  of(birdId: string): readonly UnreadWindow[];
  /** Those of the Bird after a poll, the oldest first, none of them touching another. */
  after(birdId: string, span: ReadSpan): readonly UnreadWindow[];
  /** What is to be committed when these are the Bird's; nothing where that is known. */
  recordsOf(birdId: string, stream: number, windows: readonly UnreadWindow[]): readonly AuditRecord[];
  /** They were committed. */
  keep(birdId: string, windows: readonly UnreadWindow[]): void;
  /** Tells alerting how many there are of all Birds, where that is not what it was last told in this life. */
  tell(): Promise<void>;
  /** The Bird is there no more: its gaps are nobody's, until it comes back. */
  gone(birdId: string): void;
}

export function isTouching(one: UnreadWindow, other: UnreadWindow): boolean {
  return one.fromUs <= other.toUs && one.toUs >= other.fromUs;
}

const NONE: readonly UnreadWindow[] = [];

export function createFlightGaps(options: FlightGapsOptions): FlightGaps {
  const { region, retentionMs, store, commit, report } = options;
  /** Only Birds that have some. */
  const known = new Map<string, readonly UnreadWindow[]>();
  /** Birds whose gaps do not count. */
  const away = new Set<string>();
  let loading: Promise<void> | undefined;
  let told: number | undefined;
  /** One fact after the other: each says how many there are when its turn has come. */
  let telling: Promise<void> = Promise.resolve();

  const of = (birdId: string) => known.get(birdId) ?? NONE;

  /** Takes over what the store knows from an earlier life, once. */
  function load(): Promise<void> {
    loading ??= readStored().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  }

  async function readStored(): Promise<void> {
    await store.transaction(async (tx) => {
      const records = (await tx.audits.list(region)).filter(({ gaps }) => gaps.length > 0);
      if (records.length === 0) return;
      const streams = new Map((await tx.streams.list(region)).map((one) => [one.stream, one]));
      const birds = await tx.inventory.birds(region);
      const present = new Set(birds.filter((bird) => bird.present).map(({ birdId }) => birdId));
      for (const { stream, gaps } of records) {
        const { feed, birdId } = streams.get(stream)!;
        if (feed !== 'flight') continue;
        known.set(birdId, gaps);
        if (!present.has(birdId)) away.add(birdId);
      }
    });
  }

  async function tellAll(): Promise<void> {
    await load();
    const all = [...known].flatMap(([birdId, own]) => (away.has(birdId) ? [] : own));
    const missing = all.length;
    if (missing === told) return;
    const sinceUs = missing === 0 ? 0 : Math.min(...all.map(({ fromUs }) => fromUs));
    await commit({ region, facts: [{ fact: 'feed_gap', region, feed: 'flight', missing, sinceUs }] });
    told = missing;
  }

  function tell(): Promise<void> {
    const own = telling.then(tellAll);
    telling = own.catch(() => {});
    return own;
  }

  return {
    async open(birdId) {
      await load();
      away.delete(birdId);
    },
    of,
    after(birdId, { fromUs, serviceNowUs, unread }) {
      const before = of(birdId);
      if (before.length + unread.length === 0) return NONE;
      const keptUs = keptSinceUs(serviceNowUs, retentionMs);
      // What the poll looked at and could read this time is whole again.
      const left = before.filter((one) => one.fromUs < fromUs && one.toUs >= keptUs);
      return merged([...left, ...unread]);
    },
    recordsOf(birdId, stream, windows) {
      const before = of(birdId);
      const isKnown = ({ fromUs, toUs }: UnreadWindow) =>
        before.some((one) => one.fromUs === fromUs && one.toUs === toUs);
      if (windows.length === before.length && windows.every(isKnown)) return [];
      const gaps = windows.map(({ fromUs, toUs }) => ({ fromUs, toUs, missing: 1, seen: 1, notified: 1 }));
      return [{ stream, verifiedUs: 0, dayAuditedUs: 0, wholeAuditedUs: 0, deletedUs: 0, gaps }];
    },
    keep(birdId, windows) {
      if (windows.length === 0) known.delete(birdId);
      else known.set(birdId, windows);
    },
    tell,
    gone(birdId) {
      away.add(birdId);
      // Where it fails, the next poll of another Bird tells.
      tell().catch((error) => report({ what: 'trouble', stage: 'intake', region, error }));
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
