import { BEFORE_WATCH, type Event } from '../domain/alert/event.ts';
import type { Notification } from '../domain/grouping/notification.ts';
import type { Transaction } from '../store/store.ts';

/**
 * Measures how long news takes to reach people. Events that were history when their region or Bird was first watched do
 * not count.
 */
export interface Latency {
  /** Looks up since when the regions of these notifications are watched. To be called before they are sent. */
  prepare(tx: Transaction, notifications: readonly Notification[]): Promise<void>;
  /** Milliseconds from the oldest event that counts to `nowUs`; undefined if there is none. */
  sinceOldestMs(notification: Notification, nowUs: number): number | undefined;
}

export function createLatency(): Latency {
  // By region. It never changes once it is known.
  const watchedSinceUs = new Map<string, number>();

  return {
    async prepare(tx, notifications) {
      for (const notification of notifications) {
        for (const { region } of eventsOf(notification)) {
          if (!watchedSinceUs.has(region))
            watchedSinceUs.set(region, (await tx.inventory.knownSince(region)) ?? 0);
        }
      }
    },
    sinceOldestMs(notification, nowUs) {
      let oldestUs = Number.POSITIVE_INFINITY;
      for (const { region, occurredAtUs, attributes } of eventsOf(notification)) {
        if (attributes?.[BEFORE_WATCH] === true) continue;
        if (occurredAtUs >= (watchedSinceUs.get(region) ?? 0)) oldestUs = Math.min(oldestUs, occurredAtUs);
      }
      return oldestUs === Number.POSITIVE_INFINITY ? undefined : Math.max(0, (nowUs - oldestUs) / 1000);
    },
  };
}

/**
 * The events of a notification. One that is damaged in the store has none: only its own sending may fail, not the
 * others.
 */
function eventsOf(notification: Notification): readonly Event[] {
  const events = () => {
    switch (notification.kind) {
      case 'digest':
        return [];
      case 'forward':
        return notification.events;
      case 'group':
        return notification.alerts.flatMap((alert) => alert.events);
    }
  };
  try {
    return events().filter((event) => typeof event?.region === 'string');
  } catch {
    return [];
  }
}
