import type { Alert } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import type { Fault } from '../alert/fault.ts';
import type { Change } from '../alert/lifecycle.ts';
import type { Kind } from '../kinds/kind.ts';
import { lastLinkedSeq } from './flapping.ts';

/** An event joined to an alert: the `seq`-th ever of that alert's identity. */
export interface Link {
  readonly alertId: string;
  readonly seq: number;
  /** An event that waited in an alert's memory has a shortened message; the store has the whole one. */
  readonly event: Event;
}

export interface Decision {
  /** The alerts that changed, each once, in their final state. */
  readonly alerts: readonly Alert[];
  /** In order of `seq`. */
  readonly links: readonly Link[];
  /** What failed meanwhile; everything else was decided. Absent for nothing. */
  readonly faults?: readonly Fault[];
}

/** The alerts of some scopes while a batch of facts is applied to them. */
export interface AlertBook {
  get(id: string): Alert | undefined;
  hasScope(scope: string): boolean;
  inScope(scope: string, kind: Kind): Alert[];
  apply(change: Change | undefined): void;
  decision(): Decision;
}

export function openBook(known: readonly Alert[]): AlertBook {
  const alerts = new Map<string, Alert>();
  const byScope = new Map<string, Alert[]>();
  const changed = new Set<string>();
  const links: Link[] = [];

  function put(alert: Alert): void {
    const list = byScope.get(alert.scope) ?? [];
    if (list.length === 0) byScope.set(alert.scope, list);
    const index = alerts.has(alert.id) ? list.findIndex((one) => one.id === alert.id) : list.length;
    list[index] = alert;
    alerts.set(alert.id, alert);
  }

  for (const alert of known) put(alert);
  return {
    get: (id) => alerts.get(id),
    hasScope: (scope) => byScope.has(scope),
    inScope: (scope, { name }) => byScope.get(scope)?.filter((alert) => alert.alertname === name) ?? [],
    apply(change) {
      if (!change) return;
      const { alert, events } = change;
      put(alert);
      changed.add(alert.id);
      const before = lastLinkedSeq(alert) - events.length;
      for (const [index, event] of events.entries())
        links.push({ alertId: alert.id, seq: before + index + 1, event });
    },
    decision: () => ({ alerts: [...changed].map((id) => alerts.get(id)!), links }),
  };
}
