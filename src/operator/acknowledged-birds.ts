/** Finds Birds whose firing alerts are all acknowledged, so that nobody else needs to look at them. */
import type { Alert } from '../domain/alert/alert.ts';
import { birdScope } from '../domain/alert/fact.ts';
import { acknowledgementsByAlert, isAcknowledgementOver, type Silence } from '../domain/muting/silence.ts';
import type { BirdOverview } from '../store/bird-store.ts';
import type { Transaction } from '../store/store.ts';

export interface ShownBird extends BirdOverview {
  /** Whether alerts about it fire and each is acknowledged. */
  readonly isAcknowledged: boolean;
}

export async function showBirds(
  tx: Transaction,
  birds: readonly BirdOverview[],
  nowUs: number,
): Promise<ShownBird[]> {
  const scopes = birds.flatMap((one) => (one.firing > 0 ? [birdScope(one.region, one.birdId)] : []));
  if (scopes.length === 0) return birds.map((one) => ({ ...one, isAcknowledged: false }));
  const byScope = Map.groupBy(await tx.alerts.ofScopes(scopes), ({ scope }) => scope);
  const acknowledgements = acknowledgementsByAlert(await tx.silences.list(nowUs));
  return birds.map((one) => ({
    ...one,
    isAcknowledged: areAcknowledged(byScope.get(birdScope(one.region, one.birdId)) ?? [], acknowledgements),
  }));
}

function areAcknowledged(
  alerts: readonly Alert[],
  acknowledgements: ReadonlyMap<string, readonly Silence[]>,
): boolean {
  const firing = alerts.filter(({ state }) => state === 'firing');
  const isAcknowledged = (alert: Alert) =>
    acknowledgements.get(alert.id)?.some((one) => !isAcknowledgementOver(one, alert));
  return firing.length > 0 && firing.every(isAcknowledged);
}
