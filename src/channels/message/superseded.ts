import { labelOf } from '../../domain/alert/alert.ts';
import type { NotifiedAlert } from '../../domain/grouping/notification.ts';
import { kindOf } from '../../domain/kinds/kinds.ts';

/** An alert as people count it. */
interface Counted {
  /** With the messages and the start of the milder ones. */
  readonly alert: NotifiedAlert;
  /** Alerts of the same kind and subject that became this one. */
  readonly milder: readonly NotifiedAlert[];
}

/** Leaves out an alert that became worse if the same notification shows what it became. */
export function foldSuperseded(alerts: readonly NotifiedAlert[]): readonly Counted[] {
  const ended = alerts.filter((alert) => alert.ending === 'superseded');
  if (ended.length === 0) return alerts.map((alert) => ({ alert, milder: [] }));
  const firing = alerts.filter((alert) => alert.status === 'firing');
  const became = new Map<NotifiedAlert, NotifiedAlert>();
  for (const alert of ended) {
    const worse = firing.find((one) => isSameSubject(alert, one) && hasBecome(alert, one));
    if (worse) became.set(alert, worse);
  }
  return alerts
    .filter((alert) => !became.has(alert))
    .map((alert) => {
      const milder = ended.filter((one) => became.get(one) === alert && isSameKind(one, alert));
      return { alert: milder.reduce(joined, alert), milder };
    });
}

function joined(alert: NotifiedAlert, milder: NotifiedAlert): NotifiedAlert {
  return {
    ...alert,
    startsAtUs: Math.min(alert.startsAtUs, milder.startsAtUs),
    events: [...alert.events, ...milder.events],
    eventsTotal: alert.eventsTotal + milder.eventsTotal,
    eventsOmitted: alert.eventsOmitted + milder.eventsOmitted,
  };
}

function hasBecome(alert: NotifiedAlert, worse: NotifiedAlert): boolean {
  const { supersededBy } = kindOf(alert.labels.alertname ?? '') ?? {};
  return isSameKind(alert, worse) || (supersededBy !== undefined && worse.labels.alertname === supersededBy);
}

function isSameKind(alert: NotifiedAlert, other: NotifiedAlert): boolean {
  return alert.labels.alertname === other.labels.alertname;
}

const SUBJECT = ['region', 'nest_id', 'bird_id', 'entity_type', 'entity_id', 'entity_name'] as const;

function isSameSubject(alert: NotifiedAlert, other: NotifiedAlert): boolean {
  return SUBJECT.every((name) => labelOf(alert.labels, name) === labelOf(other.labels, name));
}
