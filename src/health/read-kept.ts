/** What the store knows of how the watch stands, so that a restart forgets nothing of it. */
import { takesAlerts } from '../channels/traits.ts';
import type { Config } from '../config/config.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import type { KeptSnapshot } from './snapshot.ts';

const DEAD_FOR_US = 7 * 86_400_000_000;
const QUARANTINED_FOR_US = 3_600_000_000;

/** Before the store has answered. */
export const NOTHING_KEPT: KeptSnapshot = {
  failing: [],
  isNobodyReached: false,
  dead: [],
  quarantined: [],
  faults: { count: 0, first: '', sinceUs: 0 },
};

export async function readKept(
  tx: Transaction,
  receivers: Config['receivers'],
  nowUs: number,
): Promise<KeptSnapshot> {
  const counts = await tx.outbox.count();
  const failing = (await tx.outbox.failingIntegrations()).filter((one) => isConfigured(receivers, one));
  const dead: { receiver: string; count: number }[] = [];
  for (const { receiver } of counts.filter(({ state }) => state === 'dead')) {
    const count = await tx.digests.countDead(receiver, nowUs - DEAD_FOR_US, nowUs);
    if (count > 0) dead.push({ receiver, count });
  }
  const faultCounts = await tx.faults.count(nowUs);
  const [latest] = await tx.faults.list(nowUs, 1);
  return {
    failing,
    isNobodyReached: isNobodyReached(receivers, failing, counts),
    dead,
    quarantined: await tx.streams.quarantinedSince(nowUs - QUARANTINED_FOR_US),
    faults: {
      count: faultCounts.reduce((sum, { count }) => sum + count, 0),
      first: latest ? `${latest.sort.replace('_', ' ')} ${latest.name}: ${latest.reason}` : '',
      sinceUs: latest?.sinceUs ?? 0,
    },
  };
}

/** One that is no longer configured has nobody who waits for it. */
function isConfigured(
  receivers: Config['receivers'],
  { receiver, position, integration }: FailingIntegration,
) {
  const one = receivers.find(({ name }) => name === receiver);
  return one?.integrations[position]?.kind === integration;
}

/** Of the receivers that take alerts and were tried at all, one must have all its integrations accept. */
function isNobodyReached(
  receivers: Config['receivers'],
  failing: readonly FailingIntegration[],
  counts: readonly { readonly receiver: string; readonly state: string }[],
): boolean {
  const isFailing = (name: string) => failing.some(({ receiver }) => receiver === name);
  const hasDelivered = (name: string) =>
    counts.some(({ receiver, state }) => receiver === name && state === 'delivered');
  const tried = receivers.filter(
    (one) => takesAlerts(one) && (isFailing(one.name) || hasDelivered(one.name)),
  );
  return tried.length > 0 && tried.every(({ name }) => isFailing(name));
}
