/** Reads what the overview page shows, in one transaction, so that its parts are consistent. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { Muting } from '../../domain/muting/muting.ts';
import type { Impairment } from '../../health/impairment.ts';
import {
  type AlertingConfig,
  countFiring,
  type FiringCounts,
  readRoutedAlerts,
} from '../../operator/read-alerts.ts';
import { readReplicas } from '../../operator/read-replicas.ts';
import { readBlindSpans } from '../../store/read-history.ts';
import type { Transaction } from '../../store/store.ts';
import { pausing } from '../../time/clock.ts';
import type { Period } from '../../time/zone-format.ts';
import type { PagesOptions, StatusView } from '../web-options.ts';
import { type AlertsEntry, alertsOf, isHiddenFromAll, readEntries } from './alerts/alerts-page.ts';
import { readHappened } from './frame/items.ts';
import { shownSilences } from './silences/silences-page.ts';

/** What the page shows besides the store. */
interface Beside {
  readonly nowUs: number;
  /** Whether the browser reloads the page by itself. */
  readonly isLive: boolean;
  readonly status: StatusView;
  /** Whether everybody who can reach the page may read everything and silence alerts. */
  readonly isOpen: boolean;
  /** What impairs the watch, gravest first. */
  readonly impairments: readonly Impairment[];
}

type Stored = Awaited<ReturnType<typeof readStored>>;
export type PageView = Beside & Stored;

/** Causes that the page shows: so few that all of it is on one screen. */
export const SHOWN_PROBLEMS = 4;
/** Causes that are read at once. */
const READ_CAUSES = 20;
/** At most this many are read to find `SHOWN_PROBLEMS` that nothing hides. */
const MOST_CAUSES = 200;
const READ_NESTS = 12;
const DAY_US = 86_400_000_000;
const SHOWN_FAULTS = 5;
const SHOWN_SILENCES = 50;
/** How many of the most severe alerts are examined, so that those that nothing hides can be shown first. */
const READ_ALERTS = 200;

export async function readPageView(
  beside: Beside,
  { store, alerting, muting }: Pick<PagesOptions, 'store' | 'alerting' | 'muting'>,
): Promise<PageView> {
  return store.transaction(async (tx) => ({
    ...beside,
    ...(await readStored(tx, await muting(tx, beside.nowUs), alerting, beside)),
  }));
}

async function readStored(
  tx: Transaction,
  muting: Muting,
  alerting: AlertingConfig,
  { nowUs, status }: Beside,
) {
  const dayAgoUs = nowUs - DAY_US;
  const regions = status.regions.map(({ region }) => region);
  const severest = { order: 'severest', nowUs } as const;
  const silences = await tx.silences.list(nowUs);
  const firing = await tx.alerts.page({ ...severest, state: 'firing', limit: READ_ALERTS });
  // Each of the greater readings has a turn of its own.
  await tx.pause();
  const causes = { ...severest, state: 'firing', limit: READ_CAUSES, isSilenced: undefined } as const;
  const alerts: FiringCounts = await countFiring(tx, muting, nowUs);
  await tx.pause();
  const items: AlertsEntry[] = [];
  // Causes that are silenced or inhibited may fill the first readings.
  for (let cursor: string | undefined; items.length < MOST_CAUSES; ) {
    const read = await readEntries(tx, muting, { ...causes, cursor });
    items.push(...read.items);
    cursor = read.next;
    await tx.pause();
    const seen = items.filter((one) => !isHidden(one)).length;
    if (cursor === undefined || seen >= Math.min(alerts.unacknowledged, SHOWN_PROBLEMS)) break;
  }
  const ends = await tx.birds.flightEnds({ regions, sinceUs: dayAgoUs });
  await tx.pause();
  const { nests } = await tx.birds.nestPage({ regions, countedSinceUs: dayAgoUs, limit: READ_NESTS });
  await tx.pause();
  const happened = await readHappened(tx, {}, nowUs);
  await tx.pause();
  const routed = silences.length === 0 ? [] : await readRoutedAlerts(tx, muting, alerting);
  const blind: Period[] = [];
  for (const region of regions) blind.push(...(await readBlindSpans(tx, region, dayAgoUs)));
  const acknowledged = Map.groupBy(
    silences.filter(({ alertId }) => alertId !== null),
    ({ createdBy }) => createdBy,
  );
  return {
    ends,
    // When a region could not be read, and when Birds were published.
    blind,
    publishedUs: await tx.birds.publishesSince(dayAgoUs),
    // Firing alerts by cause: those that nothing hides first, the most severe first.
    problems: [...items.filter((one) => !isHidden(one)), ...items.filter(isHidden)],
    // The most severe alerts that wait for a person.
    waiting: await waitingOf(tx, firing.alerts, muting),
    acknowledged,
    alerts: alerts as FiringCounts | undefined,
    happened,
    nests,
    nestEnds: await tx.birds.nestEnds(nests, dayAgoUs),
    setAside: await tx.faults.list(nowUs, SHOWN_FAULTS),
    silences: shownSilences(silences, routed, nowUs, SHOWN_SILENCES),
    replicas: await readReplicas(tx),
    actionsPaused: await tx.actions.paused(),
  };
}

/** Whether somebody knows of all of it. */
function isHidden(entry: AlertsEntry): boolean {
  return alertsOf(entry).every(isHiddenFromAll);
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
export const NOTHING_STORED: Stored = {
  ...{ ends: [], blind: [], publishedUs: [], problems: [], waiting: [], acknowledged: new Map() },
  ...{ alerts: undefined, nests: [], nestEnds: [] },
  happened: { events: [], isCut: false, over: [], isOverCut: false },
  ...{ setAside: [], silences: { shown: [], total: 0 }, replicas: [], actionsPaused: undefined },
};
