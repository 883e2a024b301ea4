/**
 * Tells open pages that something changed, by server-sent events: no more than one event a second for each, which says
 * nothing but that it is worth asking again. What it is about, a page reads by its own address and the reader's rights.
 */
import { LIMITS } from '../limits.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { mostConnections } from './connections.ts';

export interface Push {
  /** Hears what is reported. */
  hear(happening: Happening): void;
  /** The events from now on, as they are sent; undefined where too many follow already. */
  open(): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams: their readers come back, if there is somebody to come back to. */
  end(): void;
}

/** What pages show. Polls and requests are no news: they happen all the time. */
const NEWS: ReadonlySet<Happening['what']> = new Set([
  'event',
  'flight',
  'alert',
  'notified',
  'suppressed',
  'delivery',
  'impaired',
  'set_aside',
  'region_health',
  'config_reload',
  'write',
]);

const LEAST_GAP_MS = 1_000;

/** Comments that keep proxies from closing a connection on which nothing is said; most wait for a minute. */
const HEARTBEAT_MS = 20_000;

/**
 * What another replica does is not reported here: where several share the store, pages ask again so often. It is as often
 * as replicas look for what another one has left.
 */
const ELSEWHERE_MS = 5_000;

/** Who has not read so many is not there any more. */
const MOST_UNREAD = 20;

const ENCODER = new TextEncoder();
const CHANGE = ENCODER.encode('event: change\ndata: {}\n\n');
const HEARTBEAT = ENCODER.encode(': \n\n');
/** How long a reader waits before it comes back. */
const BEGIN = ENCODER.encode('retry: 3000\n\n');

export function createPush(clock: Clock, openFiles: number, isShared = false): Push {
  // Half of the connections are for those who ask.
  const most = Math.min(LIMITS.stream_clients.most, Math.floor(mostConnections(openFiles) / 2));
  const followers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  let lastMs = Number.NEGATIVE_INFINITY;
  let cancelChange: (() => void) | undefined;
  let cancelHeartbeat: (() => void) | undefined;

  function leave(follower: ReadableStreamDefaultController<Uint8Array>): void {
    followers.delete(follower);
    if (followers.size === 0) rest();
  }

  function rest(): void {
    cancelChange?.();
    cancelHeartbeat?.();
    cancelChange = undefined;
    cancelHeartbeat = undefined;
  }

  function send(bytes: Uint8Array): void {
    for (const follower of [...followers]) {
      if ((follower.desiredSize ?? 0) > -MOST_UNREAD) follower.enqueue(bytes);
      else {
        follower.close();
        leave(follower);
      }
    }
  }

  function beat(): void {
    cancelHeartbeat = clock.setTimer(isShared ? ELSEWHERE_MS : HEARTBEAT_MS, () => {
      send(isShared ? CHANGE : HEARTBEAT);
      if (followers.size > 0) beat();
    });
  }

  return {
    hear({ what }) {
      if (followers.size === 0 || cancelChange || !NEWS.has(what)) return;
      const waitMs = Math.max(0, lastMs + LEAST_GAP_MS - clock.monotonicMs());
      cancelChange = clock.setTimer(waitMs, () => {
        cancelChange = undefined;
        lastMs = clock.monotonicMs();
        send(CHANGE);
      });
    },
    open() {
      if (followers.size >= most) return undefined;
      let own: ReadableStreamDefaultController<Uint8Array>;
      return new ReadableStream({
        start(follower) {
          own = follower;
          followers.add(follower);
          follower.enqueue(BEGIN);
          if (followers.size === 1) beat();
        },
        cancel: () => leave(own),
      });
    },
    end() {
      for (const follower of followers) follower.close();
      followers.clear();
      rest();
    },
  };
}
