/**
 * Keeps the streams of one region besides its inventory: the notifications, and the log and Flights of each Bird. It
 * adds and removes them in the schedule and the audits as Birds come and go.
 */

import type { PollConfig } from '../config/sections/poll-section.ts';
import type { Event, Feed } from '../domain/alert/event.ts';
import type { Store } from '../store/store.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import type { AuditRound } from './audit/audit-round.ts';
import { createVerifiedUntil, type FeedProgress, feedProgress } from './feed-progress.ts';
import type { Feeds } from './feeds.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { LogStream } from './logs/log-stream.ts';
import { recallSeen } from './schedule/recall.ts';
import type { Schedule, Seen } from './schedule/schedule.ts';
import { birdIdOf, feedOf, flightsName, logName, NOTIFICATIONS } from './stream-name.ts';

interface StreamsOptions {
  readonly region: string;
  readonly store: Store;
  readonly poll: PollConfig;
  readonly feeds: Feeds;
  readonly inventory: Inventory;
  readonly schedule: Schedule;
  readonly audits: AuditRound;
  readonly clock: Clock;
}

export interface Reading {
  /** When to read on, in milliseconds, if earlier than usual; 0 if one poll could not read everything. */
  readonly soon: number | undefined;
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** The length of the time that the first poll of a stream covered, if known. */
  readonly historyMs?: number | undefined;
}

/** The part of the requests that the inventory, and likewise the notifications, may use while Birds wait. */
export const REGULAR_SHARE = 1 / 4;

export class Streams {
  readonly #options: StreamsOptions;
  readonly #poll: PollConfig;
  readonly #feeds: Feeds;
  readonly #inventory: Inventory;
  readonly #schedule: Schedule;
  readonly #audits: AuditRound;
  readonly #clock: Clock;
  readonly #notifications: LogStream;
  readonly #logs: Map<string, LogStream>;
  readonly #flights = new Map<string, FlightWatch>();
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
    this.#logs = new Map([[NOTIFICATIONS, this.#notifications]]);
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
    const wanted = new Set([NOTIFICATIONS]);
    if (mayReadNotifications) {
      const turn = { name: NOTIFICATIONS, intervalMs: this.#poll.intervalMs, share: REGULAR_SHARE };
      this.#schedule.add(turn, this.#clock.monotonicMs());
    }
    for (const { birdId } of this.#inventory.birds()) {
      const [log, flights] = [logName(birdId), flightsName(birdId)];
      wanted.add(log).add(flights);
      this.#followLog(log, birdId);
      this.#followFlightsOf(flights, birdId);
    }
    if (this.#inventory.birds().length > 0) this.#followedMs = this.#clock.monotonicMs();
    const gone = [...this.#logs.keys(), ...this.#flights.keys()].filter((name) => !wanted.has(name));
    for (const name of gone) this.#drop(name);
    return gone;
  }

  has(name: string): boolean {
    return this.#logs.has(name) || this.#flights.has(name);
  }

  /**
   * Polls the Bird's Flights again, since it may have some. The next reading of the inventory may find it unpublished
   * again.
   */
  followFlights(birdId: string): void {
    const name = flightsName(birdId);
    if (!this.#flights.has(name)) return;
    this.#flights.get(name)!.mayRest(true);
    this.#schedulePolls(name, 'flight');
  }

  /** Stops polling the Flights of a Bird that starts none and has none active. */
  rest(name: string, birdId: string): void {
    if (this.#mayRest(name, birdId)) this.#schedule.remove(name);
  }

  /** Polls a stream once. `isOnly` if no other poll of it follows. Throws what the service or the store threw. */
  async read(name: string, signal: AbortSignal, isOnly: boolean): Promise<Reading> {
    const log = this.#logs.get(name);
    if (log) {
      const { more, ...rest } = await log.poll(signal);
      return { soon: more ? 0 : undefined, ...rest };
    }
    const watch = this.#flights.get(name);
    if (!watch) return { soon: undefined, fresh: [], requests: 0 };
    const { again, more, ...rest } = await watch.poll({ isOnly });
    return { soon: more ? 0 : again ? this.#poll.minIntervalMs : undefined, ...rest };
  }

  /** When the last successful poll of a Bird's Flights began; undefined if there was none since the start. */
  flightsReadUs(birdId: string): number | undefined {
    return this.#flights.get(flightsName(birdId))?.readUs() || undefined;
  }

  /** The same for all Birds that have such a poll. */
  *flightReads(): Iterable<readonly [birdId: string, us: number]> {
    for (const [name, watch] of this.#flights) {
      if (watch.readUs() > 0) yield [birdIdOf(name), watch.readUs()];
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

  /** How far each feed has been read and verified. */
  progress(lastSuccessUs: ReadonlyMap<Feed, number>): readonly FeedProgress[] {
    return feedProgress({
      logs: this.#logs,
      flights: this.#flights,
      isPolled: (name) => this.#schedule.has(name),
      lastSuccessUs,
      verifiedUntilUs: (feed) => this.#audits.verifiedUntilUs(feed),
      flightsVerifiedUntil: this.#flightsVerifiedUntil,
    });
  }

  #mayRest(name: string, birdId: string): boolean {
    return this.#flights.get(name)?.mayRest(this.#inventory.status(birdId) !== 'unpublished') ?? false;
  }

  #followLog(name: string, birdId: string): void {
    if (!this.#logs.has(name)) {
      const log = this.#feeds.createBirdLog(birdId);
      this.#logs.set(name, log);
      this.#audits.add(name, 'bird_log', birdId, log);
    }
    this.#schedulePolls(name, 'bird_log');
  }

  /** Polls the Flights of a Bird, unless it is unpublished and so starts none. */
  #followFlightsOf(name: string, birdId: string): void {
    if (!this.#flights.has(name)) this.#flights.set(name, this.#feeds.createFlightWatch(birdId));
    if (this.#mayRest(name, birdId)) this.#schedule.remove(name);
    else this.#schedulePolls(name, 'flight');
  }

  #schedulePolls(name: string, feed: Feed): void {
    const nowMs = this.#clock.monotonicMs();
    // A Bird that was not listed before has appeared since the inventory was last read.
    const newsMs = this.#followedMs === undefined ? 0 : nowMs - this.#followedMs;
    this.#schedule.add({ name, feed, seen: this.#seen.get(name), newsMs }, nowMs);
    this.#seen.delete(name);
  }

  #drop(name: string): void {
    this.#logs.get(name)?.gone();
    this.#flights.get(name)?.gone();
    this.#logs.delete(name);
    this.#flights.delete(name);
    this.#audits.remove(name);
    this.#schedule.remove(name);
  }
}
