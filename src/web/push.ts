/**
 * Tells open pages that something changed, by server-sent events. Each page gets at most one event per second, and
 * the event only says that it should ask again. So what a page learns depends on its address and its reader's rights.
 */
import { LIMITS } from '../limits.ts';
import type { Happening } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { mostConnections } from './connections.ts';

export interface Push {
  /** Receives every report. */
  hear(happening: Happening): void;
  /** The stream of events from now on; undefined if there are too many streams already. */
  open(): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams. Their readers reconnect if a daemon is there. */
  end(): void;
}

/** The reports that change pages. Polls and requests are not among them, since they happen constantly. */
const NEWS: ReadonlySet<Happening['what']> = new Set([
  'events',
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

/** The interval of comments that keep proxies from closing an idle connection. Most wait for a minute. */
const HEARTBEAT_MS = 20_000;

/**
 * If the store is shared, pages ask again at this interval, since the work of other replicas is not reported here. It
 * equals the interval at which replicas look for what others have left to them.
 */
const ELSEWHERE_MS = 5_000;

/** A reader with this many unread events is considered gone. */
const MOST_UNREAD = 20;

const ENCODER = new TextEncoder();
const CHANGE = ENCODER.encode('event: change\ndata: {}\n\n');
const HEARTBEAT = ENCODER.encode(': \n\n');
/** How long a reader waits before it reconnects. */
const BEGIN = ENCODER.encode('retry: 3000\n\n');

export function createPush(clock: Clock, openFiles: number, isShared = false): Push {
  // Half of the connections remain for requests.
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

  function sendChange(): void {
    const waitMs = Math.max(0, lastMs + LEAST_GAP_MS - clock.monotonicMs());
    cancelChange ??= clock.setTimer(waitMs, () => {
      cancelChange = undefined;
      lastMs = clock.monotonicMs();
      send(CHANGE);
    });
  }

  function beat(): void {
    cancelHeartbeat = clock.setTimer(isShared ? ELSEWHERE_MS : HEARTBEAT_MS, () => {
      if (isShared) sendChange();
      else send(HEARTBEAT);
      if (followers.size > 0) beat();
    });
  }

  return {
    hear({ what }) {
      if (followers.size > 0 && NEWS.has(what)) sendChange();
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
