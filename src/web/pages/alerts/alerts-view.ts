/** Reads what the page of all alerts shows, by its address. */
import type { Muting } from '../../../domain/muting/muting.ts';
import { alertOfEpisode } from '../../../operator/alert-record.ts';
import { readEnded } from '../../../operator/ended-episodes.ts';
import { readAlerts, showAlerts } from '../../../operator/shown-alerts.ts';
import type { AlertQuery } from '../../../store/alert-store.ts';
import type { Transaction } from '../../../store/store.ts';
import { flag, oneOf, readQuery } from '../../requests/query.ts';
import { FILTERS, readFilter } from '../../requests/read-filter.ts';
import type { AlertsEntry } from './alerts-page.ts';

interface AlertsQuery extends AlertQuery {
  readonly isSilenced: boolean | undefined;
}

/** The entries of one page: alerts, or causes with some of their alerts. */
const SHOWN = 50;

/** Throws `usage` for invalid values. */
export function readAlertsQuery(
  given: URLSearchParams,
  regions: readonly string[],
  nowUs: number,
): AlertsQuery {
  const { state, acknowledged, silenced, cause, cursor, ...filter } = readQuery(given, [
    ...FILTERS,
    'state',
    'acknowledged',
    'silenced',
    'cause',
    'cursor',
  ]);
  return {
    ...readFilter(filter, regions, nowUs),
    state: oneOf('state', state, ['firing', 'resolved']) ?? 'firing',
    isAcknowledged: flag('acknowledged', acknowledged),
    isSilenced: flag('silenced', silenced),
    cause,
    cursor,
    order: 'severest',
    nowUs,
    limit: SHOWN,
  };
}

interface Entries {
  readonly entries: readonly AlertsEntry[];
  readonly next: string | undefined;
}

export async function readEntries(tx: Transaction, muting: Muting, query: AlertsQuery): Promise<Entries> {
  const { isSilenced, cause, state } = query;
  if (state === 'firing' && isSilenced === undefined && cause === undefined) {
    return readCauses(tx, muting, query);
  }
  // Alerts are deleted soon after they are resolved, but their episodes are kept. Only the alerts themselves know
  // their Flights.
  if (state === 'resolved' && query.flight === undefined) return readOver(tx, query);
  const { alerts, next } = await readAlerts(tx, muting, query, isSilenced);
  return { entries: alerts.map((alert) => ({ alert })), next };
}

async function readOver(tx: Transaction, query: AlertsQuery): Promise<Entries> {
  const { episodes, next } = await readEnded(tx, query, query.limit, query.cursor);
  const entries = episodes.map((episode) => ({
    alert: { alert: alertOfEpisode(episode), lastEvent: undefined, silencedBy: [], isInhibited: false },
  }));
  return { entries, next };
}

/** A cause with a single alert is replaced by the alert. */
async function readCauses(tx: Transaction, muting: Muting, query: AlertsQuery): Promise<Entries> {
  const { causes, next } = await tx.alerts.causes(query);
  const all = await showAlerts(
    tx,
    muting,
    causes.flatMap((one) => one.latest),
  );
  const entries: AlertsEntry[] = [];
  let done = 0;
  for (const cause of causes) {
    const latest = all.slice(done, done + cause.latest.length);
    done += latest.length;
    const [only] = latest;
    entries.push(cause.alerts === 1 && only ? { alert: only } : { cause, latest });
  }
  return { entries, next };
}
