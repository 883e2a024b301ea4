/**
 * Serves the JSON API: what the store and the stages know, in snake_case. It only reads, except that it can retry
 * dead deliveries, acknowledge, resolve or annotate alerts, and take wishes to start Birds again.
 */
import { Hono } from 'hono';
import * as z from 'zod';
import { wireText } from '../../domain/alert/event.ts';
import { isStoreFailure } from '../../errors.ts';
import type { Signature } from '../../operator/act-on-alerts.ts';
import { alertOf, findReference } from '../../operator/find-reference.ts';
import { countFiring } from '../../operator/read-alerts.ts';
import { type ReplicaView, readReplicas } from '../../operator/read-replicas.ts';
import type { RegionProgress } from '../../region-progress.ts';
import type { DeliveryState } from '../../store/outbox-store.ts';
import type { Transaction } from '../../store/store.ts';
import { formatInstant } from '../../time/instant.ts';
import { signedBy } from '../access/identify.ts';
import { readBody, readQuery } from '../requests/query.ts';
import { signatureShape } from '../requests/silence-request.ts';
import { type ApiOptions, type ConfigurationView, reasonOf, sinceOf, stateOf } from '../web-options.ts';
import { faultJson, healthJson, instantJson, noteJson } from './alert-json.ts';
import { addThings } from './things-api.ts';

export function createApi(options: ApiOptions): Hono {
  const api = new Hono();
  for (const add of [addHealth, addStream, addStatus, addThings, addActs, addNote, addActions, addRetry])
    add(api, options);
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
    // Unknown while the store does not answer, which is not the same as none.
    const unknown = { replicas: null, alerts: null, deliveries: null, set_aside: null };
    return c.json({
      version: view.version,
      started_at: formatInstant(view.startedAtUs),
      configuration: configurationJson(view.configuration),
      health: healthJson(answer, counts?.waiting ?? null),
      regions: view.regions.map(regionJson),
      ...(counts === null
        ? unknown
        : {
            replicas: counts.replicas.map((one) => replicaJson(one, view.replica)),
            alerts: counts.alerts.map(({ alertname, severity, state, count }) => ({
              alertname,
              severity,
              state,
              count,
            })),
            deliveries: deliveriesJson(counts.deliveries),
            set_aside: counts.setAside.map(faultJson),
          }),
    });
  });
}

/** How many there are of each state, by receiver. */
function deliveriesJson(
  counts: readonly { receiver: string; state: DeliveryState; count: number }[],
): Record<string, Partial<Record<DeliveryState, number>>> {
  const byReceiver = [...Map.groupBy(counts, ({ receiver }) => receiver)];
  const countsOf = (all: typeof counts) => Object.fromEntries(all.map(({ state, count }) => [state, count]));
  return Object.fromEntries(byReceiver.map(([receiver, all]) => [receiver, countsOf(all)]));
}

async function countWaiting(tx: Transaction, { muting, clock }: ApiOptions) {
  const nowUs = clock.nowUs();
  return countFiring(tx, await muting(tx, nowUs), nowUs);
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

/** Each alert separately, so that one that has ended meanwhile does not affect the others. `act` says why it is refused. */
function addSigned<Done extends object>(
  api: Hono,
  path: string,
  key: string,
  act: (id: string, by: Signature) => Promise<Done | string>,
): void {
  api.post(path, async (c) => {
    const { ids, author, comment } = readBody(await c.req.text(), signedShape, SIGNED_EXPECTED);
    const by = { createdBy: signedBy(c.get('identity'), author), comment };
    const done: Done[] = [];
    const refused: { id: string; error: string }[] = [];
    for (const id of new Set(ids)) {
      const result = await act(id, by);
      if (typeof result === 'string') refused.push({ id, error: result });
      else done.push({ id, ...result });
    }
    return c.json({ [key]: done, refused });
  });
}

function addActs(api: Hono, { silenceEditor, alertResolver }: ApiOptions): void {
  addSigned(api, '/alerts/acknowledge', 'acknowledged', async (id, by) => {
    const result = await silenceEditor.acknowledge([{ id }], by);
    return result.ok ? { silence_id: result.id } : result.message;
  });
  addSigned(api, '/alerts/resolve', 'resolved', async (id, by) => {
    const result = await alertResolver.resolve(id, by);
    return result.ok ? { ends_at: formatInstant(result.alert.endsAtUs) } : result.message;
  });
}

/** The alert may be named by any id that `/alerts/{id}` takes. */
function addNote(api: Hono, { store, regions, noteWriter }: ApiOptions): void {
  api.post('/alerts/note', async (c) => {
    const body = await c.req.text();
    const { id, author, text, public: isPublic } = readBody(body, noteShape, NOTE_EXPECTED);
    const alertId = await store.transaction(async (tx) => {
      const meant = (await tx.alerts.find(id)) ? undefined : await findReference(tx, id, regions());
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

function addRetry(api: Hono, { store, clock, changed }: ApiOptions): void {
  api.post('/deliveries/retry', async (c) => {
    const { ids } = readBody(await c.req.text(), idsShape, '{"ids": ["…"]} with 1 to 1000 ids of deliveries');
    const retried = await store.transaction((tx) => tx.outbox.redrive(ids, clock.nowUs()));
    if (retried.length > 0) changed();
    return c.json({ retried });
  });
}

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

const SIGNED_EXPECTED =
  '{"ids": ["…"], "author": "…", "comment": "…"} with 1 to 1000 ids of alerts; only the comment may be missing';

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
    since: instantJson(sinceOf(view)),
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
