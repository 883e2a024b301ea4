/** Serves Birds, Flights and Nests in the JSON API: in pages, and each separately with everything known about it. */
import type { Hono } from 'hono';
import type { ServiceLinks } from '../../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../../domain/alert/flight-step.ts';
import { readBirdReport } from '../../operator/bird-report.ts';
import { readFlightReport } from '../../operator/flight-report.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import type { DeliveryMessages } from '../delivery-messages.ts';
import { oneOf, readQuery } from '../requests/query.ts';
import { readBirdQuery, readFlightQuery, readNestQuery } from '../requests/read-birds.ts';
import type { StatusView } from '../status-view.ts';
import {
  birdJson,
  birdReportJson,
  flightJson,
  flightLogJson,
  flightReportJson,
  nestJson,
} from './bird-json.ts';

interface BirdsOptions {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly clock: Clock;
  readonly externalUrl: string;
  readonly serviceLinks: ServiceLinks;
  readonly messages: DeliveryMessages;
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
}

/** The default limit of Birds is high. */
const BIRDS = 1_000;
const OTHERS = 100;

export function addBirds(api: Hono, options: BirdsOptions): void {
  const { store, clock, externalUrl, serviceLinks } = options;
  api.get('/birds', async (c) => {
    const query = readBirdQuery(new URL(c.req.url).searchParams, asked(options, BIRDS));
    const { birds, next } = await store.transaction((tx) => tx.birds.page(query));
    return c.json({
      birds: birds.map((bird) => birdJson(bird, serviceLinks)),
      ...(next !== undefined && { next }),
    });
  });
  api.get('/birds/:region/:id', async (c) => {
    readQuery(new URL(c.req.url).searchParams, []);
    const { region, id } = c.req.param();
    const report = isWatched(options, region)
      ? await readBirdReport(store, region, id, clock.nowUs())
      : undefined;
    if (!report) return c.json({ error: 'No such Bird is known; /api/v1/birds lists them.' }, 404);
    return c.json(birdReportJson(report, externalUrl, serviceLinks));
  });
}

export function addFlights(api: Hono, options: BirdsOptions): void {
  const { store, externalUrl, serviceLinks, flightLog, messages } = options;
  api.get('/flights', async (c) => {
    const query = readFlightQuery(new URL(c.req.url).searchParams, asked(options, OTHERS));
    const { flights, next } = await store.transaction((tx) => tx.birds.flightPage(query));
    return c.json({
      flights: flights.map((flight) => flightJson(flight, serviceLinks)),
      ...(next !== undefined && { next }),
    });
  });
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

export function addNests(api: Hono, options: BirdsOptions): void {
  api.get('/nests', async (c) => {
    const query = readNestQuery(new URL(c.req.url).searchParams, asked(options, OTHERS));
    const { nests, next } = await options.store.transaction((tx) => tx.birds.nestPage(query));
    return c.json({
      nests: nests.map((nest) => nestJson(nest, options.serviceLinks)),
      ...(next !== undefined && { next }),
    });
  });
}

function asked({ status, clock }: BirdsOptions, limit: number) {
  return { regions: status().regions.map((one) => one.region), nowUs: clock.nowUs(), limit };
}

function isWatched({ status }: BirdsOptions, region: string): boolean {
  return status().regions.some((one) => one.region === region);
}
