/** Mistakes in how notifications are queued, sent and settled. */
import type { Transaction } from '../../../src/store/store.ts';
import { changed } from '../../store/changed-transaction.ts';
import type { Variant } from './variant.ts';
import { withOutcome, withSend, withStore, withTransaction } from './wrap.ts';

export const DELIVERY: readonly Variant[] = [
  {
    name: 'settled_before_sending',
    mistake: 'A delivery is done when it is claimed.',
    by: 'lost',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        outbox: {
          async claim(...of) {
            const [, , nowUs] = of;
            const claimed = await tx.outbox.claim(...of);
            const ids = claimed.map(({ delivery }) => delivery.id);
            const done = { state: 'delivered', nextAttemptAtUs: nowUs, lastError: '' } as const;
            await tx.outbox.settle(
              ids.map((id) => ({ id, ...done })),
              nowUs,
            );
            return claimed;
          },
          async settle() {},
        },
      })),
  },
  {
    name: 'lease_ignored',
    mistake: 'What is under way is claimed again.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        outbox: {
          async claim(...of) {
            const [, , nowUs] = of;
            const claimed = await tx.outbox.claim(...of);
            const free = { state: 'retry', nextAttemptAtUs: nowUs, lastError: '' } as const;
            await tx.outbox.settle(
              claimed.map(({ delivery }) => ({ id: delivery.id, ...free })),
              nowUs,
            );
            return claimed;
          },
        },
      })),
  },
  {
    name: 'leases_not_recovered',
    mistake: 'What another life of the process was sending stays with it.',
    by: 'unexplained',
    vary: (parts) => withTransaction(parts, () => ({ outbox: { recoverLeases: async () => 0 } })),
  },
  {
    name: 'new_id_for_each_try',
    mistake: 'A repeated message has an id of its own.',
    by: 'repeated',
    vary(parts) {
      let tries = 0;
      return withSend(parts, (send) => (to, attempt, ...rest) => {
        tries += 1;
        return send(to, { ...attempt, id: `${attempt.id}-try-${tries}` }, ...rest);
      });
    },
  },
  {
    name: 'no_answer_is_yes',
    mistake: 'What may have been accepted was accepted.',
    by: 'lost',
    vary: (parts) =>
      withOutcome(parts, (outcome) => (outcome.kind === 'unknown' ? { kind: 'accepted' } : outcome)),
  },
  {
    name: 'one_try',
    mistake: 'What was not accepted is given up.',
    by: 'lost',
    vary: (parts) =>
      withOutcome(parts, (outcome) =>
        outcome.kind === 'accepted' ? outcome : { kind: 'nothing', why: 'it was not accepted' },
      ),
  },
  {
    name: 'forward_taken_first',
    mistake: 'Events leave the line before they are in a message.',
    by: 'lost',
    vary: (parts) =>
      withStore(parts, (store) => ({
        async transaction(work) {
          const queued: Parameters<Transaction['outbox']['enqueue']>[] = [];
          const value = await store.transaction((tx) =>
            work(
              changed(tx, {
                outbox: {
                  async enqueue(notification, deliveries) {
                    if (notification.kind === 'forward') queued.push([notification, deliveries]);
                    else await tx.outbox.enqueue(notification, deliveries);
                  },
                },
              }),
            ),
          );
          if (queued.length > 0) {
            await store.transaction(async (tx) => {
              for (const [notification, deliveries] of queued)
                await tx.outbox.enqueue(notification, deliveries);
            });
          }
          return value;
        },
      })),
  },
  {
    name: 'no_reason_kept',
    mistake: 'What is not told leaves no reason behind.',
    by: 'unexplained',
    vary: (parts) => withTransaction(parts, () => ({ suppressions: { add: async () => {} } })),
  },
  {
    name: 'told_is_forgotten',
    mistake: 'A group does not keep what it has told.',
    by: 'repeated',
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        groups: {
          putMembers: (members) => tx.groups.putMembers(members.map((one) => ({ ...one, notifiedSeq: 0 }))),
        },
      })),
  },
];
