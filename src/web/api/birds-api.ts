/** Serves Birds and Flights in the JSON API, and takes wishes to start Birds again. */
import type { Hono } from 'hono';
import * as z from 'zod';
import { wireText } from '../../domain/alert/event.ts';
import type { ListedBird } from '../../domain/kinds/inventory/compare-birds.ts';
import { askToFly } from '../../operator/ask-to-fly.ts';
import { readBirdReport, readFlightReport } from '../../operator/bird-report.ts';
import { readListedBirds } from '../../store/read-history.ts';
import { isLogin, signedBy } from '../access/identify.ts';
import { oneOf, readQuery, refuse } from '../requests/query.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../requests/silence-request.ts';
import type { ApiOptions } from '../web-options.ts';
import { actionJson } from './alert-json.ts';
import { birdReportJson, flightLogJson, flightReportJson } from './bird-json.ts';

export function addBird(api: Hono, options: ApiOptions): void {
  const { store, clock, alerting, externalUrl, serviceLinks } = options;
  api.get('/birds/:region/:id', async (c) => {
    readQuery(new URL(c.req.url).searchParams, []);
    const { region, id } = c.req.param();
    const report = isWatched(options, region)
      ? await readBirdReport(store, region, id, alerting, clock.nowUs())
      : undefined;
    if (!report) return c.json({ error: 'No such Bird is known; /api/v1/birds lists them.' }, 404);
    return c.json(birdReportJson(report, externalUrl, serviceLinks));
  });
}

export function addFlight(api: Hono, options: ApiOptions): void {
  const { store, externalUrl, serviceLinks, flightLog, messages } = options;
  api.get('/flights/:region/:id', async (c) => {
    const given = readQuery(new URL(c.req.url).searchParams, ['log']);
    const isLogAsked = oneOf('log', given.log, ['true', 'false']) === 'true';
    const { region, id } = c.req.param();
    const report = isWatched(options, region)
      ? await store.transaction((tx) => readFlightReport(tx, region, id))
      : undefined;
    if (!report) return c.json({ error: 'No such Flight is stored; /api/v1/flights lists them.' }, 404);
    const log = isLogAsked ? flightLogJson(await flightLog(report.flight)) : undefined;
    return c.json({
      ...flightReportJson(report, externalUrl, serviceLinks, messages.nameOf),
      ...(log && { log }),
    });
  });
}

/** All Birds in one answer: a list in pages may lack one that moves from page to page meanwhile. */
export function addInventory(api: Hono, { store, status }: ApiOptions): void {
  api.get('/inventory', async (c) => {
    readQuery(new URL(c.req.url).searchParams, []);
    const regions = status().regions.map(({ region, started }) => ({ region, is_read: started }));
    const birds = await store.transaction(async (tx) => {
      const listed: ListedBird[] = [];
      for (const { region } of regions) listed.push(...(await readListedBirds(tx, region)));
      return listed;
    });
    return c.json({ regions, birds: birds.map(({ nestId, ...bird }) => ({ ...bird, nest_id: nestId })) });
  });
}

function isWatched({ status }: ApiOptions, region: string): boolean {
  return status().regions.some((one) => one.region === region);
}

const wishShape = z.object({
  author: z.string().trim().min(1).max(MAX_AUTHOR_LENGTH).transform(wireText),
  comment: z.string().trim().max(MAX_COMMENT_LENGTH).default('').transform(wireText),
  flight: z.string().max(500).default(''),
  id: z.uuid().optional(),
});

const EXPECTED =
  'the body must be {"author": "…", "comment": "…", "flight": "…", "id": "…"}: only the author is required; the id, a UUID, is the same for each try of one wish';

export function addActions(api: Hono, options: ApiOptions): void {
  const { store, clock, alerting, act, newId } = options;
  api.post('/birds/:region/:id/fly', async (c) => {
    const { region, id: birdId } = c.req.param();
    const { success, data } = wishShape.safeParse(jsonIn(await c.req.text()));
    if (!success) throw refuse(EXPECTED);
    const { author, comment, flight: failedFlightId, id = newId() } = data;
    const identity = c.get('identity');
    const who = { by: signedBy(identity, author), isLoggedIn: isLogin(identity) };
    const wish = { id, region, birdId, failedFlightId, ...who, comment };
    const taken = await askToFly(store, alerting, wish, clock.nowUs());
    if (!taken.ok) return c.json({ error: taken.message }, taken.status);
    act(region);
    return c.json({ action: actionJson(taken.action) }, 202);
  });

  api.get('/actions/:id', async (c) => {
    readQuery(new URL(c.req.url).searchParams, []);
    const action = await store.transaction((tx) => tx.actions.find(c.req.param('id')));
    return action
      ? c.json({ action: actionJson(action) })
      : c.json({ error: 'No such action is stored.' }, 404);
  });
}

const pauseShape = z.object({ author: wishShape.shape.author });

/** Rules of `actions` only: what people want is done all the same. */
export function addPausing(api: Hono, { store, clock, changed }: ApiOptions): void {
  for (const what of ['pause', 'resume'] as const) {
    api.post(`/actions/${what}`, async (c) => {
      const { success, data } = pauseShape.safeParse(jsonIn(await c.req.text()));
      if (!success) throw refuse('the body must be {"author": "…"}');
      const by = signedBy(c.get('identity'), data.author);
      const pause = what === 'pause' ? { atUs: clock.nowUs(), by } : undefined;
      await store.transaction((tx) => tx.actions.putPause(pause));
      changed();
      return c.json({ paused: pause !== undefined });
    });
  }
}

/** Undefined for what is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
