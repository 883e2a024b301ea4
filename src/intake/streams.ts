/**
 * What is read in one region beside its inventory: the notifications, and each Bird's log and Flights. These streams
 * come and go with the Birds of the inventory, on the schedule as well as in the audits.
 */

import type { PollConfig } from '../config/sections/poll-section.ts';
import type { Event, Feed } from '../domain/alert/event.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import type { AuditRound } from './audit/audit-round.ts';
import { createProvenUntil } from './audit/verified-until.ts';
import { type FeedProgress, feedProgress } from './feed-progress.ts';
import type { Feeds } from './feeds.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { Inventory } from './inventory/inventory.ts';
import type { Schedule } from './schedule/schedule.ts';

export interface StreamsOptions {
  readonly poll: PollConfig;
  readonly feeds: Feeds;
  readonly inventory: Inventory;
  readonly schedule: Schedule;
  readonly audits: AuditRound;
  readonly clock: Clock;
}

export interface Reading {
  /** When to read on, in milliseconds, if before the stream's time; 0 where more was there than one poll reads. */
  readonly soon: number | undefined;
  readonly fresh: readonly Event[];
  readonly requests: number;
}

export interface Streams {
  /** Takes up what the inventory lists now, and the notifications if they may be; returns the names of what is gone. */
  follow(mayReadNotifications: boolean): readonly string[];
  has(name: string): boolean;
  /** The Bird may have Flights again, though the next reading of the inventory may find it unpublished once more. */
  followFlights(birdId: string): void;
  /** Flights of a Bird that starts none are polled no further. */
  rest(name: string, birdId: string): void;
  /** One poll of one of them. Throws what the service or the store threw. */
  read(name: string, signal: AbortSignal): Promise<Reading>;
  /** From now on the notifications are audited, too. */
  auditNotifications(): void;
  /** What a stream is called, for people. */
  describe(name: string): string;
  progress(lastSuccessUs: ReadonlyMap<Feed, number>): readonly FeedProgress[];
}

/** The part of the requests that the inventory may use, and notifications as well, while Birds wait. */
export const REGULAR_SHARE = 1 / 4;

const NOTIFICATIONS = 'notifications';

export function createStreams({ poll, feeds, inventory, schedule, audits, clock }: StreamsOptions): Streams {
  const notifications = feeds.createNotifications();
  const logs = new Map([[NOTIFICATIONS, notifications]]);
  const flights = new Map<string, FlightWatch>();
  const flightsProvenUntil = createProvenUntil();

  function mayRest(name: string, birdId: string): boolean {
    return flights.get(name)?.mayRest(inventory.status(birdId) !== 'unpublished') ?? false;
  }

  function followLog(name: string, birdId: string): void {
    if (!logs.has(name)) {
      const log = feeds.createBirdLog(birdId);
      logs.set(name, log);
      audits.add(name, 'bird_log', birdId, log);
    }
    schedule.add({ name, feed: 'bird_log' }, clock.monotonicMs());
  }

  /** Unpublished Birds soon have no new Flights. */
  function followFlightsOf(name: string, birdId: string): void {
    if (!flights.has(name)) flights.set(name, feeds.createFlightWatch(birdId));
    if (mayRest(name, birdId)) schedule.remove(name);
    else schedule.add({ name, feed: 'flight' }, clock.monotonicMs());
  }

  function drop(name: string): void {
    flights.get(name)?.gone();
    logs.delete(name);
    flights.delete(name);
    audits.remove(name);
    schedule.remove(name);
  }

  return {
    follow(mayReadNotifications) {
      const wanted = new Set([NOTIFICATIONS]);
      if (mayReadNotifications) {
        const turn = { name: NOTIFICATIONS, intervalMs: poll.intervalMs, share: REGULAR_SHARE };
        schedule.add(turn, clock.monotonicMs());
      }
      for (const { birdId } of inventory.birds()) {
        const [logName, flightName] = [`logs/${birdId}`, `flights/${birdId}`];
        wanted.add(logName).add(flightName);
        followLog(logName, birdId);
        followFlightsOf(flightName, birdId);
      }
      const gone = [...logs.keys(), ...flights.keys()].filter((name) => !wanted.has(name));
      for (const name of gone) drop(name);
      return gone;
    },
    has: (name) => logs.has(name) || flights.has(name),
    followFlights(birdId) {
      const name = `flights/${birdId}`;
      if (!flights.has(name)) return;
      flights.get(name)!.mayRest(true);
      schedule.add({ name, feed: 'flight' }, clock.monotonicMs());
    },
    rest(name, birdId) {
      if (mayRest(name, birdId)) schedule.remove(name);
    },
    async read(name, signal) {
      const log = logs.get(name);
      if (log) {
        const { more, ...rest } = await log.poll(signal);
        return { soon: more ? 0 : undefined, ...rest };
      }
      const watch = flights.get(name);
      if (!watch) return { soon: undefined, fresh: [], requests: 0 };
      const { again, more, ...rest } = await watch.poll();
      return { soon: more ? 0 : again ? poll.minIntervalMs : undefined, ...rest };
    },
    auditNotifications: () => audits.add(NOTIFICATIONS, 'notification', '', notifications),
    describe(name) {
      const [streams, birdId = ''] = name.split('/');
      if (birdId === '') return `the ${name}`;
      const bird = `${birdId} (${plainText(inventory.bird(birdId), 100)})`;
      return streams === 'logs' ? `the log of Bird ${bird}` : `the Flights of Bird ${bird}`;
    },
    progress: (lastSuccessUs) =>
      feedProgress({
        logs,
        flights,
        isPolled: (name) => schedule.has(name),
        lastSuccessUs,
        verifiedUntilUs: (feed) => audits.verifiedUntilUs(feed),
        flightsProvenUntil,
      }),
  };
}
