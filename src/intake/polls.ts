/**
 * The polls of one region's streams. What a poll brings is followed up: new events hint at other streams, and the
 * inventory says which streams there are. What a poll throws is reported here and never ends the loop; the stream is
 * polled again after a wait that doubles with each failure in a row.
 */
import type { PollConfig } from '../config/sections/poll-section.ts';
import type { Feed } from '../domain/alert/event.ts';
import { codeOf, isStoreFailure, NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Bell, Clock, Random } from '../time/clock.ts';
import type { HealthWatch } from './health-watch.ts';
import type { Hints } from './hints.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { Polled, Schedule } from './schedule/schedule.ts';
import type { ServiceClock } from './service-clock.ts';
import { birdIdOf, feedOf, INVENTORY } from './stream-name.ts';
import type { Reading, Streams } from './streams.ts';

interface PollsOptions {
  readonly region: string;
  readonly poll: PollConfig;
  readonly inventory: Inventory;
  readonly streams: Streams;
  readonly schedule: Schedule;
  readonly hints: Hints;
  readonly health: HealthWatch;
  readonly serviceClock: ServiceClock;
  /** Rung when something may be polled that could not be polled before. */
  readonly bell: Bell;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** A poll under way. */
interface Poll {
  readonly name: string;
  readonly feed: Feed | 'inventory';
  readonly birdId: string;
  readonly beganMs: number;
  /** Each stream is read only once. */
  readonly once: boolean;
}

/** Why the Nests and Birds of a region could not be listed in this life, although it answers. */
export interface Unlisted {
  /** What failed last: the list of Nests, or those of their Birds. */
  readonly what: 'Nests' | 'Birds';
  /** What was met, in a sentence. */
  readonly said: string;
}

/** The polls of a stream that failed in a row. */
interface Failures {
  readonly count: number;
  /** What the last of them met. */
  readonly said: string;
  /** When its Bird was first not found, on the monotonic clock; undefined for never. */
  readonly missingMs: number | undefined;
}

/** A poll that failed is tried again after this, doubling with each further failure. */
const FIRST_RETRY_MS = 5_000;

/** Fewer failures may be a moment's. */
const UNLISTED_AFTER = 3;

/**
 * What says nothing about what is asked for, unless it alone meets that: the service fails or is out of
 * reach, which the region's health is about; the pace waits; or nestwatch itself stops or cannot write.
 */
const NOT_OF_LISTS: ReadonlySet<string> = new Set([
  'unreachable',
  'timeout',
  'unavailable',
  'unauthorized',
  'rate_limited',
  'circuit_open',
  'cancelled',
  'lease_lost',
]);

/** Bird logs after which a Bird has Flights. */
const STARTING_LOGS: ReadonlySet<string> = new Set(['bird_log.Published', 'bird_log.Activated']);

export class Polls {
  readonly #options: PollsOptions;
  /** By the name of the stream whose last poll failed. */
  readonly #failures = new Map<string, Failures>();
  readonly #lastSuccessUs = new Map<Feed, number>();
  #isInventoryRead = false;
  #wasInventoryTried = false;
  #areNestsListed = false;
  /** How often in a row something else was answered than Nests and Birds, and since when the region was up then. */
  #wrongLists: { readonly count: number; readonly upSinceUs: number | undefined } = {
    count: 0,
    upSinceUs: undefined,
  };

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** Whether the inventory was read once, though perhaps without some Nests. */
  isInventoryRead(): boolean {
    return this.#isInventoryRead;
  }

  /** Undefined once they were listed, until that has failed three times in a row, and where the region was away meanwhile. */
  unlisted(): Unlisted | undefined {
    const { count, upSinceUs } = this.#wrongLists;
    const said = this.failureOf(INVENTORY);
    if (this.#isInventoryRead || said === undefined || count < UNLISTED_AFTER) return undefined;
    if (upSinceUs !== this.#options.health.upSinceUs()) return undefined;
    return { what: this.#areNestsListed ? 'Birds' : 'Nests', said };
  }

  /** What the last poll of a stream failed with; undefined where it did not. */
  failureOf(name: string): string | undefined {
    return this.#failures.get(name)?.said;
  }

  /** The names of the streams whose last poll failed. */
  failing(): Iterable<string> {
    return this.#failures.keys();
  }

  failingCount(): number {
    return this.#failures.size;
  }

  /** When a poll of each feed last succeeded. */
  lastSuccessUs(): ReadonlyMap<Feed, number> {
    return this.#lastSuccessUs;
  }

  /** Polls a stream that was taken from the schedule, and gives it back. Never throws what the service threw. */
  async poll(name: string, signal: AbortSignal, once: boolean): Promise<void> {
    const { schedule, streams, bell, clock } = this.#options;
    const feed = feedOf(name);
    const birdId = birdIdOf(name);
    const poll = { name, feed, birdId, beganMs: clock.monotonicMs(), once };
    let polled: Polled = once ? { delayMs: Number.POSITIVE_INFINITY } : {};
    try {
      const reading = await this.#read(poll, signal);
      const { soon, fresh, requests, historyMs } = reading;
      const complete = soon !== 0;
      polled = { delayMs: soon ?? polled.delayMs, requests, newEntries: fresh.length, complete, historyMs };
      await this.#succeeded(poll, reading);
    } catch (error) {
      const failures = this.#countFailure(poll, error);
      if (!once) polled = this.#retryOf(poll, error, failures);
      this.#reportFailure(poll, error);
    } finally {
      if (name === INVENTORY && !this.#wasInventoryTried) {
        this.#wasInventoryTried = true;
        this.followInventory();
      }
      schedule.done(name, clock.monotonicMs(), polled);
      if (feed === 'flight') streams.rest(name, birdId);
      bell.ring();
    }
  }

  /** The service has listed its Nests: from the first time on the notifications may be read. */
  nestsListed(): void {
    if (this.#areNestsListed) return;
    this.#areNestsListed = true;
    this.followInventory();
    this.#options.bell.ring();
  }

  /** Takes up the streams of the Birds that the inventory lists now, and drops the others. */
  followInventory(): void {
    const { inventory, streams } = this.#options;
    // Notifications name Birds, and Nests that are not watched: they wait for the first reading of the inventory,
    // of which the Nests will do where the Birds of an earlier life are known, or for its failure.
    const areKnown = this.#wasInventoryTried || (this.#areNestsListed && inventory.birds().length > 0);
    for (const name of streams.follow(areKnown)) this.#failures.delete(name);
  }

  async #read({ name, once }: Poll, signal: AbortSignal): Promise<Reading> {
    if (name === INVENTORY) return this.#readInventory(once);
    await this.#options.serviceClock.begun();
    return this.#options.streams.read(name, signal, once);
  }

  async #readInventory(once: boolean): Promise<Reading> {
    const { inventory, hints } = this.#options;
    hints.inventoryBegins();
    await inventory.poll();
    // No other reading follows that could show whether those Birds are gone.
    if (once && inventory.hasMissed()) await inventory.poll();
    this.followInventory();
    this.#isInventoryRead = true;
    // What could be read is kept; that it was not all is a failure all the same.
    const trouble = inventory.trouble();
    if (trouble) throw trouble;
    return { soon: undefined, fresh: [], requests: inventory.cost() };
  }

  async #succeeded({ name, feed, birdId, beganMs, once }: Poll, { fresh }: Reading): Promise<void> {
    const { region, streams, hints, health, clock, report } = this.#options;
    this.#failures.delete(name);
    if (feed !== 'inventory') this.#lastSuccessUs.set(feed, clock.nowUs());
    const durationMs = clock.monotonicMs() - beganMs;
    report({ what: 'poll', region, feed, birdId, durationMs, atUs: clock.nowUs() });
    await health.answered(once);
    if (!once && fresh.some(({ type }) => STARTING_LOGS.has(type))) streams.followFlights(birdId);
    await hints.follow(fresh);
  }

  #countFailure({ name, birdId }: Poll, error: unknown): Failures {
    const { schedule, clock } = this.#options;
    const before = this.#failures.get(name);
    const isMissing = isBirdMissing(birdId, error);
    const isNewlyMissing = isMissing && before?.missingMs === undefined;
    const missingMs = isNewlyMissing ? clock.monotonicMs() : before?.missingMs;
    // Not the error itself: that may hold a page of the service, and there may be thousands.
    const said = error instanceof Error ? error.message : String(error);
    const failures = { count: (before?.count ?? 0) + 1, said, missingMs };
    if (name === INVENTORY) this.#countWrongLists(error);
    // What was removed while its poll was under way can no longer fail.
    if (schedule.has(name)) this.#failures.set(name, failures);
    // The Bird or its Nest may be gone: the inventory knows more, and what it knows need not be asked for again.
    if (isNewlyMissing) schedule.hint(INVENTORY, clock.monotonicMs());
    return failures;
  }

  #countWrongLists(error: unknown): void {
    const upSinceUs = this.#options.health.upSinceUs();
    const isAlone = error instanceof NestwatchError && error.facts.isAlone === true;
    const isOfLists = isAlone || !NOT_OF_LISTS.has(codeOf(error));
    const isWrong = isOfLists && !isStoreFailure(error) && upSinceUs !== undefined;
    const before = this.#wrongLists.upSinceUs === upSinceUs ? this.#wrongLists.count : 0;
    this.#wrongLists = { count: isWrong ? before + 1 : 0, upSinceUs };
  }

  /** When the stream is polled again. */
  #retryOf({ birdId }: Poll, error: unknown, { count, missingMs }: Failures): Polled {
    const { inventory } = this.#options;
    const isGone = isBirdMissing(birdId, error) && !inventory.isListedSince(birdId, missingMs!);
    // A reading of the inventory that left Nests out took what a whole one takes.
    const spent = error === inventory.trouble() ? { requests: inventory.cost(), isPartial: true } : {};
    return { delayMs: this.#retryDelayMs(count, error), isGone, ...spent };
  }

  #reportFailure({ feed, birdId, beganMs }: Poll, error: unknown): void {
    const { region, clock, report } = this.#options;
    const failure = codeOf(error);
    if (failure === 'cancelled') return;
    const durationMs = clock.monotonicMs() - beganMs;
    report({ what: 'poll', region, feed, birdId, durationMs, atUs: clock.nowUs(), failure, error });
  }

  #retryDelayMs(failuresInRow: number, error: unknown): number {
    const ceilingMs = Math.min(
      this.#mostRetryDelayMs(error),
      FIRST_RETRY_MS * 2 ** Math.min(failuresInRow - 1, 20),
    );
    return ceilingMs * (0.5 + this.#options.random() / 2);
  }

  #mostRetryDelayMs(error: unknown): number {
    const { poll, inventory } = this.#options;
    // A Nest that never can be read is no reason to read the whole inventory more often than it is meant to be.
    if (error === inventory.trouble()) return poll.inventoryIntervalMs;
    // The region's pace answers a refusal, and the stream is not to blame: one that takes several requests meets a
    // limit more often than others, and would wait longest.
    return codeOf(error) === 'rate_limited' ? poll.intervalMs : poll.maxIntervalMs;
  }
}

function isBirdMissing(birdId: string, error: unknown): boolean {
  return birdId !== '' && codeOf(error) === 'not_found';
}
