/**
 * Decides how far back the polls of each Bird's Flights look. Flights cannot be counted as paged entries can, so
 * completeness is checked by reading again:
 * - Once an hour a poll begins a day back, which costs no extra request. A poll that begins that far back anyway,
 *   because no Flight has started since, verifies as much.
 * - Once a day, all active Flights and all failed ones within the retention are read as well.
 * - The first poll of a Bird reads all Flights within the retention. Nothing else shows those that started before its
 *   window and were active when the watch began: some are still active, and some have failed since.
 *
 * A service may always fail to list so much, while it answers what a poll must ask. So if such a poll fails, one of
 * its extra parts is put off, and the polls of the Bird go on.
 */
import type { Column, Columns } from '../columns.ts';
import { type IntakeParts, retentionHorizonUs } from '../parts.ts';

interface FlightRescanOptions extends Pick<IntakeParts, 'retentionMs' | 'clock' | 'random'> {
  readonly overlapUs: () => number;
  readonly firstFromUs: (birdId: string) => number;
}

/** A Bird, and its row in the columns. */
interface RescannedBird {
  readonly birdId: string;
  readonly row: number;
}

/** What a poll reads. */
export interface FlightScope {
  /** The earliest start that it reads. */
  readonly fromUs: number;
  /** The earliest start of the failed Flights that it also reads; undefined if it reads none. */
  readonly wholeFromUs: number | undefined;
  /** Whether it also reads all active Flights. */
  readonly active: boolean;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** When a part that failed is tried again. */
const PUT_OFF_MS = HOUR_MS / 2;
/** Less than a day, since a Bird's polls are some minutes apart and failed Flights are to be read within a day. */
const WHOLE_EVERY_MS = DAY_MS - HOUR_MS;

/** For all Birds of a region. There may be tens of thousands, so their instants are kept in columns. */
export class FlightRescans {
  readonly #options: FlightRescanOptions;
  readonly #dayDueMs: Column<number>;
  readonly #wholeDueMs: Column<number>;
  /** Whether the first reading of all active Flights is still to be done. */
  readonly #isActiveLeft: Column<boolean>;
  /** When the last poll succeeded, on the service's clock; 0 before the first. */
  readonly #serviceNowUs: Column<number>;
  readonly #verifiedUs: Column<number>;
  /** Until when each extra part of a Bird's polls is put off, by row; only of Birds for which one has failed. */
  readonly #putOff = new Map<number, { wholeMs: number; activeMs: number; dayMs: number }>();

  /** `columns` have no rows yet. */
  constructor(options: FlightRescanOptions, columns: Columns) {
    this.#options = options;
    this.#dayDueMs = columns.add(0);
    this.#wholeDueMs = columns.add(0);
    this.#isActiveLeft = columns.addChoice(false);
    this.#serviceNowUs = columns.add(0);
    this.#verifiedUs = columns.add(0);
  }

  /** To be called when the row was added. */
  begin(row: number): void {
    const { clock, random } = this.#options;
    this.#dayDueMs.set(row, clock.monotonicMs());
    // All Birds start together, so each gets a random time. It comes soon, since a run may be short.
    this.#wholeDueMs.set(row, clock.monotonicMs() + random() * HOUR_MS);
  }

  /** To be called before the first poll of a Bird whose Flights from before the poll's window are not known. */
  readsAll(row: number): void {
    this.#wholeDueMs.set(row, this.#options.clock.monotonicMs());
    this.#isActiveLeft.set(row, true);
  }

  /** To be called when the row is removed. */
  end(row: number): void {
    this.#putOff.delete(row);
  }

  /** All Flights that started up to here are known; 0 before the first rescan. */
  verifiedUs(row: number): number {
    return this.#verifiedUs.get(row);
  }

  /** Whether a poll that looked a day back succeeded at or after `ms` (monotonic), and no daily reading is due. */
  isDoneSince(row: number, ms: number): boolean {
    const isRescanned = this.#verifiedUs.get(row) > 0 && this.#dayDueMs.get(row) - HOUR_MS >= ms;
    return isRescanned && this.#options.clock.monotonicMs() < this.#wholeDueMs.get(row);
  }

  /** Whether a poll that reads this is the first to read what started before its window (`readsAll`). */
  isFirst(row: number, { wholeFromUs }: FlightScope): boolean {
    return wholeFromUs !== undefined && this.#isActiveLeft.get(row);
  }

  /** What a poll reads whose window has to begin at `pollFromUs`. */
  scope({ birdId, row }: RescannedBird, pollFromUs: number): FlightScope {
    const serviceNowUs = this.#serviceNowUs.get(row);
    const isActiveLeft = this.#isActiveLeft.get(row);
    if (serviceNowUs === 0 && !isActiveLeft) {
      return { fromUs: pollFromUs, wholeFromUs: undefined, active: false };
    }
    const nowMs = this.#options.clock.monotonicMs();
    const { wholeMs = 0, activeMs = 0, dayMs = 0 } = this.#putOff.get(row) ?? {};
    const isWhole = nowMs >= Math.max(this.#wholeDueMs.get(row), wholeMs);
    const isDay = serviceNowUs > 0 && (isWhole || nowMs >= Math.max(this.#dayDueMs.get(row), dayMs));
    return {
      fromUs: isDay ? Math.min(pollFromUs, this.#dayAgoUs(birdId, serviceNowUs)) : pollFromUs,
      wholeFromUs: isWhole ? this.#retentionHorizonUs(serviceNowUs) : undefined,
      active: isWhole || (isActiveLeft && nowMs >= activeMs),
    };
  }

  /**
   * The service answered, but failed at a poll that had to begin at `pollFromUs`. One of the parts that the poll did
   * not have to read is put off. The next poll shows whether the others can be read.
   */
  failed(row: number, { fromUs, wholeFromUs, active }: FlightScope, pollFromUs: number): void {
    const untilMs = this.#options.clock.monotonicMs() + PUT_OFF_MS;
    const putOff = this.#putOff.get(row) ?? { wholeMs: 0, activeMs: 0, dayMs: 0 };
    this.#putOff.set(row, putOff);
    if (wholeFromUs !== undefined) putOff.wholeMs = untilMs;
    else if (active) putOff.activeMs = untilMs;
    else if (fromUs < pollFromUs) putOff.dayMs = untilMs;
  }

  /** Up to when Flights are known once such a poll is committed. The arguments are those of `done`. */
  verifiedAfter(
    { birdId, row }: RescannedBird,
    { fromUs }: FlightScope,
    serviceNowUs: number,
    unreadUs = Number.POSITIVE_INFINITY,
  ): number {
    // An earlier verification no longer holds if a part of it proves unreadable, or lies in the service's future.
    const keptUs = Math.min(this.#verifiedUs.get(row), unreadUs, serviceNowUs);
    if (fromUs > this.#dayAgoUs(birdId, serviceNowUs)) return keptUs;
    return Math.max(keptUs, Math.min(serviceNowUs - this.#options.overlapUs(), unreadUs));
  }

  /**
   * The poll succeeded. `serviceNowUs` is when, on the service's clock. Flights that started at `unreadUs` or later
   * are not all known (Infinity: they are).
   */
  done(
    bird: RescannedBird,
    scope: FlightScope,
    serviceNowUs: number,
    unreadUs = Number.POSITIVE_INFINITY,
  ): void {
    const { clock, random } = this.#options;
    const { birdId, row } = bird;
    const nowMs = clock.monotonicMs();
    if (scope.active) this.#isActiveLeft.set(row, false);
    this.#serviceNowUs.set(row, serviceNowUs);
    this.#verifiedUs.set(row, this.verifiedAfter(bird, scope, serviceNowUs, unreadUs));
    // Spread over an hour, since the first polls of all Birds come close together.
    if (scope.wholeFromUs !== undefined) {
      this.#wholeDueMs.set(row, nowMs + WHOLE_EVERY_MS - random() * HOUR_MS);
    }
    if (scope.fromUs <= this.#dayAgoUs(birdId, serviceNowUs)) this.#dayDueMs.set(row, nowMs + HOUR_MS);
  }

  #retentionHorizonUs(nowUs: number): number {
    const { clock, retentionMs } = this.#options;
    return retentionHorizonUs(Math.max(nowUs, clock.nowUs()), retentionMs);
  }

  #dayAgoUs(birdId: string, nowUs: number): number {
    const firstFromUs = this.#options.firstFromUs(birdId);
    return Math.max(firstFromUs, this.#retentionHorizonUs(nowUs), nowUs - DAY_MS * 1000);
  }
}
