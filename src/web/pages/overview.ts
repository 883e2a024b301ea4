/** Reads what the overview page shows, in one transaction, so that its parts are consistent. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { Event } from '../../domain/alert/event.ts';
import type { Muting } from '../../domain/muting/muting.ts';
import type { Recurrences } from '../../domain/muting/silence.ts';
import type { Impairment } from '../../health/impairment.ts';
import { countFiring, type FiringCounts } from '../../operator/count-firing.ts';
import { type ReplicaView, readReplicas } from '../../operator/read-replicas.ts';
import { type AlertingConfig, readRoutedAlerts } from '../../operator/routed-alert.ts';
import { type ShownAlert, showAlerts } from '../../operator/shown-alerts.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import type { Store, Transaction } from '../../store/store.ts';
import { pausing } from '../../time/pause-after.ts';
import type { StatusView } from '../status-view.ts';
import { type ShownSilences, shownSilences } from './silences/silence-view.ts';

export interface PageView {
  readonly nowUs: number;
  /** Whether the browser reloads the page by itself. */
  readonly isLive: boolean;
  readonly status: StatusView;
  /** Whether everybody who can reach the page may read everything and silence alerts. */
  readonly isOpen: boolean;
  /** What impairs the watch, gravest first. */
  readonly impairments: readonly Impairment[];
  /** Firing alerts, most severe first; at most `SHOWN_ALERTS`. */
  readonly firing: readonly ShownAlert[];
  readonly alerts: FiringCounts | undefined;
  /** The latest few. */
  readonly resolved: readonly Alert[];
  readonly events: readonly Event[];
  readonly deliveries: readonly Delivery[];
  /** The latest few faults that were set aside. */
  readonly setAside: readonly FaultRecord[];
  readonly silences: ShownSilences;
  /** The processes that share the store; empty if this process has its store to itself. */
  readonly replicas: readonly ReplicaView[];
}

const SHOWN_ALERTS = 50;
const SHOWN_RESOLVED = 5;
const SHOWN_EVENTS = 20;
const SHOWN_DELIVERIES = 10;
const SHOWN_FAULTS = 5;
const SHOWN_SILENCES = 50;
/** How many of the most severe alerts are examined, so that those that nothing hides can be shown first. */
const READ_ALERTS = 200;

interface PageViewOptions extends Pick<PageView, 'nowUs' | 'isLive' | 'status' | 'isOpen' | 'impairments'> {
  readonly alerting: AlertingConfig;
  readonly recurrences: Recurrences;
}

export async function readPageView(store: Store, options: PageViewOptions): Promise<PageView> {
  const { nowUs, isLive, isOpen, status, impairments, alerting, recurrences } = options;
  return store.transaction(async (tx) => {
    const muting = await loadMuting(tx, alerting, recurrences, nowUs);
    const silences = await tx.silences.list(nowUs);
    const severest = { order: 'severest', nowUs } as const;
    const firing = await tx.alerts.page({ ...severest, state: 'firing', limit: READ_ALERTS });
    const first = (await waitingFirst(tx, firing.alerts, muting)).slice(0, SHOWN_ALERTS);
    const over = await tx.alerts.page({ ...severest, state: 'resolved', limit: SHOWN_RESOLVED });
    return {
      nowUs,
      isLive,
      isOpen,
      status,
      impairments,
      firing: await showAlerts(tx, muting, first),
      alerts: await countFiring(tx, muting, nowUs),
      resolved: over.alerts,
      events: (await tx.events.page({ limit: SHOWN_EVENTS })).events,
      deliveries: await tx.outbox.list({ limit: SHOWN_DELIVERIES }),
      setAside: await tx.faults.list(nowUs, SHOWN_FAULTS),
      silences: shownSilences(
        silences,
        silences.length === 0 ? [] : await readRoutedAlerts(tx, muting, alerting),
        nowUs,
        SHOWN_SILENCES,
      ),
      replicas: await readReplicas(tx),
    };
  });
}

/** Alerts that nothing hides before the others, each in their order. */
async function waitingFirst(
  tx: Transaction,
  alerts: readonly Alert[],
  muting: Muting,
): Promise<readonly Alert[]> {
  const [waiting, hidden]: [Alert[], Alert[]] = [[], []];
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
    (silencedBy.length + inhibitedBy.length > 0 ? hidden : waiting).push(alert);
  }
  return [...waiting, ...hidden];
}

/** What can be shown while the store does not answer. */
export function storelessView({ nowUs, isLive, isOpen, status, impairments }: PageViewOptions): PageView {
  return {
    ...{ nowUs, isLive, isOpen, status, impairments },
    ...{
      firing: [],
      alerts: undefined,
      resolved: [],
      events: [],
      deliveries: [],
      setAside: [],
      silences: { shown: [], total: 0 },
      replicas: [],
    },
  };
}
