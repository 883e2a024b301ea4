/** What the page shows, read from the store in one transaction so that its parts fit together. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { Event } from '../../domain/alert/event.ts';
import type { Recurrences } from '../../domain/muting/silence.ts';
import type { Impairment } from '../../health/impairment.ts';
import { countFiring, type FiringCounts } from '../../operator/count-firing.ts';
import { type AlertingConfig, readRoutedAlerts } from '../../operator/routed-alert.ts';
import { type ShownAlert, showAlerts } from '../../operator/shown-alerts.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import type { Store } from '../../store/store.ts';
import type { StatusView } from '../status-view.ts';
import { severityTone } from './frame/page-words.ts';
import { type ShownSilence, shownSilences } from './silences/silence-view.ts';

export interface PageView {
  readonly nowUs: number;
  /** Whether the browser is to ask again by itself. */
  readonly isLive: boolean;
  readonly status: StatusView;
  /** Whether whoever reaches the page may read all and silence. */
  readonly isOpen: boolean;
  /** What impairs the watch, the gravest first. */
  readonly impairments: readonly Impairment[];
  /** Firing, the severest first; at most `SHOWN_ALERTS`. */
  readonly firing: readonly ShownAlert[];
  readonly alerts: FiringCounts | undefined;
  /** The latest few. */
  readonly resolved: readonly Alert[];
  readonly events: readonly Event[];
  readonly deliveries: readonly Delivery[];
  /** The latest few of what failed and was set aside. */
  readonly setAside: readonly FaultRecord[];
  /** Of those that are not over at most `SHOWN_SILENCES`, and how many there are. */
  readonly silences: readonly ShownSilence[];
  readonly silencesTotal: number;
}

const SHOWN_ALERTS = 50;
const SHOWN_RESOLVED = 5;
const SHOWN_EVENTS = 20;
const SHOWN_DELIVERIES = 10;
const SHOWN_FAULTS = 5;
const SHOWN_SILENCES = 50;
/** Enough to put the severest of them first. */
const READ_ALERTS = 500;

interface PageViewOptions extends Pick<PageView, 'nowUs' | 'isLive' | 'status' | 'isOpen' | 'impairments'> {
  readonly alerting: AlertingConfig;
  readonly recurrences: Recurrences;
}

export async function readPageView(store: Store, options: PageViewOptions): Promise<PageView> {
  const { nowUs, isLive, isOpen, status, impairments, alerting, recurrences } = options;
  return store.transaction(async (tx) => {
    const muting = await loadMuting(tx, alerting, recurrences, nowUs);
    const silences = await tx.silences.list(nowUs);
    const firing = (await tx.alerts.list({ state: 'firing', limit: READ_ALERTS })).toSorted(bySeverity);
    const shown = await showAlerts(tx, muting, silences, firing.slice(0, SHOWN_ALERTS));
    const resolved = await tx.alerts.list({ state: 'resolved', limit: READ_ALERTS });
    return {
      nowUs,
      isLive,
      isOpen,
      status,
      impairments,
      firing: shown,
      alerts: await countFiring(tx, muting),
      resolved: resolved.toSorted((a, b) => b.endsAtUs - a.endsAtUs).slice(0, SHOWN_RESOLVED),
      events: (await tx.events.page({ limit: SHOWN_EVENTS })).events,
      deliveries: await tx.outbox.list({ limit: SHOWN_DELIVERIES }),
      setAside: await tx.faults.list(nowUs, SHOWN_FAULTS),
      silences:
        silences.length === 0
          ? []
          : shownSilences(
              silences.slice(0, SHOWN_SILENCES),
              await readRoutedAlerts(tx, muting, alerting),
              nowUs,
            ),
      silencesTotal: silences.length,
    };
  });
}

const TONES = ['bad', 'warn', 'quiet', 'good'];

function bySeverity(a: Alert, b: Alert): number {
  const rank = (alert: Alert) => TONES.indexOf(severityTone(alert.labels.severity ?? ''));
  return rank(a) - rank(b) || b.startsAtUs - a.startsAtUs;
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
      silences: [],
      silencesTotal: 0,
    },
  };
}
