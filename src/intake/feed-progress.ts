/**
 * Summarises how far each feed of a region has been read and verified. A large region has tens of thousands of
 * streams and this runs every few seconds, so each stream is visited only once.
 */
import type { Feed } from '../domain/alert/event.ts';
import type { FeedProgress } from '../region-progress.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { LogStream } from './logs/log-stream.ts';

/** The streams of a Bird. */
interface BirdProgress {
  readonly log: Pick<LogStream, 'cursorUs'>;
  readonly flightsName: string;
  readonly flights: Pick<FlightWatch, 'cursorUs' | 'openCount' | 'verifiedUs'>;
}

interface FeedProgressOptions {
  readonly notifications: Pick<LogStream, 'cursorUs'>;
  /** By the Bird's id. */
  readonly birds: ReadonlyMap<string, BirdProgress>;
  readonly isPolled: (name: string) => boolean;
  readonly lastSuccessUs: ReadonlyMap<Feed, number>;
  /** Up to when the audits have verified a paged feed. */
  readonly verifiedUntilUs: (feed: Feed) => number;
  /** Computes up to when all Flights are complete, from the instants of the individual Birds. */
  readonly flightsVerifiedUntil: VerifiedUntil;
}

/**
 * Computes up to when a whole feed is verified from the instants of its streams, where 0 means not verified yet. The
 * result is the earliest of them, once every stream was verified. A stream that is added later does not reset it to
 * 0.
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
  const { notifications, birds, isPolled, lastSuccessUs } = options;
  const ofNotifications = createOldest();
  ofNotifications.add(notifications.cursorUs());
  const ofBirdLogs = createOldest();
  const ofFlights = createOldest();
  const verifiedUs: number[] = [];
  let openFlights = 0;
  for (const { log, flights, flightsName } of birds.values()) {
    ofBirdLogs.add(log.cursorUs());
    ofFlights.add(flights.cursorUs());
    openFlights += flights.openCount();
    if (isPolled(flightsName)) verifiedUs.push(flights.verifiedUs());
  }
  return [
    ofLogs('notification', ofNotifications),
    ofLogs('bird_log', ofBirdLogs),
    {
      feed: 'flight',
      streams: birds.size,
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

/** The earliest of many instants, ignoring 0, and the number of all of them. */
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
