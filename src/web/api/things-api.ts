/** Serves what is known in the JSON API: the lists, in pages, and each thing in them with everything known about it. */
import type { Context, Hono } from 'hono';
import type { Alert, AlertState } from '../../domain/alert/alert.ts';
import { type Event, eventJson, wireText } from '../../domain/alert/event.ts';
import type { Notification } from '../../domain/grouping/notification.ts';
import type { ListedBird } from '../../domain/kinds/inventory/compare-birds.ts';
import { idOfPath } from '../../http/page-path.ts';
import { readAlertRecord } from '../../operator/alert-record.ts';
import { readBirdReport, readFlightReport } from '../../operator/bird-report.ts';
import { explainMeant } from '../../operator/explain.ts';
import { alertOf, findReference } from '../../operator/find-reference.ts';
import type { ListName } from '../../operator/lists.ts';
import { readAlerts } from '../../operator/read-alerts.ts';
import { readListedBirds } from '../../store/read-history.ts';
import type { Transaction } from '../../store/store.ts';
import { formatInstant } from '../../time/instant.ts';
import { oneOf, readQuery, refuse } from '../requests/query.ts';
import {
  listBirds,
  listDeliveries,
  listEvents,
  listFlights,
  listNests,
  listWrites,
  type ReadList,
  readAlertQuery,
} from '../requests/read-lists.ts';
import type { ApiOptions } from '../web-options.ts';
import { alertJson, deliveryJson, explanationJson, recordJson } from './alert-json.ts';
import {
  birdJson,
  birdReportJson,
  flightJson,
  flightLogJson,
  flightReportJson,
  nestJson,
} from './bird-json.ts';

const DEFAULT_LIMIT = 100;
/** All Birds of most installations. */
const DEFAULT_BIRDS = 1_000;

export function addThings(api: Hono, options: ApiOptions): void {
  addLists(api, options);
  addAlerts(api, options);
  const { store, clock, alerting, externalUrl, serviceLinks, flightLog, messages, muting, regions } = options;

  /** `find` answers undefined for what is not known: `unknown` says so. */
  const add = (
    path: string,
    unknown: string,
    find: (c: Context, id: string, region: string) => Promise<object | undefined>,
  ) =>
    api.get(path, async (c) => {
      const { region = '', id = '' } = c.req.param() as Readonly<Record<string, string>>;
      const found =
        path.includes(':region') && !regions().includes(region) ? undefined : await find(c, id, region);
      return found ? c.json(found) : c.json({ error: unknown.replace('{id}', () => id) }, 404);
    });

  add('/birds/:region/:id', 'No such Bird is known; /api/v1/birds lists them.', async (c, id, region) => {
    readQuery(searchOf(c), []);
    const report = await readBirdReport(store, region, id, alerting, clock.nowUs());
    return report && birdReportJson(report, externalUrl, serviceLinks);
  });

  add(
    '/flights/:region/:id',
    'No such Flight is stored; /api/v1/flights lists them.',
    async (c, id, region) => {
      const given = readQuery(searchOf(c), ['log']);
      const isLogAsked = oneOf('log', given.log, ['true', 'false']) === 'true';
      const report = await store.transaction((tx) => readFlightReport(tx, region, id));
      if (!report) return undefined;
      const log = isLogAsked ? flightLogJson(await flightLog(report.flight)) : undefined;
      return {
        ...flightReportJson(report, externalUrl, serviceLinks, messages.nameOf),
        ...(log && { log }),
      };
    },
  );

  add('/deliveries/:id', 'No delivery with the id {id} is kept.', async (c, id) => {
    readQuery(searchOf(c), []);
    const found = await store.transaction((tx) => tx.outbox.find(id));
    if (!found) return undefined;
    const { delivery, notification } = found;
    return {
      ...deliveryJson(delivery, messages.nameOf),
      refused_by: delivery.refusedBy ?? '',
      remaining: delivery.remaining ?? null,
      kind: notification.kind,
      alerts: notification.kind === 'group' ? notification.alerts.map((alert) => alert.id) : [],
      events: eventsOf(notification).map(({ key }) => key),
      message: (await messages.messageOf(found)) ?? null,
    };
  });

  // All Birds in one answer: a list in pages may lack one that moves from page to page meanwhile.
  api.get('/inventory', async (c) => {
    readQuery(searchOf(c), []);
    const read = options.status().regions.map(({ region, started }) => ({ region, is_read: started }));
    const birds = await store.transaction(async (tx) => {
      const listed: ListedBird[] = [];
      for (const { region } of read) listed.push(...(await readListedBirds(tx, region)));
      return listed;
    });
    return c.json({
      regions: read,
      birds: birds.map(({ nestId, ...bird }) => ({ ...bird, nest_id: nestId })),
    });
  });

  // A key contains slashes, which a client may or may not have encoded.
  api.get('/events/*', async (c) => {
    const encoded = /\/events\/(.+)\/explain$/.exec(new URL(c.req.url).pathname)?.[1];
    if (encoded === undefined) return c.notFound();
    const text = idOfPath(encoded);
    if (text === undefined) throw refuse('the key is not encoded as an address is');
    const nowUs = clock.nowUs();
    const { meant, explanation } = await store.transaction((tx) =>
      explainMeant(tx, text, regions(), alerting, () => muting(tx, nowUs), nowUs),
    );
    if (explanation)
      return c.json(explanationJson(explanation, alerting.rules, externalUrl, messages.nameOf));
    const error = meant
      ? `No event of this ${meant.kind} is kept: ${text}.`
      : `Nothing is kept under ${text}, no event, alert, Bird, Flight, delivery or silence.`;
    return c.json({ error, ...(meant && { meant }) }, 404);
  });
}

function searchOf(c: Context): URLSearchParams {
  return new URL(c.req.url).searchParams;
}

function addLists(api: Hono, { store, clock, serviceLinks, messages, regions }: ApiOptions): void {
  const add = <Item>(name: ListName, read: ReadList<Item>, json: (item: Item) => object) =>
    api.get(`/${name}`, async (c) => {
      const limit = name === 'birds' ? DEFAULT_BIRDS : DEFAULT_LIMIT;
      const list = read(searchOf(c), { regions: regions(), nowUs: clock.nowUs(), limit });
      const { items, next } = await store.transaction(list);
      return c.json({ [name]: items.map(json), ...(next !== undefined && { next }) });
    });
  add('birds', listBirds, (bird) => birdJson(bird, serviceLinks));
  add('flights', listFlights, (flight) => flightJson(flight, serviceLinks));
  add('nests', listNests, (nest) => nestJson(nest, serviceLinks));
  add('events', listEvents, eventJson);
  add('deliveries', listDeliveries, ({ about, aboutMore, ...delivery }) => ({
    ...deliveryJson(delivery, messages.nameOf),
    about: wireText(about),
    about_more: aboutMore,
  }));
  add('writes', listWrites, ({ atUs, ...write }) => ({ at: formatInstant(atUs), ...write }));
}

const ALERT_STATES: readonly AlertState[] = ['firing', 'resolved', 'pending'];

/** The most events of each alert in a list, as in a notification; fewer if the list would have too many in total. */
const MAX_EVENTS = 20;
const MAX_EVENTS_IN_ALL = 200;

function addAlerts(api: Hono, options: ApiOptions): void {
  const { store, alerting, messages, clock, externalUrl, muting, regions } = options;
  api.get('/alerts', async (c) => {
    const context = { regions: regions(), nowUs: clock.nowUs(), limit: DEFAULT_LIMIT };
    const query = readAlertQuery(searchOf(c), context, { states: ALERT_STATES, order: 'newest' });
    const { alerts, next, events } = await store.transaction(async (tx) => {
      const page = await readAlerts(tx, await muting(tx, query.nowUs), query, query.isSilenced);
      return { ...page, events: await newestEvents(tx, page.alerts) };
    });
    const list = alerts.map(({ alert, silencedBy, isInhibited, isAcknowledged }) => {
      const listed = events.get(alert.id) ?? [];
      return {
        ...alertJson(alert, externalUrl),
        events: listed.map(eventJson),
        events_omitted: Math.max(0, alert.eventsTotal - listed.length),
        acknowledged: isAcknowledged,
        silenced: silencedBy.some(({ alertId }) => alertId === null),
        inhibited: isInhibited,
      };
    });
    return c.json({ alerts: list, ...(next !== undefined && { next }) });
  });
  // An id contains slashes, which a client may or may not have encoded.
  api.get('/alerts/*', async (c) => {
    const id = idOfPath(/\/alerts\/(.+)$/.exec(new URL(c.req.url).pathname)?.[1] ?? '');
    if (id === undefined) throw refuse('the id is not encoded as an address is');
    const record = await store.transaction(async (tx) => {
      const muted = await muting(tx, clock.nowUs());
      const known = await readAlertRecord(tx, id, alerting, muted);
      const meant = known ? undefined : await findReference(tx, id, regions());
      const meantId = meant && (await alertOf(tx, meant));
      return known ?? (meantId === undefined ? undefined : readAlertRecord(tx, meantId, alerting, muted));
    });
    if (record) return c.json(recordJson(record, externalUrl, messages.nameOf));
    return c.json({ error: `Nothing is known of an alert with the id ${id}.` }, 404);
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

/** The events listed in a notification. */
function eventsOf(notification: Notification): readonly Event[] {
  if (notification.kind === 'forward') return notification.events;
  return notification.kind === 'group' ? notification.alerts.flatMap(({ events }) => events) : [];
}
