import { BEFORE_WATCH, type Event } from '../domain/alert/event.ts';
import type { Notification } from '../domain/grouping/notification.ts';
import type { Transaction } from '../store/store.ts';

/** How long news takes to people. What was history when its region or Bird was first watched says nothing of that. */
export interface Latency {
  /** Looks up since when the regions of these notifications are watched; to be called before they are sent. */
  prepare(tx: Transaction, notifications: readonly Notification[]): Promise<void>;
  /** Milliseconds from the oldest event that is no history to `nowUs`; undefined where there is none. */
  sinceOldestMs(notification: Notification, nowUs: number): number | undefined;
}

export function createLatency(): Latency {
  // It never changes once it is known.
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

/** A message that somebody broke in the store has none: sending it fails by itself, and must not fail the others. */
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
