/** Reads what the overview page shows, in one transaction, so that its parts are consistent. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { Muting } from '../../domain/muting/muting.ts';
import type { Recurrences } from '../../domain/muting/silence.ts';
import type { Impairment } from '../../health/impairment.ts';
import { countFiring, type FiringCounts } from '../../operator/count-firing.ts';
import { type Happened, readHappened } from '../../operator/read-happened.ts';
import { type ReplicaView, readReplicas } from '../../operator/read-replicas.ts';
import { type AlertingConfig, readRoutedAlerts } from '../../operator/routed-alert.ts';
import type { FlightEnds, NestOverview } from '../../store/bird-store.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import { loadMuting } from '../../store/load-muting.ts';
import { readBlindSpans } from '../../store/read-history.ts';
import type { Store, Transaction } from '../../store/store.ts';
import type { Period } from '../../time/calendar-period.ts';
import { pausing } from '../../time/pause-after.ts';
import type { StatusView } from '../status-view.ts';
import { type AlertsEntry, alertsOf, isHiddenFromAll, readEntries } from './alerts/alerts-page.ts';
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
  /** Ends of Flights of the last day. */
  readonly ends: readonly FlightEnds[];
  /** When a region could not be read, and when Birds were published, within the same day. */
  readonly blind: readonly Period[];
  readonly publishedUs: readonly number[];
  /** Firing alerts by cause: those that nothing hides first, the most severe first. */
  readonly problems: readonly AlertsEntry[];
  /** The most severe alerts that wait for a person. */
  readonly waiting: readonly Alert[];
  /** How many alerts each person has acknowledged. */
  readonly acknowledged: ReadonlyMap<string, number>;
  readonly alerts: FiringCounts | undefined;
  /** The latest few. */
  readonly resolved: readonly Alert[];
  /** The latest events but those that go without saying. */
  readonly happened: Happened;
  /** The worst few. */
  readonly nests: readonly NestOverview[];
  /** How their Flights ended within the last day. */
  readonly nestEnds: readonly (readonly FlightEnds[])[];
  /** The latest few faults that were set aside. */
  readonly setAside: readonly FaultRecord[];
  readonly silences: ShownSilences;
  /** The processes that share the store; empty if this process has its store to itself. */
  readonly replicas: readonly ReplicaView[];
  /** Since when no rule may start Birds, and who said so. */
  readonly actionsPaused: Awaited<ReturnType<Transaction['actions']['paused']>>;
}

const SHOWN_CAUSES = 20;
const SHOWN_RESOLVED = 5;
const SHOWN_NESTS = 12;
const DAY_US = 86_400_000_000;
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
    // Each of the greater readings has a turn of its own.
    await tx.pause();
    const causes = { ...severest, state: 'firing', limit: SHOWN_CAUSES, isSilenced: undefined } as const;
    const { items } = await readEntries(tx, muting, causes);
    const regions = status.regions.map(({ region }) => region);
    await tx.pause();
    const ends = await tx.birds.flightEnds({ regions, sinceUs: nowUs - DAY_US });
    await tx.pause();
    const { nests } = await tx.birds.nestPage({
      regions,
      countedSinceUs: nowUs - DAY_US,
      limit: SHOWN_NESTS,
    });
    await tx.pause();
    const happened = await readHappened(tx, {});
    await tx.pause();
    const alerts = await countFiring(tx, muting, nowUs);
    await tx.pause();
    const over = await tx.alerts.page({ ...severest, state: 'resolved', limit: SHOWN_RESOLVED });
    return {
      nowUs,
      isLive,
      isOpen,
      status,
      impairments,
      ends,
      blind: await blindSpans(tx, regions, nowUs - DAY_US),
      publishedUs: await tx.birds.publishesSince(nowUs - DAY_US),
      problems: [...items.filter((one) => !isHidden(one)), ...items.filter(isHidden)],
      waiting: await waitingOf(tx, firing.alerts, muting),
      acknowledged: countBy(
        silences.filter(({ alertId }) => alertId !== null).map(({ createdBy }) => createdBy),
      ),
      nests,
      nestEnds: await tx.birds.nestEnds(nests, nowUs - DAY_US),
      alerts,
      resolved: over.alerts,
      happened,
      setAside: await tx.faults.list(nowUs, SHOWN_FAULTS),
      silences: shownSilences(
        silences,
        silences.length === 0 ? [] : await readRoutedAlerts(tx, muting, alerting),
        nowUs,
        SHOWN_SILENCES,
      ),
      replicas: await readReplicas(tx),
      actionsPaused: await tx.actions.paused(),
    };
  });
}

async function blindSpans(tx: Transaction, regions: readonly string[], sinceUs: number): Promise<Period[]> {
  const spans: Period[] = [];
  for (const region of regions) spans.push(...(await readBlindSpans(tx, region, sinceUs)));
  return spans;
}

/** Whether somebody knows of all of it. */
function isHidden(entry: AlertsEntry): boolean {
  return alertsOf(entry).every(isHiddenFromAll);
}

function countBy(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Alerts that nothing hides. */
async function waitingOf(tx: Transaction, alerts: readonly Alert[], muting: Muting): Promise<Alert[]> {
  const waiting: Alert[] = [];
  const pauseAfter = pausing(tx);
  for (const alert of alerts) {
    const { silencedBy, inhibitedBy } = await muting.of(alert, pauseAfter);
    if (silencedBy.length + inhibitedBy.length === 0) waiting.push(alert);
  }
  return waiting;
}

/** What can be shown while the store does not answer. */
export function storelessView({ nowUs, isLive, isOpen, status, impairments }: PageViewOptions): PageView {
  return {
    ...{ nowUs, isLive, isOpen, status, impairments },
    ...{
      ends: [],
      blind: [],
      publishedUs: [],
      problems: [],
      waiting: [],
      acknowledged: new Map(),
      nests: [],
      nestEnds: [],
      alerts: undefined,
      resolved: [],
      happened: { events: [], isCut: false },
      setAside: [],
      silences: { shown: [], total: 0 },
      replicas: [],
      actionsPaused: undefined,
    },
  };
}
