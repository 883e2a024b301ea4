/**
 * Polls the streams of one region and follows up on the results: new events hint at other streams, and the inventory
 * determines which streams exist. A failed poll is reported here and never ends the loop. The stream is polled again
 * after a backoff that doubles with each consecutive failure.
 */
import type { Event, Feed } from '../domain/alert/event.ts';
import { codeOf, isStoreFailure, NestwatchError } from '../errors.ts';
import type { Unlisted } from '../region-progress.ts';
import type { Bell } from '../time/clock.ts';
import type { HealthWatch } from './health-watch.ts';
import type { Inventory } from './inventory/inventory.ts';
import { birdIdOf, feedOf, flightsName, INVENTORY, type IntakeParts, logName } from './parts.ts';
import { newsWorth } from './schedule/poll-value.ts';
import type { Polled, Schedule } from './schedule/schedule.ts';
import type { ServiceClock } from './service-clock.ts';
import type { Reading, Streams } from './streams.ts';

interface PollsOptions extends Pick<IntakeParts, 'region' | 'poll' | 'clock' | 'random' | 'report'> {
  readonly inventory: Inventory;
  readonly streams: Streams;
  readonly schedule: Schedule;
  readonly hints: Hints;
  readonly health: HealthWatch;
  readonly serviceClock: ServiceClock;
  /** Rung when something can be polled that could not be polled before. */
  readonly bell: Bell;
}

/** A poll in progress. */
interface Poll {
  readonly name: string;
  readonly feed: Feed | 'inventory';
  readonly birdId: string;
  readonly beganMs: number;
  /** Whether each stream is read only once. */
  readonly once: boolean;
}

/** Consecutive failures of a stream's polls. */
interface Failures {
  readonly count: number;
  /** The error of the last one. */
  readonly said: string;
  /** When the Bird was first not found, on the monotonic clock; undefined for never. */
  readonly missingMs: number | undefined;
}

/** Consecutive readings that failed to get the lists. */
interface WrongLists {
  readonly count: number;
  /** When the first of them failed. */
  readonly sinceUs: number;
  /** Since when the region was up at that time. */
  readonly upSinceUs: number | undefined;
}

/** The first backoff, which doubles with each further failure. */
const FIRST_RETRY_MS = 5_000;

/** Fewer failures in a row may be temporary. With the backoff three take at most 15 s, and five 75 s. */
const UNLISTED_AFTER = { atFirst: 3, later: 5 } as const;

/** So many failed polls in a row, of whichever streams, are no chance: the region as a whole could not be read. */
const ALL_FAIL = 10;

/**
 * Errors that say nothing about the lists, unless only these requests fail. They mean that the service is down or
 * unreachable, which the region's health reports; that requests are held back; or that nestwatch itself stops or
 * cannot write.
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

/** Errors after which other streams are not read either, for a reason of their own. */
const NOT_OF_STREAMS: ReadonlySet<string> = new Set(['rate_limited', 'cancelled', 'lease_lost']);

/** As of a region that is down: one request shows that the region can be read again. */
const LONGEST_PROBE_MS = 60_000;

/** Bird log entries after which a Bird has Flights. */
const STARTING_LOGS: ReadonlySet<string> = new Set(['bird_log.Published', 'bird_log.Activated']);

export class Polls {
  readonly #options: PollsOptions;
  /** By stream name; only streams whose last poll failed. */
  readonly #failures = new Map<string, Failures>();
  readonly #lastSuccessUs = new Map<Feed, number>();
  #isInventoryRead = false;
  #wasInventoryTried = false;
  #areNestsListed = false;
  /** Whether the present reading of the inventory, or the last one, got the list of Nests. */
  #hasListedNests = false;
  #wrongLists: WrongLists = { count: 0, sinceUs: 0, upSinceUs: undefined };
  /** Failed polls since the last one that succeeded. */
  #failedInRow = 0;

  constructor(options: PollsOptions) {
    this.#options = options;
  }

  /** Whether the inventory was read once, even if some Nests were left out. */
  isInventoryRead(): boolean {
    return this.#isInventoryRead;
  }

  /** Undefined if they were listed, before some consecutive failures, and if the region was down in between. */
  unlisted(): Unlisted | undefined {
    const { count, sinceUs, upSinceUs } = this.#wrongLists;
    const said = this.failureOf(INVENTORY);
    if (said === undefined || count < UNLISTED_AFTER[this.#isInventoryRead ? 'later' : 'atFirst'])
      return undefined;
    if (upSinceUs !== this.#options.health.upSinceUs()) return undefined;
    const isAll = !this.#isInventoryRead || this.#failedInRow >= ALL_FAIL;
    return { what: this.#hasListedNests ? 'Birds' : 'Nests', said, sinceUs, isAll };
  }

  /** What the last poll of a stream failed with; undefined if it succeeded. */
  failureOf(name: string): string | undefined {
    return this.#failures.get(name)?.said;
  }

  /** To be called when the region answers again: the streams whose retry waits since then need not wait any longer. */
  retryFailing(): void {
    const { schedule, clock, bell } = this.#options;
    for (const name of this.#failures.keys()) schedule.hint(name, clock.monotonicMs());
    bell.ring();
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
    let following: Promise<void> | undefined;
    try {
      const reading = await this.#read(poll, signal);
      const { againMs, fresh, requests, historyMs } = reading;
      const complete = againMs !== 0;
      polled = {
        delayMs: againMs ?? polled.delayMs,
        requests,
        newEntries: newsWorth(fresh),
        complete,
        historyMs,
      };
      await this.#succeeded(poll, reading);
      following = this.#options.hints.follow(fresh);
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
      if (feed === 'flight') streams.rest(birdId);
      bell.ring();
    }
    // A service that does not answer about one Bird must not delay the next poll of the stream.
    await following;
  }

  /** To be called when the service has listed its Nests. After the first time notifications may be read. */
  nestsListed(): void {
    this.#hasListedNests = true;
    if (this.#areNestsListed) return;
    this.#areNestsListed = true;
    this.followInventory();
    this.#options.bell.ring();
  }

  /** To be called when Birds were added. Their streams may be read. */
  birdsAdded(): void {
    this.followInventory();
    this.#options.bell.ring();
  }

  /** Adds the streams of the Birds that the inventory now lists, and removes the others. */
  followInventory(): void {
    const { inventory, streams } = this.#options;
    // Notifications refer to any Bird, and to Nests that may be excluded. So they wait until the first reading of the
    // inventory has ended or failed, or has listed the Nests if the Birds are known from an earlier run.
    const areKnown = this.#wasInventoryTried || (this.#areNestsListed && inventory.wasKnown());
    for (const name of streams.follow(areKnown)) this.#failures.delete(name);
  }

  async #read({ name, once }: Poll, signal: AbortSignal): Promise<Reading> {
    if (name === INVENTORY) return this.#readInventory(once);
    await this.#options.serviceClock.begun();
    return this.#options.streams.read(name, signal);
  }

  async #readInventory(once: boolean): Promise<Reading> {
    const { inventory, hints } = this.#options;
    hints.inventoryBegins();
    this.#hasListedNests = false;
    await inventory.poll();
    // No later reading would confirm whether the missing Birds are gone.
    if (once && inventory.hasMissed()) await inventory.poll();
    this.followInventory();
    this.#isInventoryRead = true;
    // What could be read is kept, but an incomplete reading still counts as a failure.
    const trouble = inventory.trouble();
    if (trouble) throw trouble;
    return { againMs: undefined, fresh: [], requests: inventory.cost() };
  }

  async #succeeded({ name, feed, birdId, beganMs, once }: Poll, { fresh }: Reading): Promise<void> {
    const { region, streams, health, clock, report } = this.#options;
    this.#failures.delete(name);
    if (this.#failedInRow >= ALL_FAIL) this.retryFailing();
    this.#failedInRow = 0;
    if (feed !== 'inventory') this.#lastSuccessUs.set(feed, clock.nowUs());
    const durationMs = clock.monotonicMs() - beganMs;
    report({ what: 'poll', region, feed, birdId, durationMs, atUs: clock.nowUs() });
    await health.answered(once);
    if (!once && fresh.some(({ type }) => STARTING_LOGS.has(type))) streams.followFlights(birdId);
  }

  #countFailure({ name, birdId }: Poll, error: unknown): Failures {
    const { schedule, clock } = this.#options;
    const before = this.#failures.get(name);
    const isMissing = isBirdMissing(birdId, error);
    const isNewlyMissing = isMissing && before?.missingMs === undefined;
    const missingMs = isNewlyMissing ? clock.monotonicMs() : before?.missingMs;
    // The message rather than the error, which may hold a whole answer of the service. There may be thousands.
    const said = error instanceof Error ? error.message : String(error);
    const failures = { count: (before?.count ?? 0) + 1, said, missingMs };
    if (name === INVENTORY) this.#countWrongLists(error);
    if (!NOT_OF_STREAMS.has(codeOf(error))) this.#failedInRow += 1;
    // A stream that was removed during its poll is not tracked any more.
    if (schedule.has(name)) this.#failures.set(name, failures);
    // The Bird or its Nest may be gone, which the inventory will show. One reading is enough.
    if (isNewlyMissing) schedule.hint(INVENTORY, clock.monotonicMs());
    return failures;
  }

  #countWrongLists(error: unknown): void {
    const upSinceUs = this.#options.health.upSinceUs();
    const isAlone = error instanceof NestwatchError && error.facts.isAlone === true;
    const isOfLists = isAlone || !NOT_OF_LISTS.has(codeOf(error));
    const isWhole = error !== this.#options.inventory.trouble();
    const isWrong = isOfLists && isWhole && !isStoreFailure(error) && upSinceUs !== undefined;
    const { count, sinceUs } = this.#wrongLists;
    const before = isWrong && this.#wrongLists.upSinceUs === upSinceUs ? count : 0;
    this.#wrongLists = {
      count: isWrong ? before + 1 : 0,
      sinceUs: before > 0 ? sinceUs : this.#options.clock.nowUs(),
      upSinceUs,
    };
  }

  /** When the stream is polled again. */
  #retryOf({ name, birdId }: Poll, error: unknown, { count, missingMs }: Failures): Polled {
    const { inventory } = this.#options;
    const isGone = isBirdMissing(birdId, error) && !inventory.isListedSince(birdId, missingMs!);
    // A reading that left Nests out took as many requests as a complete one.
    const spent = error === inventory.trouble() ? { requests: inventory.cost(), isPartial: true } : {};
    return { delayMs: this.#retryDelayMs(name, count, error), isGone, ...spent };
  }

  #reportFailure({ feed, birdId, beganMs }: Poll, error: unknown): void {
    const { region, clock, report } = this.#options;
    const failure = codeOf(error);
    if (failure === 'cancelled') return;
    const durationMs = clock.monotonicMs() - beganMs;
    report({ what: 'poll', region, feed, birdId, durationMs, atUs: clock.nowUs(), failure, error });
  }

  #retryDelayMs(name: string, failuresInRow: number, error: unknown): number {
    const ceilingMs = Math.min(
      this.#mostRetryDelayMs(name, error),
      FIRST_RETRY_MS * 2 ** Math.min(failuresInRow - 1, 20),
    );
    return ceilingMs * (0.5 + this.#options.random() / 2);
  }

  #mostRetryDelayMs(name: string, error: unknown): number {
    const { poll, inventory } = this.#options;
    if (name === INVENTORY && !this.#hasListedNests) return LONGEST_PROBE_MS;
    // A Nest that can never be read must not make the inventory be read more often than configured.
    if (error === inventory.trouble()) return poll.inventoryIntervalMs;
    // The region's pace already slows down after a refusal, and the stream is not at fault. A poll of several
    // requests is refused more often, so a longer backoff would make such streams wait longest.
    return codeOf(error) === 'rate_limited' ? poll.intervalMs : poll.maxIntervalMs;
  }
}

function isBirdMissing(birdId: string, error: unknown): boolean {
  return birdId !== '' && codeOf(error) === 'not_found';
}

// Follows hints in new events: polls related streams earlier, and reads Birds again whose status may have changed.

interface HintsOptions extends Pick<IntakeParts, 'region' | 'clock' | 'report'> {
  readonly schedule: Pick<Schedule, 'hint' | 'isAimKept'>;
  readonly inventory: Pick<Inventory, 'pollBird'>;
  /** On the service's clock. What occurred before it is history: the inventory was read after it. */
  readonly watchedSinceUs: (birdId: string) => number;
}

export interface Hints {
  /** Polls the streams of these events' Birds earlier, and reads the Birds again whose status may have changed. */
  follow(fresh: readonly Event[]): Promise<void>;
  /** To be called when a reading of the inventory begins. After that a hint may ask for another one. */
  inventoryBegins(): void;
}

/** The most Birds read one by one after a poll. Beyond that, reading the whole inventory takes fewer requests. */
const MOST_SUSPECTS = 20;

/** Bird log entries after which the Bird's status may have changed. */
const STATUS_LOGS = new Set([
  'bird_log.Deactivated',
  'bird_log.Activated',
  'bird_log.Suspended',
  'bird_log.Published',
]);

export function createHints({
  region,
  schedule,
  inventory,
  watchedSinceUs,
  clock,
  report,
}: HintsOptions): Hints {
  /** A reading of the inventory was requested and has not begun. */
  let isInventoryAwaited = false;

  return {
    async follow(fresh) {
      const nowMs = clock.monotonicMs();
      const suspects = new Set<string>();
      // One failure often follows another. But if requests are scarce, they are better spent elsewhere.
      const followsFailures = schedule.isAimKept();
      for (const event of fresh) {
        if (!event.birdId || event.occurredAtUs < watchedSinceUs(event.birdId)) continue;
        const isFailure = event.type === 'flight.failed';
        // Its Bird's log tells who changed the Bird before the failure.
        if (event.feed === 'notification' || isFailure) schedule.hint(logName(event.birdId), nowMs);
        if (event.feed === 'notification' || (isFailure && followsFailures)) {
          schedule.hint(flightsName(event.birdId), nowMs);
        }
        if (event.feed === 'notification' || STATUS_LOGS.has(event.type)) suspects.add(event.birdId);
      }
      if (isInventoryAwaited) return;
      if (suspects.size > MOST_SUSPECTS) {
        isInventoryAwaited = true;
        schedule.hint(INVENTORY, nowMs);
        return;
      }
      for (const birdId of suspects) {
        try {
          await inventory.pollBird(birdId);
        } catch (error) {
          // The regular inventory reading repairs this, so only a bug is reported.
          if (codeOf(error) === 'bug') report({ what: 'trouble', stage: 'intake', region, error });
        }
      }
    },
    inventoryBegins() {
      isInventoryAwaited = false;
    },
  };
}

// Limits how many polls of a region run at the same time. If the service is slow to answer one feed, that feed's
// polls would soon occupy all slots and every other feed would have to wait. So a feed whose polls are slow must
// leave some slots to the others.

/** A poll that takes longer is slow. Most take a fraction of a second. */
const SLOW_MS = 2_000;

/** The part of the slots that slow feeds leave to others. */
const LEFT_TO_OTHERS = 1 / 4;

interface Held {
  /** When each poll in progress began, oldest first. */
  readonly beganMs: number[];
  /** The duration of the poll that ended last. */
  lastMs: number;
}

/** All instants are monotonic milliseconds. */
export class PollSlots {
  readonly #count: number;
  readonly #mostOfSlow: number;
  readonly #held = new Map<string, Held>();
  #taken = 0;

  constructor(count: number) {
    this.#count = count;
    this.#mostOfSlow = count === 1 ? 1 : count - Math.max(1, Math.floor(count * LEFT_TO_OTHERS));
  }

  /** Whether no further poll may begin. */
  isFull(): boolean {
    return this.#taken >= this.#count;
  }

  /**
   * The feed that may begin no further poll because its polls are slow and occupy all slots they may; undefined if
   * none.
   */
  fullFeed(nowMs: number): string | undefined {
    for (const [feed, { beganMs, lastMs }] of this.#held) {
      if (beganMs.length < this.#mostOfSlow) continue;
      if (Math.max(lastMs, nowMs - beganMs[0]!) > SLOW_MS) return feed;
    }
    return undefined;
  }

  /** To be called when a poll begins; the returned function is to be called when it ends. */
  take(feed: string, nowMs: number): (endedMs: number) => void {
    const held = this.#heldBy(feed);
    held.beganMs.push(nowMs);
    this.#taken += 1;
    return (endedMs) => {
      held.beganMs.splice(held.beganMs.indexOf(nowMs), 1);
      held.lastMs = endedMs - nowMs;
      this.#taken -= 1;
    };
  }

  #heldBy(feed: string): Held {
    let held = this.#held.get(feed);
    if (!held) {
      held = { beganMs: [], lastMs: 0 };
      this.#held.set(feed, held);
    }
    return held;
  }
}
