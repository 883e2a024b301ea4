/** Reads from the store what bears on the health of the watch, so that a restart forgets none of it. */
import {
  atPosition,
  integrationName,
  positioned,
  takesAlerts,
  traitsOf,
} from '../channels/integration-identity.ts';
import type { Config } from '../config/config.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import type { KeptSnapshot } from './judge-health.ts';

const DEAD_FOR_US = 7 * 86_400_000_000;
const QUARANTINED_FOR_US = 3_600_000_000;
/**
 * What is dropped at one moment says nothing yet, be it one answer or all that were under way to a receiver that
 * restarts: the next attempt, within a second, may be accepted.
 */
const FAILING_ATTEMPTS = 2;
const RETRIED_WITHIN_US = 1_000_000;
const FAILING_FOR_US = 10_000_000;

/** Used until the store has answered. */
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
  const { dead, delivered, quarantined, faults, ...known } = await tx.troubles.read({
    deadAfterUs: nowUs - DEAD_FOR_US,
    quarantinedFromUs: nowUs - QUARANTINED_FOR_US,
    nowUs,
  });
  const { count, latest } = faults;
  const failing = known.failing.flatMap((one) => {
    const countsAfterUs = one.failures < FAILING_ATTEMPTS ? FAILING_FOR_US : RETRIED_WITHIN_US;
    if (nowUs - one.sinceUs < countsAfterUs) return [];
    const { integrations = [] } = receivers.find(({ name }) => name === one.receiver) ?? {};
    // An integration that is no longer configured does not count.
    const integration = atPosition(integrations, one.position);
    if (integration?.kind !== one.integration) return [];
    return [{ ...one, name: integrationName(integrations, integration), among: integrations.length }];
  });
  return {
    failing,
    isNobodyReached: isNobodyReached(receivers, failing, delivered),
    dead,
    quarantined,
    faults: {
      count,
      first: latest ? `${latest.sort.replace('_', ' ')} ${latest.name}: ${latest.reason}` : '',
      sinceUs: latest?.sinceUs ?? 0,
    },
  };
}

/**
 * Whether no receiver is reached: of the receivers that take alerts and were tried, none accepts them through any
 * integration. The store does not record which integrations were tried. So if a receiver has never accepted anything,
 * those of its integrations that do not fail count as untried.
 */
function isNobodyReached(
  receivers: Config['receivers'],
  failing: readonly FailingIntegration[],
  delivered: readonly string[],
): boolean {
  const tried = receivers.filter(
    (one) =>
      takesAlerts(one) &&
      (delivered.includes(one.name) || failing.some(({ receiver }) => receiver === one.name)),
  );
  const acceptsNothing = ({ name, integrations }: Config['receivers'][number]) => {
    if (!delivered.includes(name)) return true;
    const positions = failing.flatMap(({ receiver, position }) => (receiver === name ? [position] : []));
    return positioned(integrations).every(
      ([position, one]) => traitsOf(one).takesEvents || positions.includes(position),
    );
  };
  return tried.length > 0 && tried.every(acceptsNothing);
}
