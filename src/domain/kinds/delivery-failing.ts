/**
 * A receiver accepts nothing through one or more integrations of a kind, so the people who rely on them are not
 * notified.
 */
import { type Alert, type Change, clear, remember } from '../alert/alert.ts';
import type { FactOf } from '../alert/fact.ts';
import { lasting } from '../alert/rule.ts';
import { type Context, defineKind, fireMeasured, subjectPart } from './kind.ts';

/** Identifies an integration by its exact names; labels are cut and cleaned. */
interface Integration {
  readonly receiver: string;
  readonly integration: string;
}

interface Memory extends Integration {
  readonly through: string;
  readonly sinceUs: number;
  readonly reason: string;
}

export const deliveryFailing = defineKind({
  name: 'DeliveryFailing',
  fires:
    "an integration of a receiver accepts nothing. The receiver's fallback is notified or, if it has none, all other receivers",
  resolves: 'the receiver accepts messages through it again',
  words: {
    firing: 'Receiver not reached',
    still: 'Receiver still not reached',
    over: 'Receiver reached again',
  },
  runbook: {
    look: 'the reason on the page of deliveries, or `nestwatch deliveries`.',
    act: 'fix the receiver. Pending messages are then sent automatically; send those that were given up with `nestwatch deliveries retry`.',
  },
  parameters: lasting(300_000),
  severities: ['critical'],
  labels: ['integration', 'receiver', 'region'],
  isOfNoRegion: true,
  isResolvableByHand: () => false,
  remembers: { receiver: 'text', integration: 'text', through: 'text', sinceUs: 'since', reason: 'text' },

  raisedBy: ['delivery_health'],
  observes: ['delivery_health'],

  topic(fact) {
    const { receiver, integration, accepts } = fact;
    if (accepts) return undefined;
    return { subject: subjectOf(fact), labels: { region: 'all', receiver, integration } };
  },

  /** The reason comes from outside and may differ each time, so the first one is kept while the same ones fail. */
  raise(alert, { receiver, integration, through, reason, ...fact }, context) {
    if ((alert.memory as Memory | null)?.through === through) return undefined;
    // Our clock may have been set back since.
    const sinceUs = Math.min(fact.sinceUs, context.nowUs);
    const memory: Memory = { receiver, integration, through, sinceUs, reason };
    const dueAtUs = sinceUs + context.rule.forMs * 1000;
    if (alert.state === 'firing' || dueAtUs <= context.nowUs) return firing(alert, memory, context);
    return remember(alert, memory, dueAtUs, context.nowUs);
  },

  observe(alert, fact, { nowUs }) {
    if (!fact.accepts || alert.subject !== subjectOf(fact)) return undefined;
    return clear(alert, fact.sinceUs, 'messages are accepted again', nowUs);
  },

  tick(alert, context) {
    const memory = alert.memory as Memory | null;
    if (alert.state === 'firing' || memory === null) return remember(alert, memory, null, context.nowUs);
    return firing(alert, memory, context);
  },
});

/** The integration of an alert that fires or waits to fire; undefined for one that is over. */
export function failingIntegration({ memory }: Alert): Integration | undefined {
  return (memory as Memory | null) ?? undefined;
}

function subjectOf({ receiver, integration }: FactOf<'delivery_health'>): string {
  return `${subjectPart(receiver)}/${subjectPart(integration)}`;
}

function firing(alert: Alert, memory: Memory, context: Context): Change {
  const summary = `Receiver ${context.labels.receiver ?? ''} accepts nothing through ${memory.through}`;
  const { sinceUs: startsAtUs, reason: description } = memory;
  return fireMeasured(alert, { startsAtUs, summary, description, memory }, context);
}
