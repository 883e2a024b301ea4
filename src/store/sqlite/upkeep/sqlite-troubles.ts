import type { DigestStore } from '../../digest-store.ts';
import type { FaultStore, Troubles, TroublesStore } from '../../fault-store.ts';
import type { OutboxStore } from '../../outbox-store.ts';
import type { SqliteStreams } from '../watched/sqlite-streams.ts';

interface Repositories {
  readonly outbox: OutboxStore;
  readonly digests: DigestStore;
  readonly faults: FaultStore;
  readonly streams: SqliteStreams;
}

/** Combines what the other repositories know; here that costs no round trips. */
export function createTroubles({ outbox, digests, faults, streams }: Repositories): TroublesStore {
  return {
    async read({ deadAfterUs, quarantinedFromUs, nowUs }): Promise<Troubles> {
      const counts = await outbox.count();
      const receiversOf = (wanted: string) =>
        counts.filter(({ state }) => state === wanted).map(({ receiver }) => receiver);
      const dead: { receiver: string; count: number }[] = [];
      for (const receiver of receiversOf('dead')) {
        const count = await digests.countDead(receiver, deadAfterUs, nowUs);
        if (count > 0) dead.push({ receiver, count });
      }
      const [latest] = await faults.list(nowUs, 1);
      const count = (await faults.count(nowUs)).reduce((sum, one) => sum + one.count, 0);
      return {
        failing: await outbox.failingIntegrations(),
        delivered: receiversOf('delivered'),
        dead,
        quarantined: streams.quarantinedSince(quarantinedFromUs),
        faults: { count, latest },
      };
    },
  };
}
