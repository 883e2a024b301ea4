/** How far each feed of a region has been read and verified, over all of its streams. */
import type { Feed } from '../domain/alert/event.ts';
import type { FlightWatch } from './flights/flight-watch.ts';
import type { LogStream } from './logs/log-stream.ts';

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
  const watches = [...flights.values()];
  const polled = [...flights].filter(([name]) => isPolled(name)).map(([, watch]) => watch);
  const birdLogs = [...logs].flatMap(([name, log]) => (name === 'notifications' ? [] : [log]));
  return [
    ofLogs('notification', [logs.get('notifications')!]),
    ofLogs('bird_log', birdLogs),
    {
      feed: 'flight',
      streams: watches.length,
      polled: polled.length,
      cursorUs: oldest(watches.map((watch) => watch.cursorUs())),
      lastSuccessUs: lastSuccessUs.get('flight') ?? 0,
      verifiedUntilUs: options.flightsVerifiedUntil(polled.map((watch) => watch.verifiedUs())),
      openFlights: watches.reduce((sum, watch) => sum + watch.openCount(), 0),
    },
  ];

  function ofLogs(feed: Feed, streams: readonly LogStream[]): FeedProgress {
    return {
      feed,
      streams: streams.length,
      polled: streams.length,
      cursorUs: oldest(streams.map((stream) => stream.cursorUs())),
      lastSuccessUs: lastSuccessUs.get(feed) ?? 0,
      verifiedUntilUs: options.verifiedUntilUs(feed),
      openFlights: 0,
    };
  }
}

/** The least instant but for 0, which stands for none. */
function oldest(instantsUs: readonly number[]): number {
  const known = instantsUs.filter((us) => us > 0);
  return known.length === 0 ? 0 : known.reduce((least, us) => Math.min(least, us));
}
