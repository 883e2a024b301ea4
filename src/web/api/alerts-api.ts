/** Serves alerts in the JSON API: a filtered list, and one alert with everything known about it. */
import type { Hono } from 'hono';
import type { Alert, AlertState } from '../../domain/alert/alert.ts';
import { type Event, eventJson } from '../../domain/alert/event.ts';
import { idOfPath } from '../../http/page-path.ts';
import { type AlertRecord, readAlertRecord } from '../../operator/alert-record.ts';
import { alertOf, findReference } from '../../operator/find-reference.ts';
import { readAlerts } from '../../operator/read-alerts.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { Transaction } from '../../store/store.ts';
import { formatInstant } from '../../time/instant.ts';
import { refuse } from '../requests/query.ts';
import { listContext, readAlertQuery } from '../requests/read-lists.ts';
import type { ApiOptions, NameOf } from '../web-options.ts';
import { alertJson, deliveryJson, findingJson, noteJson } from './alert-json.ts';
import { DEFAULT_LIMIT } from './lists-api.ts';

const ALERT_STATES: readonly AlertState[] = ['firing', 'resolved', 'pending'];

/** The most events of each alert in a list, as in a notification; fewer if the list would have too many in total. */
const MAX_EVENTS = 20;
const MAX_EVENTS_IN_ALL = 200;

export function addAlerts(api: Hono, options: ApiOptions): void {
  const { store, status, alerting, recurrences, messages, clock, externalUrl } = options;
  api.get('/alerts', async (c) => {
    const context = listContext(options, DEFAULT_LIMIT);
    const asked = { states: ALERT_STATES, order: 'newest' } as const;
    const query = readAlertQuery(new URL(c.req.url).searchParams, context, asked);
    const { alerts, next, events } = await store.transaction(async (tx) => {
      const muting = await loadMuting(tx, alerting, recurrences, query.nowUs);
      const page = await readAlerts(tx, muting, query, query.isSilenced);
      return { ...page, events: await newestEvents(tx, page.alerts) };
    });
    const list = alerts.map(({ alert, silencedBy, isInhibited }) => ({
      ...alertJson(alert, externalUrl),
      ...listedJson(alert, events.get(alert.id) ?? []),
      acknowledged: silencedBy.some(({ alertId }) => alertId !== null),
      silenced: silencedBy.some(({ alertId }) => alertId === null),
      inhibited: isInhibited,
    }));
    return c.json({ alerts: list, ...(next !== undefined && { next }) });
  });
  // An id contains slashes, which a client may or may not have encoded.
  api.get('/alerts/*', async (c) => {
    const { pathname } = new URL(c.req.url);
    const id = idOfPath(/\/alerts\/(.+)$/.exec(pathname)?.[1] ?? '');
    if (id === undefined) throw refuse('the id is not encoded as an address is');
    const nowUs = clock.nowUs();
    const regions = status().regions.map(({ region }) => region);
    const record = await store.transaction(async (tx) => {
      const muting = await loadMuting(tx, alerting, recurrences, nowUs);
      const known = await readAlertRecord(tx, id, alerting, muting);
      const meant = known ? undefined : await findReference(tx, id, regions);
      const meantId = meant && (await alertOf(tx, meant));
      return known ?? (meantId === undefined ? undefined : readAlertRecord(tx, meantId, alerting, muting));
    });
    if (!record) return c.json({ error: `Nothing is known of an alert with the id ${id}.` }, 404);
    return c.json(recordJson(record, externalUrl, messages.nameOf));
  });
}

/** The newest events of the current or last episode of each alert. */
async function newestEvents(
  tx: Transaction,
  alerts: readonly { readonly alert: Alert }[],
): Promise<ReadonlyMap<string, readonly Event[]>> {
  const each = Math.min(MAX_EVENTS, Math.floor(MAX_EVENTS_IN_ALL / alerts.length));
  const spans = alerts.map(({ alert }) => ({
    alertId: alert.id,
    afterSeq: Math.max(0, alert.lastSeq - alert.eventsTotal),
    lastSeq: alert.lastSeq,
  }));
  return each > 0 ? tx.alerts.eventsOf(spans, each) : new Map();
}

function listedJson({ eventsTotal }: Alert, events: readonly Event[]) {
  return { events: events.map(eventJson), events_omitted: Math.max(0, eventsTotal - events.length) };
}

export function recordJson(record: AlertRecord, externalUrl: string, nameOf: NameOf) {
  const { alert } = record;
  const ofEpisode = record.events.filter(({ seq }) => seq > alert.lastSeq - alert.eventsTotal);
  return {
    ...alertJson(alert, externalUrl),
    events_omitted: Math.max(0, alert.eventsTotal - ofEpisode.length),
    kept: record.isKept,
    ending: alert.ending ?? null,
    silenced_by: record.silencedBy.map(({ id, alertId, createdBy, comment }) => ({
      id,
      acknowledgement: alertId !== null,
      author: createdBy,
      comment,
    })),
    acknowledgements: record.acknowledgements.map(({ createdBy, comment, startsAtUs }) => ({
      ...{ author: createdBy, comment },
      at: formatInstant(startsAtUs),
    })),
    notes: record.notes.map(noteJson),
    inhibited_by: record.inhibitedBy,
    receivers: record.receivers,
    findings: record.findings.map(findingJson),
    events: record.events.map(({ event, seq }) => ({ seq, ...eventJson(event) })),
    episodes: record.episodes.map((one) => ({
      startsAt: formatInstant(one.startsAtUs),
      endsAt: formatInstant(one.endsAtUs),
      ending: one.ending,
      events_total: one.events,
    })),
    notifications: record.notifications.map((one) => ({
      id: one.id,
      receiver: one.receiver,
      reason: one.reason,
      created_at: formatInstant(one.createdAtUs),
      deliveries: one.deliveries.map((delivery) => deliveryJson(delivery, nameOf)),
    })),
    suppressions: record.suppressions.map((one) => ({
      receiver: one.receiver,
      group_key: one.groupKey,
      reason: one.reason,
      detail: one.detail,
      at: formatInstant(one.atUs),
    })),
  };
}
