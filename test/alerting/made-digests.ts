import type { DigestNotification } from '../../src/domain/grouping/notification.ts';
import { changedStore } from '../store/changed-transaction.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

/** A store in memory, `inner`, and one that also keeps the digests that are queued by it. */
export async function openMadeDigests() {
  const clock = createVirtualClock();
  const inner = await openMemory(clock);
  const made: DigestNotification[] = [];
  const store = changedStore(inner, (tx) => ({
    outbox: {
      async enqueue(notification, ...rest) {
        if (notification.kind === 'digest') made.push(notification);
        return tx.outbox.enqueue(notification, ...rest);
      },
    },
  }));
  return { clock, inner, made, store };
}
