/** Serves Birds and Flights in the JSON API. */
import type { Hono } from 'hono';
import type { ListedBird } from '../../domain/kinds/inventory/compare-birds.ts';
import { readBirdReport, readFlightReport } from '../../operator/bird-report.ts';
import { readListedBirds } from '../../store/read-history.ts';
import { oneOf, readQuery } from '../requests/query.ts';
import type { ApiOptions } from '../web-options.ts';
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
