/** Renders the page of all alerts: firing ones by cause or separately, and resolved ones. */
import { html } from 'hono/html';
import { fingerprint } from '../../../domain/alert/fingerprint.ts';
import type { Muting } from '../../../domain/muting/muting.ts';
import { alertPath } from '../../../http/page-path.ts';
import { alertOfEpisode } from '../../../operator/alert-record.ts';
import { readEnded } from '../../../operator/ended-episodes.ts';
import { readAlerts, type ShownAlert, showAlerts } from '../../../operator/shown-alerts.ts';
import type { Cause } from '../../../store/alert-store.ts';
import type { Transaction } from '../../../store/store.ts';
import {
  type AskedAlerts,
  type ListContext,
  type Listed,
  readAlertQuery,
} from '../../requests/read-lists.ts';
import { alertFields, type FilterField, filterField, isNarrowed, regionField } from '../frame/filter-form.ts';
import { messageLine } from '../frame/items.ts';
import { type ListView, listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, where } from '../frame/page-frame.ts';
import { alertPlace, alertTitle, severityTone, severityWord } from '../frame/page-words.ts';
import { alertItem, lasting, mutePills } from './alert-item.ts';

/** One line of the page: a cause with several alerts, or a single alert. */
export type AlertsEntry =
  | { readonly cause: Cause; readonly latest: readonly Omit<ShownAlert, 'lastEvent'>[] }
  | { readonly alert: ShownAlert };

/** `firingTotal`: the number of all firing alerts, whatever the filters. */
export function renderAlertsPage(page: Page, view: ListView<AlertsEntry>, firingTotal: number): Html {
  const { words } = page;
  const { given } = view;
  return listPage(page, view, {
    ...{ section: 'alerts', title: words.frame.alerts, lead: words.alerts.firing(firingTotal) },
    ...{ json: 'api/v1/alerts', usual: { state: 'firing' } },
    fields: fieldsOf(page, view.regions),
    list: (entries) =>
      html`<h2 class="heard">${words.frame.alerts}</h2><ul class="sheet">${entries.map((entry) => entryItem(page, entry, given))}</ul>`,
    none: firingTotal === 0 && !isNarrowed(given) ? words.alerts.none : words.list.nothing,
  });
}

function fieldsOf(page: Page, regions: readonly string[]): FilterField[] {
  const { words } = page;
  const yesOrNo = [
    { value: 'true', text: words.list.yes },
    { value: 'false', text: words.list.no },
  ];
  return [
    {
      name: 'state',
      label: words.alerts.state,
      any: words.alerts.stateFiring,
      choices: [{ value: 'resolved', text: words.alerts.stateResolved }],
    },
    regionField(page, regions),
    ...alertFields(page),
    { name: 'acknowledged', label: words.alerts.acknowledged, choices: yesOrNo },
    { name: 'silenced', label: words.alerts.silenced, choices: yesOrNo },
    ...(['nest', 'bird', 'flight', 'text', 'since', 'until'] as const).map((name) => filterField(page, name)),
  ];
}

function entryItem(page: Page, entry: AlertsEntry, given: URLSearchParams): Html {
  return 'alert' in entry ? alertItem(page, entry.alert) : causeItem(page, entry, given);
}

function causeItem(
  page: Page,
  { cause, latest }: Extract<AlertsEntry, { readonly cause: Cause }>,
  given: URLSearchParams,
): Html {
  const { root, words } = page;
  const severity = severityWord(words, cause.severity);
  const tone = cause.isAcknowledged ? 'quiet' : severityTone(cause.severity);
  const query = new URLSearchParams(given);
  query.delete('cursor');
  query.set('name', cause.alertname);
  query.set('severity', cause.severity);
  query.set('acknowledged', String(cause.isAcknowledged));
  query.set('cause', cause.cause);
  const places = latest.map(
    (one) => html`<li id="alert-${fingerprint(one.alert.labels)}">
<a href="${root}${alertPath(one.alert.id)}">${where(page, one.alert.labels.region ?? '', alertPlace(one.alert.labels))}</a>
${one.silencedBy.some(({ alertId }) => alertId === null) || one.isInhibited ? mutePills(page, one) : ''}</li>`,
  );
  return html`<li class="alert ${tone}">
<div class="row"><div><h3>${cause.alerts} × ${alertTitle(words, cause.alertname)}</h3> <span class="pill ${tone}">${severity}</span>
${cause.isAcknowledged ? html`<span class="pill quiet">${words.alerts.acknowledged}</span>` : ''}</div>
<span class="small soft">${lasting(page, cause.firstStartsAtUs)}</span></div>
${messageLine(cause.cause)}
<ul class="places">${places}</ul>
<p class="actions"><a class="button" href="?${query}">${words.alerts.each(cause.alerts)}</a></p>
</li>`;
}

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
