/**
 * Keeps the gaps of each Bird: time windows whose Flights the service cannot list, whatever is asked. So many Flights
 * started at one moment, or their messages are so long, that no answer holds them. Polls continue after a gap. Gaps
 * are reported (`FeedIncomplete`), nothing after the first one counts as verified, and rescans try them again. They
 * are stored, so that they survive a restart.
 */
import type { Report } from '../../report.ts';
import type { AuditRecord } from '../../store/sql/watched/audits.ts';
import type { Store } from '../../store/store.ts';
import type { Commit } from '../commit.ts';
import { type IntakeParts, retentionHorizonUs } from '../parts.ts';

type FlightGapsOptions = Pick<IntakeParts, 'region' | 'retentionMs' | 'store' | 'commit' | 'report'>;

/** A window of start dates, both inclusive. */
export interface UnreadWindow {
  readonly fromUs: number;
  readonly toUs: number;
}

/** What a poll has tried to read. */
interface ReadSpan {
  /** The earliest start from which it tried gaps again: Infinity if it did not reach the end, 0 if it tried all. */
  readonly fromUs: number;
  readonly serviceNowUs: number;
  readonly unread: readonly UnreadWindow[];
}

export function isTouching(one: UnreadWindow, other: UnreadWindow): boolean {
  return one.fromUs <= other.toUs && one.toUs >= other.fromUs;
}

/**
 * How often it is stored up to when a Bird's Flights are known. After a restart that value applies until a new check.
 */
const KEEP_VERIFIED_US = 6 * 3_600_000_000;

const NONE: readonly UnreadWindow[] = [];

export class FlightGaps {
  readonly #region: string;
  readonly #retentionMs: number;
  readonly #store: Store;
  readonly #commit: Commit;
  readonly #report: Report;
  /** Only Birds with gaps. */
  readonly #known = new Map<string, readonly UnreadWindow[]>();
  /** By Bird that is not watched yet, or not any more: up to when its Flights were known, as last committed. */
  readonly #verifiedUs = new Map<string, number>();
  /** Birds that no longer exist. Their gaps do not count. */
  readonly #away = new Set<string>();
  #loading: Promise<void> | undefined;
  #reported: number | undefined;
  /** Facts are committed one after another, and each uses the number of gaps at that time. */
  #reporting: Promise<void> = Promise.resolve();

  constructor(options: FlightGapsOptions) {
    this.#region = options.region;
    this.#retentionMs = options.retentionMs;
    this.#store = options.store;
    this.#commit = options.commit;
    this.#report = options.report;
  }

  /** The gaps of the Bird. */
  of(birdId: string): readonly UnreadWindow[] {
    return this.#known.get(birdId) ?? NONE;
  }

  /** Commits the number of gaps of all Birds, unless it is the same as last committed since the start. */
  report(): Promise<void> {
    const own = this.#reporting.then(() => this.#reportAll());
    this.#reporting = own.catch(() => {});
    return own;
  }

  /** To be called when a poll of the Bird begins. From now on its gaps count. */
  async open(birdId: string): Promise<void> {
    await this.load();
    this.#away.delete(birdId);
  }

  /** The gaps of the Bird after a poll, oldest first. They do not touch each other. */
  after(birdId: string, { fromUs, serviceNowUs, unread }: ReadSpan): readonly UnreadWindow[] {
    const before = this.of(birdId);
    if (before.length + unread.length === 0) return NONE;
    const horizonUs = retentionHorizonUs(serviceNowUs, this.#retentionMs);
    // What the poll looked at and could read this time is no longer a gap.
    const left = before.filter((one) => one.fromUs < fromUs && one.toUs >= horizonUs);
    return merged([...left, ...unread]);
  }

  /** Up to when the Flights of a Bird that is not watched yet were known, as last committed; 0 for never. */
  verifiedUs(birdId: string): number {
    return this.#verifiedUs.get(birdId) ?? 0;
  }

  /** The same, and forgets it: from now on the watch of the Bird knows it, which takes less memory. */
  takeVerified(birdId: string): number {
    const verifiedUs = this.verifiedUs(birdId);
    this.#verifiedUs.delete(birdId);
    return verifiedUs;
  }

  /**
   * The records to commit for these gaps and with the Flights known up to `verifiedUs`; none if the store already has
   * that, or nearly. `keptUs`: what was last committed.
   */
  recordsOf(
    birdId: string,
    stream: number,
    windows: readonly UnreadWindow[],
    verifiedUs: number,
    keptUs: number,
  ): readonly AuditRecord[] {
    const before = this.of(birdId);
    const isKnown = ({ fromUs, toUs }: UnreadWindow) =>
      before.some((one) => one.fromUs === fromUs && one.toUs === toUs);
    const isSame = windows.length === before.length && windows.every(isKnown);
    const isNearlyKept = verifiedUs === 0 || (keptUs > 0 && verifiedUs - keptUs < KEEP_VERIFIED_US);
    if (isSame && isNearlyKept) return [];
    // How many Flights are missing in a gap is unknown: each counts as one.
    const gaps = windows.map(({ fromUs, toUs }) => ({ fromUs, toUs, missing: 1, seen: 1, notified: 1 }));
    return [{ stream, verifiedUs, dayAuditedUs: 0, wholeAuditedUs: 0, deletedUs: 0, gaps }];
  }

  /** Remembers the committed gaps of the Bird. */
  keep(birdId: string, windows: readonly UnreadWindow[]): void {
    if (windows.length === 0) this.#known.delete(birdId);
    else this.#known.set(birdId, windows);
  }

  /**
   * To be called when the Bird no longer exists. Its gaps do not count until it comes back. `keptUs`: up to when its
   * Flights were known, as last committed; 0 for never.
   */
  gone(birdId: string, keptUs: number): void {
    this.#away.add(birdId);
    if (keptUs > 0) this.#verifiedUs.set(birdId, keptUs);
    // If this fails, the next poll of another Bird reports it.
    this.report().catch((error) =>
      this.#report({ what: 'trouble', stage: 'intake', region: this.#region, error }),
    );
  }

  /** Loads what earlier runs have stored, once. Before that there are no known gaps. */
  load(): Promise<void> {
    this.#loading ??= this.#readStored().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #readStored(): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const records = await tx.audits.list(this.#region);
      if (records.length === 0) return;
      const streams = new Map((await tx.streams.list(this.#region)).map((one) => [one.stream, one]));
      const birds = await tx.inventory.birds(this.#region);
      const present = new Set(birds.filter((bird) => bird.present).map(({ birdId }) => birdId));
      for (const { stream, gaps, verifiedUs } of records) {
        const { feed, birdId } = streams.get(stream)!;
        if (feed !== 'flight') continue;
        this.#verifiedUs.set(birdId, verifiedUs);
        if (gaps.length === 0) continue;
        this.#known.set(birdId, gaps);
        if (!present.has(birdId)) this.#away.add(birdId);
      }
    });
  }

  async #reportAll(): Promise<void> {
    await this.load();
    const all = [...this.#known].flatMap(([birdId, own]) => (this.#away.has(birdId) ? [] : own));
    const missing = all.length;
    if (missing === this.#reported) return;
    const sinceUs = missing === 0 ? 0 : all.reduce((least, { fromUs }) => Math.min(least, fromUs), Infinity);
    await this.#commit({
      region: this.#region,
      facts: [{ fact: 'feed_gap', region: this.#region, feed: 'flight', missing, sinceUs }],
    });
    this.#reported = missing;
  }
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
