/**
 * Keeps the streams of one region besides its inventory: the notifications, and the log and Flights of each Bird. It
 * adds and removes them in the schedule and the audits as Birds come and go.
 */
import type { PollConfig } from '../config/sections/poll-section.ts';
import { type Event, type Feed, isOwnFeed } from '../domain/alert/event.ts';
import type { FeedProgress } from '../region-progress.ts';
import type { Store } from '../store/store.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import { type AuditRound, createVerifiedUntil } from './audit/audit-round.ts';
import type { Feeds } from './feeds.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { LogStream } from './logs/log-stream.ts';
import { birdIdOf, feedOf, flightsName, type IntakeParts, logName, NOTIFICATIONS } from './parts.ts';
import { MEMORY_MS, QUIET_ENTRY } from './schedule/poll-value.ts';
import type { Schedule, Seen } from './schedule/schedule.ts';

interface StreamsOptions extends Pick<IntakeParts, 'region' | 'poll' | 'store' | 'clock'> {
  readonly feeds: Feeds;
  readonly inventory: Inventory;
  readonly schedule: Schedule;
  readonly audits: AuditRound;
}

export interface Reading {
  /** When to read on, in milliseconds, if earlier than usual; 0 if one poll could not read everything. */
  readonly againMs: number | undefined;
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** The length of the time that the first poll of a stream covered, if known. */
  readonly historyMs?: number | undefined;
}

/** The streams of a Bird, and their names. */
interface BirdStreams {
  readonly logName: string;
  readonly log: LogStream;
  readonly flightsName: string;
  readonly flights: FlightWatch;
}

/** The part of the requests that the inventory, and likewise the notifications, may use while Birds wait. */
export const REGULAR_SHARE = 1 / 4;

/** The Bird has vanished since its turn was chosen. */
const NOTHING_READ: Reading = { againMs: undefined, fresh: [], requests: 0 };

export class Streams {
  readonly #options: StreamsOptions;
  readonly #poll: PollConfig;
  readonly #feeds: Feeds;
  readonly #inventory: Inventory;
  readonly #schedule: Schedule;
  readonly #audits: AuditRound;
  readonly #clock: Clock;
  readonly #notifications: LogStream;
  /** By the Bird's id. */
  readonly #birds = new Map<string, BirdStreams>();
  readonly #flightsVerifiedUntil = createVerifiedUntil();
  /** What earlier runs have seen of streams that were not added yet. */
  #seen: Map<string, Seen> = new Map();
  /** When the Birds of the inventory were last added; undefined before there were any. */
  #followedMs: number | undefined;

  constructor(options: StreamsOptions) {
    const { poll, feeds, inventory, schedule, audits, clock } = options;
    this.#options = options;
    this.#poll = poll;
    this.#feeds = feeds;
    this.#inventory = inventory;
    this.#schedule = schedule;
    this.#audits = audits;
    this.#clock = clock;
    this.#notifications = feeds.createNotifications();
  }

  /** Loads how often entries arrived in earlier runs, and the state of the Flights. */
  async load(): Promise<void> {
    const { region, store, poll } = this.#options;
    await this.#feeds.load();
    this.#seen = await recallSeen(store, region, poll.initialLookbackMs);
  }

  /**
   * Adds the streams of the Birds that the inventory now lists, and the notifications if they may be read. Returns
   * the names of the streams that were removed.
   */
  follow(mayReadNotifications: boolean): readonly string[] {
    if (mayReadNotifications) {
      const turn = { name: NOTIFICATIONS, intervalMs: this.#poll.intervalMs, share: REGULAR_SHARE };
      this.#schedule.add(turn, this.#clock.monotonicMs());
    }
    const birds = this.#inventory.birds();
    for (const { birdId } of birds) this.#follow(birdId);
    if (birds.length > 0) this.#followedMs = this.#clock.monotonicMs();
    const gone = [...this.#birds.keys()].filter((birdId) => !this.#inventory.isWatched(birdId));
    return gone.flatMap((birdId) => this.#drop(birdId));
  }

  /**
   * Polls the Bird's Flights again, since it may have some. The next reading of the inventory may find it unpublished
   * again.
   */
  followFlights(birdId: string): void {
    const streams = this.#birds.get(birdId);
    if (!streams) return;
    streams.flights.mayRest(true);
    this.#schedulePolls(streams.flightsName, 'flight');
  }

  /** Stops polling the Flights of a Bird that starts none and has none active. */
  rest(birdId: string): void {
    const streams = this.#birds.get(birdId);
    if (streams && this.#mayRest(streams, birdId)) this.#schedule.remove(streams.flightsName);
  }

  /** Polls a stream once. Throws what the service or the store threw. */
  async read(name: string, signal: AbortSignal): Promise<Reading> {
    const streams = this.#birds.get(birdIdOf(name));
    if (feedOf(name) === 'flight') {
      if (!streams) return NOTHING_READ;
      const { again, more, ...rest } = await streams.flights.poll();
      return { againMs: more ? 0 : again ? this.#poll.minIntervalMs : undefined, ...rest };
    }
    const log = name === NOTIFICATIONS ? this.#notifications : streams?.log;
    if (!log) return NOTHING_READ;
    const { more, ...rest } = await log.poll(signal);
    return { againMs: more ? 0 : undefined, ...rest };
  }

  /** When the last successful poll of a Bird's Flights began; undefined if there was none since the start. */
  flightsReadUs(birdId: string): number | undefined {
    return this.#birds.get(birdId)?.flights.readUs() || undefined;
  }

  /** The same for all Birds that have such a poll. */
  *flightReads(): Iterable<readonly [birdId: string, us: number]> {
    for (const [birdId, { flights }] of this.#birds) {
      if (flights.readUs() > 0) yield [birdId, flights.readUs()];
    }
  }

  /** Includes the notifications in the audits. */
  auditNotifications(): void {
    this.#audits.add(NOTIFICATIONS, 'notification', '', this.#notifications);
  }

  /** The stream's name for people. */
  describe(name: string): string {
    const birdId = birdIdOf(name);
    if (birdId === '') return `the ${name}`;
    const bird = `${birdId} (${plainText(this.#inventory.bird(birdId), 100)})`;
    return feedOf(name) === 'bird_log' ? `the log of Bird ${bird}` : `the Flights of Bird ${bird}`;
  }

  /**
   * How far each feed has been read and verified. A large region has tens of thousands of streams and this runs every few
   * seconds, so each stream is visited only once.
   */
  progress(lastSuccessUs: ReadonlyMap<Feed, number>): readonly FeedProgress[] {
    const verifiedUs: number[] = [];
    let [openFlights, oldestLogUs, oldestFlightUs] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const { log, flights, flightsName } of this.#birds.values()) {
      oldestLogUs = Math.min(oldestLogUs, log.cursorUs() || oldestLogUs);
      oldestFlightUs = Math.min(oldestFlightUs, flights.cursorUs() || oldestFlightUs);
      openFlights += flights.openCount();
      if (this.#schedule.has(flightsName)) verifiedUs.push(flights.verifiedUs());
    }
    const progressOf = (feed: Feed, streams: number, cursorUs: number) => ({
      feed,
      streams,
      cursorUs: Number.isFinite(cursorUs) ? cursorUs : 0,
      lastSuccessUs: lastSuccessUs.get(feed) ?? 0,
    });
    const ofLogs = (feed: Feed, streams: number, cursorUs: number): FeedProgress => ({
      ...progressOf(feed, streams, cursorUs),
      polled: streams,
      verifiedUntilUs: this.#audits.verifiedUntilUs(feed),
      openFlights: 0,
    });
    return [
      ofLogs('notification', 1, this.#notifications.cursorUs()),
      ofLogs('bird_log', this.#birds.size, oldestLogUs),
      {
        ...progressOf('flight', this.#birds.size, oldestFlightUs),
        polled: verifiedUs.length,
        verifiedUntilUs: this.#flightsVerifiedUntil(verifiedUs),
        openFlights,
      },
    ];
  }

  #mayRest({ flights }: BirdStreams, birdId: string): boolean {
    return flights.mayRest(this.#inventory.status(birdId) !== 'unpublished');
  }

  /** Polls the Bird's log, and its Flights unless it is unpublished and so starts none. */
  #follow(birdId: string): void {
    const streams = this.#birds.get(birdId) ?? this.#add(birdId);
    this.#schedulePolls(streams.logName, 'bird_log');
    if (this.#mayRest(streams, birdId)) this.#schedule.remove(streams.flightsName);
    else this.#schedulePolls(streams.flightsName, 'flight');
  }

  #add(birdId: string): BirdStreams {
    const streams: BirdStreams = {
      logName: logName(birdId),
      log: this.#feeds.createBirdLog(birdId),
      flightsName: flightsName(birdId),
      flights: this.#feeds.createFlightWatch(birdId),
    };
    this.#birds.set(birdId, streams);
    this.#audits.add(streams.logName, 'bird_log', birdId, streams.log);
    return streams;
  }

  #schedulePolls(name: string, feed: Feed): void {
    const nowMs = this.#clock.monotonicMs();
    // A Bird that was not listed before has appeared since the inventory was last read.
    const newsMs = this.#followedMs === undefined ? 0 : nowMs - this.#followedMs;
    this.#schedule.add({ name, feed, seen: this.#seen.get(name), newsMs }, nowMs);
    this.#seen.delete(name);
  }

  /** Returns the names of the Bird's streams. */
  #drop(birdId: string): readonly string[] {
    const { logName, flightsName, flights } = this.#birds.get(birdId)!;
    this.#birds.delete(birdId);
    flights.gone();
    this.#audits.remove(logName);
    this.#schedule.remove(logName);
    this.#schedule.remove(flightsName);
    return [logName, flightsName];
  }
}

// Restores how often entries arrived in each stream of a region, from the events in the store. So a restart begins
// with the learned rates, and nothing has to be stored for that.

/**
 * By stream name; empty for a region that was never watched. `lookbackMs` is how far back the first reading of the
 * region went.
 */
export async function recallSeen(
  store: Store,
  region: string,
  lookbackMs: number,
): Promise<Map<string, Seen>> {
  return store.transaction(async (tx) => {
    const seen = new Map<string, Seen>();
    const watchedSinceUs = await tx.inventory.knownSince(region);
    const newestUs = (await tx.streams.list(region)).reduce((us, { cursorUs }) => Math.max(us, cursorUs), 0);
    // Counted back from the newest entry, since the time that nobody watched says nothing about the rates.
    if (watchedSinceUs === undefined || newestUs === 0) return seen;
    const watchedMs = (newestUs - watchedSinceUs) / 1000 + lookbackMs;
    const coveredMs = Math.min(MEMORY_MS.hours, watchedMs);
    if (coveredMs <= 0) return seen;
    for (const { feed, birdId, events } of await tx.streams.countEvents(
      region,
      newestUs - coveredMs * 1000,
    )) {
      if (birdId === '' || isOwnFeed(feed)) continue;
      if (feed === 'flight') seen.set(flightsName(birdId), { entries: events, coveredMs });
      // What these entries may have raised is not counted: the next EventError shows again how its trigger is.
      else seen.set(logName(birdId), { entries: events * QUIET_ENTRY, coveredMs });
    }
    return seen;
  });
}
