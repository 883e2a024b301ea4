/**
 * How far each feed of a region has been read and verified, over all of its streams: tens of thousands in a large
 * region, looked at every few seconds, so each is visited once.
 */
import type { Feed } from '../domain/alert/event.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { LogStream } from './logs/log-stream.ts';
import { NOTIFICATIONS } from './stream-name.ts';

export interface FeedProgress {
  readonly feed: Feed;
  readonly streams: number;
  /** How many of them are polled now: not those of Birds that start no Flights and have none in the air. */
  readonly polled: number;
  /** The oldest cursor of its streams that have one; 0 for none. */
  readonly cursorUs: number;
  /** When a poll of the feed last succeeded; 0 for never. */
  readonly lastSuccessUs: number;
  /** Up to when the feed is known to be complete; 0 before that is known. */
  readonly verifiedUntilUs: number;
  readonly openFlights: number;
}

interface FeedProgressOptions {
  /** By the stream's name; that of `notifications` among them. */
  readonly logs: ReadonlyMap<string, LogStream>;
  readonly flights: ReadonlyMap<string, FlightWatch>;
  readonly isPolled: (name: string) => boolean;
  readonly lastSuccessUs: ReadonlyMap<Feed, number>;
  /** Up to when the audits have verified a feed that can be counted. */
  readonly verifiedUntilUs: (feed: Feed) => number;
  /** Up to when the Flights are complete, from up to when those of each Bird are. */
  readonly flightsVerifiedUntil: VerifiedUntil;
}

/**
 * Up to when a whole feed is verified, from up to when each of its streams is (0: not at all yet). It is the least of
 * them, once all were verified; a stream that appears later does not take back what is known of the others.
 */
type VerifiedUntil = (streamsUs: Iterable<number>) => number;

export function createVerifiedUntil(): VerifiedUntil {
  let wasWhole = false;
  return (streamsUs) => {
    let leastUs = Number.POSITIVE_INFINITY;
    let isWhole = true;
    for (const us of streamsUs) {
      if (us === 0) isWhole = false;
      else leastUs = Math.min(leastUs, us);
    }
    if (leastUs === Number.POSITIVE_INFINITY) return 0;
    wasWhole ||= isWhole;
    return wasWhole ? leastUs : 0;
  };
}

export function feedProgress(options: FeedProgressOptions): FeedProgress[] {
  const { logs, flights, isPolled, lastSuccessUs } = options;
  const ofNotifications = createOldest();
  const ofBirdLogs = createOldest();
  // A walk over pairs would make one for each stream.
  logs.forEach((log, name) => {
    (name === NOTIFICATIONS ? ofNotifications : ofBirdLogs).add(log.cursorUs());
  });
  const ofFlights = createOldest();
  const verifiedUs: number[] = [];
  let openFlights = 0;
  flights.forEach((watch, name) => {
    ofFlights.add(watch.cursorUs());
    openFlights += watch.openCount();
    if (isPolled(name)) verifiedUs.push(watch.verifiedUs());
  });
  return [
    ofLogs('notification', ofNotifications),
    ofLogs('bird_log', ofBirdLogs),
    {
      feed: 'flight',
      streams: flights.size,
      polled: verifiedUs.length,
      cursorUs: ofFlights.us(),
      lastSuccessUs: lastSuccessUs.get('flight') ?? 0,
      verifiedUntilUs: options.flightsVerifiedUntil(verifiedUs),
      openFlights,
    },
  ];

  function ofLogs(feed: Feed, cursors: Oldest): FeedProgress {
    return {
      feed,
      streams: cursors.count(),
      polled: cursors.count(),
      cursorUs: cursors.us(),
      lastSuccessUs: lastSuccessUs.get(feed) ?? 0,
      verifiedUntilUs: options.verifiedUntilUs(feed),
      openFlights: 0,
    };
  }
}

/** The least of many instants but for 0, which stands for none, and how many there were. */
interface Oldest {
  add(us: number): void;
  count(): number;
  us(): number;
}

function createOldest(): Oldest {
  let leastUs = Number.POSITIVE_INFINITY;
  let count = 0;
  return {
    add(us) {
      count += 1;
      if (us > 0 && us < leastUs) leastUs = us;
    },
    count: () => count,
    us: () => (leastUs === Number.POSITIVE_INFINITY ? 0 : leastUs),
  };
}
