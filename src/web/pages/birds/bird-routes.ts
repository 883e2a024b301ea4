/** Serves the pages of Birds, Flights and Nests. */

import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { isPublicNest, type WebConfig } from '../../../config/sections/web-section.ts';
import type { ServiceLinks } from '../../../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../../../domain/alert/flight-step.ts';
import { idOfPath } from '../../../http/page-path.ts';
import { showBirds } from '../../../operator/acknowledged-birds.ts';
import { readBirdReport } from '../../../operator/bird-report.ts';
import { readFlightReport } from '../../../operator/flight-report.ts';
import type { Store } from '../../../store/store.ts';
import type { Clock } from '../../../time/clock.ts';
import type { DeliveryMessages } from '../../delivery-messages.ts';
import { readBirdQuery, readNestQuery } from '../../requests/read-birds.ts';
import { birdPlace, flightPlace } from '../../service-place.ts';
import type { StatusView } from '../../status-view.ts';
import { problemOf } from '../frame/form.ts';
import { type Page, pageOf } from '../frame/page.ts';
import { frame, type Html, heading } from '../frame/page-frame.ts';
import { renderBirdPage } from './bird-page.ts';
import { type ListView, renderBirdsPage, renderNestsPage } from './birds-page.ts';
import { renderFlightPage } from './flight-page.ts';

interface Options {
  readonly config: Pick<WebConfig, 'publicStatus'>;
  readonly store: Store;
  readonly status: () => StatusView;
  readonly clock: Clock;
  readonly serviceLinks: ServiceLinks;
  readonly messages: DeliveryMessages;
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
}

const LISTED = 50;

export function addBirdPages(pages: Hono, options: Options): void {
  const { store, status, clock, serviceLinks, messages } = options;
  const { publicStatus } = options.config;
  const isPublic = (nest: string, nestId: string) =>
    !!publicStatus && isPublicNest(publicStatus, nest, nestId);
  const regionsOf = () => status().regions.map(({ region }) => region);

  async function list<Item>(
    c: Context,
    read: (given: URLSearchParams, asked: Asked) => Promise<{ items: readonly Item[]; next?: string }>,
    render: (page: Page, view: ListView<Item>) => Html,
  ): Promise<Response> {
    const page = pageOf(c, clock);
    const given = new URL(c.req.url).searchParams;
    const regions = regionsOf();
    let found: { items: readonly Item[]; next?: string } = { items: [] };
    const problem = await problemOf(c.get('words'), async () => {
      found = await read(given, { regions, nowUs: page.nowUs, limit: LISTED });
    });
    const view = { given, regions, items: found.items, next: found.next, problem };
    return c.html(render(page, view), problem ? 400 : 200);
  }

  pages.get('/birds', (c) =>
    list(
      c,
      async (given, asked) => {
        const query = readBirdQuery(given, asked);
        return store.transaction(async (tx) => {
          const { birds, ...rest } = await tx.birds.page(query);
          return { items: await showBirds(tx, birds, asked.nowUs), ...rest };
        });
      },
      renderBirdsPage,
    ),
  );

  pages.get('/nests', (c) =>
    list(
      c,
      async (given, asked) => {
        const query = readNestQuery(given, asked);
        const { nests, ...rest } = await store.transaction((tx) => tx.birds.nestPage(query));
        return { items: nests, ...rest };
      },
      (page, view) => renderNestsPage(page, view, isPublic),
    ),
  );

  pages.get('/birds/*', async (c) => {
    const page = pageOf(c, clock);
    const thing = thingOf(c, 'birds', regionsOf());
    const report = thing && (await readBirdReport(store, thing.region, thing.id, page.nowUs));
    if (report) return c.html(renderBirdPage(page, report, serviceLinks(birdPlace(report.bird)).bird));
    return c.html(unknown(page, page.words.birds.unknown, page.words.birds.unknownLead), 404);
  });

  pages.get('/flights/*', async (c) => {
    const page = pageOf(c, clock);
    const thing = thingOf(c, 'flights', regionsOf());
    const report = thing && (await store.transaction((tx) => readFlightReport(tx, thing.region, thing.id)));
    const isAsked = report !== undefined && c.req.query('log') !== undefined;
    const log = isAsked ? await options.flightLog(report.flight) : undefined;
    if (report)
      return c.html(
        renderFlightPage(page, report, {
          address: serviceLinks(flightPlace(report.flight)).flight,
          log,
          nameOf: messages.nameOf,
        }),
      );
    return c.html(unknown(page, page.words.flight.unknown, page.words.flight.unknownLead), 404);
  });
}

interface Asked {
  readonly regions: readonly string[];
  readonly nowUs: number;
  readonly limit: number;
}

/** What `/birds/{region}/{id}` names. An id may contain slashes, which a proxy may have decoded. */
function thingOf(
  c: Context,
  folder: string,
  regions: readonly string[],
): { readonly region: string; readonly id: string } | undefined {
  const [, region, path] = /^([^/]+)\/(.+)$/.exec(new URL(c.req.url).pathname.slice(folder.length + 2)) ?? [];
  const id = path === undefined ? undefined : idOfPath(path);
  return region !== undefined && regions.includes(region) && id ? { region, id } : undefined;
}

function unknown(page: Page, title: string, lead: string): Html {
  return frame({
    title: `nestwatch: ${title}`,
    tone: 'quiet',
    page,
    section: 'birds',
    body: html`${heading(page, { title, lead })}
<main id="main"><p><a class="button" href="${page.root}birds">${page.words.frame.birds}</a></p></main>`,
  });
}
