import { atPosition } from '../channels/integration-identity.ts';
import type { Config } from '../config/config.ts';
import { DELIVERY_SCOPE, type Fact } from '../domain/alert/fact.ts';
import { failingIntegration } from '../domain/kinds/delivery-failing.ts';
import { applyFacts } from '../store/change-alerts.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { NOTHING, type Step } from './step.ts';

/**
 * Fires `DeliveryFailing` for integrations that accept nothing, and resolves it when they accept again. Both follow
 * from the store, so a restart changes nothing. The alert of an integration that is no longer configured is resolved.
 */
export async function watchDeliveries(
  tx: Transaction,
  config: Pick<Config, 'rules' | 'receivers'>,
  nowUs: number,
): Promise<Step> {
  const failing = (await tx.outbox.failingIntegrations()).filter((one) => isConfigured(config, one));
  const known = await tx.alerts.ofScopes([DELIVERY_SCOPE]);
  const lasting = known.filter(({ state, memory }) => state === 'firing' || memory !== null);
  if (failing.length === 0 && lasting.length === 0) return NOTHING;

  const facts = [...Map.groupBy(failing, nameOf)].map(([, all]) => failed(all));
  const names = new Set(failing.map(nameOf));
  const whole = lasting.flatMap((alert): Fact[] => {
    const known = failingIntegration(alert);
    if (!known || names.has(nameOf(known))) return [];
    const { receiver, integration } = known;
    return [{ fact: 'delivery_health', receiver, integration, accepts: true, reason: '', sinceUs: nowUs }];
  });
  const { happenings } = await applyFacts(tx, [...facts, ...whole], config.rules, nowUs);
  return { done: 0, queued: 0, happenings };
}

type Named = Pick<FailingIntegration, 'receiver' | 'integration'>;

function nameOf({ receiver, integration }: Named): string {
  return JSON.stringify([receiver, integration]);
}

/**
 * Whether the integration is still configured at its position. What failed there says nothing about another integration
 * of its kind elsewhere, and its alert would never resolve.
 */
function isConfigured(
  { receivers }: Pick<Config, 'receivers'>,
  { receiver, position, integration }: FailingIntegration,
): boolean {
  const { integrations = [] } = receivers.find((one) => one.name === receiver) ?? {};
  return atPosition(integrations, position)?.kind === integration;
}

/** A receiver's integrations of one kind count as one, which has been failing since the first of them failed. */
function failed(all: readonly FailingIntegration[]): Fact {
  const { receiver, integration, lastError, sinceUs } = all.toSorted((a, b) => a.sinceUs - b.sinceUs)[0]!;
  return { fact: 'delivery_health', receiver, integration, accepts: false, reason: lastError, sinceUs };
}
