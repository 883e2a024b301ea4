/** Mistakes in how several replicas share a store. */

import type { DaemonParts } from '../../../src/daemon.ts';
import { LOOK_EVERY_MS } from '../../../src/replicas/part.ts';
import type { Transaction } from '../../../src/store/store.ts';
import type { Clock } from '../../../src/time/clock.ts';
import type { ChangedRepositories } from '../../store/changed-transaction.ts';
import type { Variant } from './variant.ts';
import { withTransaction } from './wrap.ts';

function withOwnership(
  parts: DaemonParts,
  change: (tx: Transaction) => NonNullable<ChangedRepositories['ownership']>,
): DaemonParts {
  return withTransaction(parts, (tx) => ({ ownership: change(tx) }));
}

/** The clock of its machine, which may be wrong. */
function ownClock({ clock, replica }: DaemonParts): Clock {
  return { ...clock, nowUs: () => clock.nowUs() + (replica?.storeClock.ownAheadUs() ?? 0) };
}

export const REPLICAS: readonly Variant[] = [
  {
    name: 'epoch_not_checked',
    mistake: 'Who once owned a region goes on writing, whoever owns it now.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) => withOwnership(parts, () => ({ check: async () => {} })),
  },
  {
    name: 'lease_by_local_clock',
    mistake: 'Each replica judges by its own clock whether another one lives.',
    by: 'lost',
    isShared: true,
    vary: (parts) =>
      withOwnership(parts, ({ ownership }) => ({
        async removeExpired() {
          const { replicas } = await ownership.view();
          const expired = replicas.filter(({ expiresUs }) => expiresUs <= ownClock(parts).nowUs());
          for (const { replica } of expired) await ownership.leave(replica);
          return expired.length;
        },
      })),
  },
  {
    name: 'waits_by_local_clock',
    mistake: 'Each replica dates what it writes by its own clock.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) => ({ ...parts, clock: ownClock(parts) }),
  },
  {
    name: 'kept_while_stopping',
    mistake: 'Who ends gives nothing back: it is left to run out.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) =>
      withOwnership(parts, ({ ownership }) => ({
        async release(lease) {
          const { replicas, duties } = await ownership.view();
          const owner = duties.find(({ duty }) => duty === lease.duty)?.owner;
          const isLeaving = replicas.some((one) => one.replica === owner && one.isLeaving);
          if (!isLeaving) await ownership.release(lease);
        },
        leave: async () => {},
      })),
  },
  {
    name: 'wake_lost',
    mistake: 'A replica that is not woken does not look by itself either.',
    by: 'lost',
    isShared: true,
    vary: ({ replica, clock, ...parts }) => ({
      ...parts,
      clock: {
        ...clock,
        setTimer: (ms, wake) => clock.setTimer(ms === LOOK_EVERY_MS ? Number.POSITIVE_INFINITY : ms, wake),
      },
      replica: replica && { ...replica, wakes: { ring() {}, listen: () => () => {} } },
    }),
  },
  {
    name: 'dead_keep_what_they_had',
    mistake: 'Nobody takes over from a replica that has ended without a word.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) => withOwnership(parts, () => ({ removeExpired: async () => 0 })),
  },
  {
    name: 'living_taken_for_dead',
    mistake: 'Who joins takes all that is being sent for left behind.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        outbox: { recoverLeases: (nowUs) => tx.outbox.recoverLeases(nowUs) },
      })),
  },
  {
    name: 'claims_without_a_name',
    mistake: 'A claim does not say whose it is.',
    by: 'unexplained',
    isShared: true,
    vary: (parts) =>
      withTransaction(parts, (tx) => ({
        outbox: {
          claim: (receiver, position, nowUs, limit) => tx.outbox.claim(receiver, position, nowUs, limit),
        },
      })),
  },
];
