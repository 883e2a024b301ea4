/**
 * Serves the JSON API: what the store and the stages know, in snake_case. It only reads, except that it can retry
 * dead deliveries, acknowledge, resolve or annotate alerts, and take wishes to start Birds again.
 */
import { Hono } from 'hono';
import * as z from 'zod';
import { type Event, wireText } from '../../domain/alert/event.ts';
import type { Notification } from '../../domain/grouping/notification.ts';
import { isStoreFailure } from '../../errors.ts';
import { explain } from '../../operator/explain.ts';
import { alertOf, findReference, newestEventOf } from '../../operator/find-reference.ts';
import { countFiring } from '../../operator/read-alerts.ts';
import { type ReplicaView, readReplicas } from '../../operator/read-replicas.ts';
import type { RegionProgress } from '../../region-progress.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { DeliveryState } from '../../store/outbox-store.ts';
import type { Transaction } from '../../store/store.ts';
import { formatInstant } from '../../time/instant.ts';
import { signedBy } from '../access/identify.ts';
import { readBody, readQuery, refuse } from '../requests/query.ts';
import { signatureShape } from '../requests/silence-request.ts';
import { type ApiOptions, type ConfigurationView, reasonOf, stateOf } from '../web-options.ts';
import { deliveryJson, explanationJson, faultJson, healthJson, instantJson, noteJson } from './alert-json.ts';
import { addAlerts } from './alerts-api.ts';
import { addBird, addFlight, addInventory } from './birds-api.ts';
import { addLists } from './lists-api.ts';

export function createApi(options: ApiOptions): Hono {
  const api = new Hono();
  for (const add of ROUTES) add(api, options);
  return api;
}

/** The most faults listed. */
const SHOWN_FAULTS = 100;

function addHealth(api: Hono, options: ApiOptions): void {
  api.get('/health', async (c) => {
    readQuery(search(c.req.url), []);
    const read = (tx: Transaction) => countWaiting(tx, options);
    return c.json(healthJson(await options.impairments(), await unlessFailing(options, read)));
  });
}

/** Server-sent events for open pages. Each event says that something changed. */
function addStream(api: Hono, { push, report }: ApiOptions): void {
  api.get('/stream', (c) => {
    readQuery(search(c.req.url), []);
    // A connection kept alive would delay the end of the process.
    const headers = { 'content-type': 'text/event-stream', connection: 'close', 'x-accel-buffering': 'no' };
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const events = push.open();
    if (events) return c.body(events, 200, headers);
    report({ what: 'limit_reached', limit: 'stream_clients' });
    return c.json({ error: 'Too many follow already: ask for what you want to know now and then.' }, 503);
  });
}

function addStatus(api: Hono, options: ApiOptions): void {
  const { status, impairments, clock } = options;
  api.get('/status', async (c) => {
    readQuery(search(c.req.url), []);
    const view = status();
    const answer = await impairments();
    const counts = await unlessFailing(options, async (tx) => ({
      waiting: await countWaiting(tx, options),
      alerts: await tx.alerts.count(),
      deliveries: await tx.outbox.count(),
      setAside: await tx.faults.list(clock.nowUs(), SHOWN_FAULTS),
      replicas: await readReplicas(tx),
    }));
    return c.json({
      version: view.version,
      started_at: formatInstant(view.startedAtUs),
      configuration: configurationJson(view.configuration),
      health: healthJson(answer, counts?.waiting ?? null),
      regions: view.regions.map(regionJson),
      replicas: (counts?.replicas ?? []).map((one) => replicaJson(one, view.replica)),
      alerts: (counts?.alerts ?? []).map(({ alertname, severity, state, count }) => ({
        alertname,
        severity,
        state,
        count,
      })),
      deliveries: countsByReceiver(counts?.deliveries ?? []),
      set_aside: (counts?.setAside ?? []).map(faultJson),
    });
  });
}

async function countWaiting(tx: Transaction, { alerting, recurrences, clock }: ApiOptions) {
  const nowUs = clock.nowUs();
  return countFiring(tx, await loadMuting(tx, alerting, recurrences, nowUs), nowUs);
}

/** Null while the store does not answer, since that is when these answers are needed most. */
async function unlessFailing<T>(
  { store, report }: ApiOptions,
  read: (tx: Transaction) => Promise<T>,
): Promise<T | null> {
  try {
    return await store.transaction(read);
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    report({ what: 'trouble', stage: 'store', error });
    return null;
  }
}

/** Each alert separately, so that one that has ended meanwhile does not affect the others. */
function addAcknowledge(api: Hono, { silenceEditor }: ApiOptions): void {
  api.post('/alerts/acknowledge', async (c) => {
    const { ids, author: typed, comment } = readSigned(await c.req.text());
    const author = signedBy(c.get('identity'), typed);
    const acknowledged: { id: string; silence_id: string }[] = [];
    const refused: { id: string; error: string }[] = [];
    for (const id of new Set(ids)) {
      const result = await silenceEditor.acknowledge([{ id }], { createdBy: author, comment });
      if (result.ok) acknowledged.push({ id, silence_id: result.id });
      else refused.push({ id, error: result.message });
    }
    return c.json({ acknowledged, refused });
  });
}

function addResolve(api: Hono, { alertResolver }: ApiOptions): void {
  api.post('/alerts/resolve', async (c) => {
    const { ids, author: typed, comment } = readSigned(await c.req.text());
    const author = signedBy(c.get('identity'), typed);
    const resolved: { id: string; ends_at: string }[] = [];
    const refused: { id: string; error: string }[] = [];
    for (const id of new Set(ids)) {
      const result = await alertResolver.resolve(id, { createdBy: author, comment });
      if (result.ok) resolved.push({ id, ends_at: formatInstant(result.alert.endsAtUs) });
      else refused.push({ id, error: result.message });
    }
    return c.json({ resolved, refused });
  });
}

/** The alert may be named by any id that `/alerts/{id}` takes. */
function addNote(api: Hono, { store, status, noteWriter }: ApiOptions): void {
  api.post('/alerts/note', async (c) => {
    const body = await c.req.text();
    const { id, author, text, public: isPublic } = readBody(body, noteShape, NOTE_EXPECTED);
    const regions = status().regions.map(({ region }) => region);
    const alertId = await store.transaction(async (tx) => {
      const meant = (await tx.alerts.find(id)) ? undefined : await findReference(tx, id, regions);
      return (meant && (await alertOf(tx, meant))) ?? id;
    });
    const written = { author: signedBy(c.get('identity'), author), text, isPublic };
    const result = await noteWriter.add(alertId, written);
    if (!result.ok) return c.json({ error: result.message }, result.problem === 'not_found' ? 404 : 400);
    return c.json({ alert_id: alertId, ...noteJson(result.note) });
  });
}

/** Loaded when it is asked for: most daemons start no Birds. */
function addActions(api: Hono, options: ApiOptions): void {
  const load = () => import('./actions-api.ts');
  api.post('/birds/:region/:id/fly', async (c) => (await load()).takeWish(c, options));
  api.get('/actions/:id', async (c) => (await load()).showAction(c, options));
  api.post('/actions/pause', async (c) => (await load()).pauseRules(c, options, true));
  api.post('/actions/resume', async (c) => (await load()).pauseRules(c, options, false));
}

function addDelivery(api: Hono, { store, messages }: ApiOptions): void {
  api.get('/deliveries/:id', async (c) => {
    readQuery(search(c.req.url), []);
    const id = c.req.param('id');
    const found = await store.transaction((tx) => tx.outbox.find(id));
    if (!found) return c.json({ error: `No delivery with the id ${id} is kept.` }, 404);
    const { delivery, notification } = found;
    return c.json({
      ...deliveryJson(delivery, messages.nameOf),
      refused_by: delivery.refusedBy ?? '',
      remaining: delivery.remaining ?? null,
      kind: notification.kind,
      alerts: notification.kind === 'group' ? notification.alerts.map((alert) => alert.id) : [],
      events: eventsOf(notification).map(({ key }) => key),
      message: (await messages.messageOf(found)) ?? null,
    });
  });
}

/** The events listed in a notification. */
function eventsOf(notification: Notification): readonly Event[] {
  if (notification.kind === 'forward') return notification.events;
  return notification.kind === 'group' ? notification.alerts.flatMap(({ events }) => events) : [];
}

function addRetry(api: Hono, { store, clock, changed }: ApiOptions): void {
  api.post('/deliveries/retry', async (c) => {
    const { ids } = readBody(await c.req.text(), idsShape, '{"ids": ["…"]} with 1 to 1000 ids of deliveries');
    const retried = await store.transaction((tx) => tx.outbox.redrive(ids, clock.nowUs()));
    if (retried.length > 0) changed();
    return c.json({ retried });
  });
}

/**
 * A key contains slashes, which a client may or may not have encoded. Instead of a key, a short id, the id of an
 * alert, Bird, Flight, delivery or silence, what other programs call an alert (`find-reference.ts`), or a link to a page
 * may be given. Then the newest event of that is explained.
 */
function addExplain(
  api: Hono,
  { store, status, alerting, recurrences, messages, clock, externalUrl }: ApiOptions,
): void {
  api.get('/events/*', async (c) => {
    const { pathname } = new URL(c.req.url);
    const encoded = /\/events\/(.+)\/explain$/.exec(pathname)?.[1];
    if (encoded === undefined) return c.notFound();
    const text = decodeKey(encoded);
    const nowUs = clock.nowUs();
    const regions = status().regions.map(({ region }) => region);
    const { meant, explanation } = await store.transaction(async (tx) => {
      const meant = await findReference(tx, text, regions);
      const key = meant && (await newestEventOf(tx, meant));
      if (key === undefined) return { meant, explanation: undefined };
      const muting = await loadMuting(tx, alerting, recurrences, nowUs);
      return { meant, explanation: await explain(tx, key, alerting, muting, nowUs) };
    });
    if (!explanation) {
      const error = meant
        ? `No event of this ${meant.kind} is kept: ${text}.`
        : `Nothing is kept under ${text}, no event, alert, Bird, Flight, delivery or silence.`;
      return c.json({ error, ...(meant && { meant }) }, 404);
    }
    return c.json(explanationJson(explanation, alerting.rules, externalUrl, messages.nameOf));
  });
}

const ROUTES = [
  addHealth,
  addStream,
  addStatus,
  addLists,
  addAlerts,
  addAcknowledge,
  addResolve,
  addNote,
  addBird,
  addActions,
  addFlight,
  addInventory,
  addDelivery,
  addRetry,
  addExplain,
];

function search(url: string): URLSearchParams {
  return new URL(url).searchParams;
}

const idsShape = z.object({ ids: z.array(z.string().max(500)).min(1).max(1_000) });
const signedShape = idsShape.extend(signatureShape.shape);

const noteShape = z.object({
  id: z.string().max(500),
  author: signedShape.shape.author,
  text: z.string().transform(wireText),
  public: z.boolean().default(false),
});
const NOTE_EXPECTED =
  '{"id": "…", "author": "…", "text": "…", "public": false} with an id of an alert; only `public` may be missing';

function readSigned(body: string): z.output<typeof signedShape> {
  return readBody(
    body,
    signedShape,
    '{"ids": ["…"], "author": "…", "comment": "…"} with 1 to 1000 ids of alerts; only the comment may be missing',
  );
}

function decodeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    throw refuse('the key is not encoded as an address is');
  }
}

export function configurationJson({ readAtUs, triedAtUs, mistakes, needsRestart }: ConfigurationView) {
  return {
    read_at: formatInstant(readAtUs),
    tried_at: instantJson(triedAtUs),
    mistakes: mistakes.map(wireText),
    needs_restart: needsRestart,
  };
}

export function regionJson(view: RegionProgress) {
  return {
    region: view.region,
    health: stateOf(view),
    reason: reasonOf(view),
    since: instantJson(view.health.sinceUs),
    requests_per_second: view.requestsPerSecond,
    nests: view.nests,
    birds: view.birds,
    audits_behind_seconds: view.auditsBehindMs / 1000,
    reads: view.reads.map(({ feed, streams, overdue, oldestReadUs }) => ({
      feed,
      streams,
      overdue,
      oldest_read: instantJson(oldestReadUs),
    })),
    feeds: view.feeds.map((feed) => ({
      feed: feed.feed,
      cursor: instantJson(feed.cursorUs),
      last_success: instantJson(feed.lastSuccessUs),
      streams: feed.streams,
      open_flights: feed.openFlights,
      verified_until: instantJson(feed.verifiedUntilUs),
    })),
  };
}

/** Instants are on the store's clock. `own` is the replica that answers. */
export function replicaJson(
  { replica, name, version, startedUs, state, isAlerting, regions }: ReplicaView,
  own: number | undefined,
) {
  return {
    replica,
    name: wireText(name),
    own: replica === own,
    version: wireText(version),
    started_at: formatInstant(startedUs),
    state,
    alerting: isAlerting,
    regions: regions.map(({ region, epoch, sinceUs }) => ({ region, epoch, since: formatInstant(sinceUs) })),
  };
}

function countsByReceiver(
  counts: readonly { receiver: string; state: DeliveryState; count: number }[],
): Record<string, Partial<Record<DeliveryState, number>>> {
  const byReceiver = new Map<string, Partial<Record<DeliveryState, number>>>();
  for (const { receiver, state, count } of counts) {
    byReceiver.set(receiver, { ...byReceiver.get(receiver), [state]: count });
  }
  return Object.fromEntries(byReceiver);
}
