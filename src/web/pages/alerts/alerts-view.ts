/** Reads what the page of all alerts shows, by its address. */
import type { Muting } from '../../../domain/muting/muting.ts';
import { alertOfEpisode } from '../../../operator/alert-record.ts';
import { readEnded } from '../../../operator/ended-episodes.ts';
import { readAlerts, showAlerts } from '../../../operator/shown-alerts.ts';
import type { Transaction } from '../../../store/store.ts';
import {
  type AskedAlerts,
  type ListContext,
  type Listed,
  readAlertQuery,
} from '../../requests/read-lists.ts';
import type { AlertsEntry } from './alerts-page.ts';

const ASKED = { states: ['firing', 'resolved'], order: 'severest' } as const;

/** Alerts, or causes with some of their alerts. */
export function listEntries(
  search: URLSearchParams,
  context: ListContext,
  loadMuting: (tx: Transaction, nowUs: number) => Promise<Muting>,
): (tx: Transaction) => Promise<Listed<AlertsEntry>> {
  const asked = readAlertQuery(search, context, ASKED);
  const query = { ...asked, state: asked.state ?? 'firing' };
  return async (tx) => readEntries(tx, await loadMuting(tx, context.nowUs), query);
}

export async function readEntries(
  tx: Transaction,
  muting: Muting,
  query: AskedAlerts,
): Promise<Listed<AlertsEntry>> {
  const { isSilenced, cause, state } = query;
  if (state === 'firing' && isSilenced === undefined && cause === undefined) {
    return readCauses(tx, muting, query);
  }
  // Alerts are deleted soon after they are resolved, but their episodes are kept. Only the alerts themselves know
  // their Flights.
  if (state === 'resolved' && query.flight === undefined) return readOver(tx, query);
  const { alerts, next } = await readAlerts(tx, muting, query, isSilenced);
  return { items: alerts.map((alert) => ({ alert })), next };
}

async function readOver(tx: Transaction, query: AskedAlerts): Promise<Listed<AlertsEntry>> {
  const { episodes, next } = await readEnded(tx, query, query.limit, query.cursor);
  const items = episodes.map((episode) => ({
    alert: { alert: alertOfEpisode(episode), lastEvent: undefined, silencedBy: [], isInhibited: false },
  }));
  return { items, next };
}

/** A cause with a single alert is replaced by the alert. */
async function readCauses(tx: Transaction, muting: Muting, query: AskedAlerts): Promise<Listed<AlertsEntry>> {
  const { causes, next } = await tx.alerts.causes(query);
  const all = await showAlerts(
    tx,
    muting,
    causes.flatMap((one) => one.latest),
  );
  const items: AlertsEntry[] = [];
  let done = 0;
  for (const cause of causes) {
    const latest = all.slice(done, done + cause.latest.length);
    done += latest.length;
    const [only] = latest;
    items.push(cause.alerts === 1 && only ? { alert: only } : { cause, latest });
  }
  return { items, next };
}
