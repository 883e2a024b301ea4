import { atPosition, integrationName, sameKind } from '../channels/integration-identity.ts';
import type { Integration } from '../channels/receiver.ts';
import type { Config } from '../config/config.ts';
import { DELIVERY_SCOPE, type Fact } from '../domain/alert/fact.ts';
import { failingIntegration } from '../domain/kinds/delivery-failing.ts';
import { applyFacts } from '../store/change-alerts.ts';
import type { FailingIntegration } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { NOTHING, type Step } from './step-runner.ts';

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

  const facts = [...Map.groupBy(failing, nameOf)].map(([, all]) => failed(config, all));
  const names = new Set(failing.map(nameOf));
  const whole = lasting.flatMap((alert): Fact[] => {
    const known = failingIntegration(alert);
    if (!known || names.has(nameOf(known))) return [];
    const { receiver, integration } = known;
    return [
      {
        fact: 'delivery_health',
        receiver,
        integration,
        through: '',
        accepts: true,
        reason: '',
        sinceUs: nowUs,
      },
    ];
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
  return atPosition(integrationsOf(receivers, receiver), position)?.kind === integration;
}

function integrationsOf(receivers: Config['receivers'], receiver: string): readonly Integration[] {
  return receivers.find((one) => one.name === receiver)?.integrations ?? [];
}

/**
 * A receiver's integrations of one kind count as one, which has been failing since the first of them failed. Those that
 * fail are named, unless all do.
 */
function failed({ receivers }: Pick<Config, 'receivers'>, all: readonly FailingIntegration[]): Fact {
  const bySince = all.toSorted((a, b) => a.sinceUs - b.sinceUs);
  const { receiver, integration, lastError, sinceUs } = bySince[0]!;
  const fact = { fact: 'delivery_health', receiver, integration, accepts: false, sinceUs } as const;
  const integrations = integrationsOf(receivers, receiver);
  if (all.length === sameKind(integrations, integration)) {
    return { ...fact, through: integration, reason: lastError };
  }
  const named = bySince.map(({ position, lastError }) => ({
    name: integrationName(integrations, atPosition(integrations, position)!),
    lastError,
  }));
  return {
    ...fact,
    through: named
      .map(({ name }) => name)
      .toSorted()
      .join(', '),
    reason: named.map(({ name, lastError }) => `${name}: ${lastError}`).join('\n'),
  };
}
