/** A receiver accepts nothing by one sort of integration: those who rely on it are told nothing. */
import type { Alert } from '../alert/alert.ts';
import type { Fact } from '../alert/fact.ts';
import { type Context, type Kind, subjectPart } from '../alert/kind.ts';
import { annotate } from '../alert/labels.ts';
import { clear, fire, remember } from '../alert/lifecycle.ts';

interface Memory {
  readonly sinceUs: number;
  readonly reason: string;
}

type DeliveryHealth = Extract<Fact, { fact: 'delivery_health' }>;

function subjectOf({ receiver, integration }: DeliveryHealth): string {
  return `${subjectPart(receiver)}/${subjectPart(integration)}`;
}

/** The message comes from the receiver and may differ with every try, so it is the first one that stays. */
function firing(alert: Alert, memory: Memory, { rule, labels, nowUs }: Context) {
  const summary = `Receiver ${labels.receiver ?? ''} accepts nothing by ${labels.integration ?? ''}`;
  const annotations = annotate(rule, summary, memory.reason);
  const { sinceUs: startsAtUs } = memory;
  return fire(alert, { startsAtUs, labels, annotations, events: [], memory, dueAtUs: null }, nowUs);
}

export const deliveryFailing: Kind = {
  alertname: 'DeliveryFailing',
  measured: true,

  topic(fact) {
    if (fact.fact !== 'delivery_health' || fact.accepts) return undefined;
    const { receiver, integration } = fact;
    return {
      subject: subjectOf(fact),
      labels: { region: 'all', receiver, integration },
      severity: 'critical',
    };
  },

  raise(alert, fact, context) {
    if (fact.fact !== 'delivery_health' || alert.memory !== null) return undefined;
    const memory: Memory = { sinceUs: fact.sinceUs, reason: fact.reason };
    const dueAtUs = memory.sinceUs + context.rule.forMs * 1000;
    if (dueAtUs <= context.nowUs) return firing(alert, memory, context);
    return remember(alert, memory, dueAtUs, context.nowUs);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact !== 'delivery_health' || !fact.accepts) return undefined;
    if (!alert.id.endsWith(`/all/${subjectOf(fact)}`)) return undefined;
    return clear(alert, fact.sinceUs, 'it accepts again', nowUs);
  },

  tick(alert, context) {
    const memory = alert.memory as Memory | null;
    if (alert.state === 'firing' || memory === null) return remember(alert, memory, null, context.nowUs);
    return firing(alert, memory, context);
  },
};
