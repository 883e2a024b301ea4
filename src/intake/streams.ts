/**
 * What is read in one region beside its inventory: the notifications, and each Bird's log and Flights. These streams
 * come and go with the Birds of the inventory, on the schedule as well as in the audits.
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
  /** In how many milliseconds to read on, if before the stream's time; 0 where there was more than one poll reads. */
  readonly soon: number | undefined;
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** How long a time the first poll of a stream covered, where that is known. */
  readonly historyMs?: number | undefined;
}

/** The part of the requests that the inventory may use, and notifications as well, while Birds wait. */
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
  /** What earlier lives have seen of streams that were not taken up yet in this one. */
  #seen: Map<string, Seen> = new Map();
  /** When the Birds of the inventory were taken up last; undefined before there were any. */
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

  /** Loads how often entries came in earlier lives, and up to when Flights were known. */
  async load(): Promise<void> {
    const { region, store, poll } = this.#options;
    await this.#feeds.load();
    this.#seen = await recallSeen(store, region, poll.initialLookbackMs);
  }

  /**
   * Takes up the streams of the Birds that the inventory lists now, and the notifications if they may be read. Returns
   * the names of the streams that are gone.
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

  /** The Bird may have Flights again, though the next reading of the inventory may find it unpublished once more. */
  followFlights(birdId: string): void {
    const name = flightsName(birdId);
    if (!this.#flights.has(name)) return;
    this.#flights.get(name)!.mayRest(true);
    this.#schedulePolls(name, 'flight');
  }

  /** Polls the Flights of a Bird no further if it starts none and none is in the air. */
  rest(name: string, birdId: string): void {
    if (this.#mayRest(name, birdId)) this.#schedule.remove(name);
  }

  /** Polls a stream once; `isOnly` where no other poll of it follows. Throws what the service or the store threw. */
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

  /** When the last successful poll of a Bird's Flights began, in this life; undefined for none. */
  flightsReadUs(birdId: string): number | undefined {
    return this.#flights.get(flightsName(birdId))?.readUs() || undefined;
  }

  /** The same of each Bird of which there was one. */
  *flightReads(): Iterable<readonly [birdId: string, us: number]> {
    for (const [name, watch] of this.#flights) {
      if (watch.readUs() > 0) yield [birdIdOf(name), watch.readUs()];
    }
  }

  /** From now on the notifications are audited, too. */
  auditNotifications(): void {
    this.#audits.add(NOTIFICATIONS, 'notification', '', this.#notifications);
  }

  /** What a stream is called, for people. */
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
    // A Bird that was not there before came since the inventory was read last.
    const newsMs = this.#followedMs === undefined ? 0 : nowMs - this.#followedMs;
    this.#schedule.add({ name, feed, seen: this.#seen.get(name), newsMs }, nowMs);
    this.#seen.delete(name);
  }

  #drop(name: string): void {
    this.#flights.get(name)?.gone();
    this.#logs.delete(name);
    this.#flights.delete(name);
    this.#audits.remove(name);
    this.#schedule.remove(name);
  }
}
