/** Serves the pages of Birds, Flights and Nests. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { mayFly } from '../../../config/sections/regions-section.ts';
import { isPublicNest } from '../../../config/sections/web-section.ts';
import { successRatio } from '../../../domain/statistics/flight-statistics.ts';
import { idOfPath, publicPath } from '../../../http/page-path.ts';
import {
  readBirdReport,
  readFlightReport,
  type ShownBird,
  showBirds,
} from '../../../operator/bird-report.ts';
import { STATUSES, statusNote } from '../../../operator/lists.ts';
import {
  type BirdOverview,
  type FlightOverview,
  type NestOverview,
  STANDINGS,
} from '../../../store/bird-store.ts';
import { listBirds, listFlights, listNests } from '../../requests/read-lists.ts';
import { birdPlace, flightPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import { selection } from '../frame/filter-form.ts';
import { messageLine } from '../frame/items.ts';
import { addListPage, type Columns, dataTable, type ListView, listPage } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { unknownPage, when } from '../frame/page-frame.ts';
import {
  birdLink,
  birdStatus,
  flightLink,
  flightMarks,
  nestLink,
  percent,
  regionWord,
  standingPill,
  statusWords,
} from '../frame/page-words.ts';
import { renderBirdPage } from './bird-page.ts';
import { renderFlightPage } from './flight-page.ts';

const LISTED = 50;

export function addBirdPages(pages: Hono, options: PagesOptions): void {
  const { store, regions, clock, serviceLinks, messages } = options;
  const { publicStatus } = options.config;
  const isPublic = (nest: string, nestId: string) =>
    !!publicStatus && isPublicNest(publicStatus, nest, nestId);

  addListPage(pages, options, '/birds', {
    limit: LISTED,
    read: (search, context) => {
      const list = listBirds(search, context);
      return async (tx) => {
        const { items, next } = await list(tx);
        return { items: await showBirds(tx, items, context.nowUs), next };
      };
    },
    render: renderBirdsPage,
  });

  addListPage(pages, options, '/nests', {
    limit: LISTED,
    read: listNests,
    render: (page, view) => renderNestsPage(page, view, isPublic),
  });

  addListPage(pages, options, '/flights', { limit: LISTED, read: listFlights, render: renderFlightsPage });

  // Loaded when it is asked for: most daemons start no Birds.
  pages.on(['GET', 'POST'], '/fly', async (c) => (await import('./fly-page.ts')).answerFly(c, options));

  pages.get('/birds/*', async (c) => {
    const page = pageOf(c, clock);
    const { unknown, unknownLead } = page.words.birds;
    const thing = thingOf(c, 'birds', regions());
    const report =
      thing && (await readBirdReport(store, thing.region, thing.id, options.alerting, page.nowUs));
    if (report)
      return c.html(
        renderBirdPage(page, report, {
          address: serviceLinks(birdPlace(report.bird)).bird,
          mayFly: mayFly(options.alerting, report.bird.region),
        }),
      );
    return c.html(unknownPage(page, 'birds', unknown, unknownLead), 404);
  });

  pages.get('/flights/*', async (c) => {
    const page = pageOf(c, clock);
    const { unknown, unknownLead } = page.words.flight;
    const thing = thingOf(c, 'flights', regions());
    const report = thing && (await store.transaction((tx) => readFlightReport(tx, thing.region, thing.id)));
    const isAsked = report !== undefined && c.req.query('log') !== undefined;
    const log = isAsked ? await options.flightLog(report.flight) : undefined;
    if (report)
      return c.html(
        renderFlightPage(page, report, {
          address: serviceLinks(flightPlace(report.flight)).flight,
          log,
          mayFly: mayFly(options.alerting, report.flight.region),
          nameOf: messages.nameOf,
        }),
      );
    return c.html(unknownPage(page, 'birds', unknown, unknownLead), 404);
  });
}

/** What `/birds/{region}/{id}` names. An id may contain slashes, which a proxy may have decoded. */
export function thingOf(
  c: Context,
  folder: string,
  regions: readonly string[],
): { readonly region: string; readonly id: string } | undefined {
  const [, region, path] = /^([^/]+)\/(.+)$/.exec(new URL(c.req.url).pathname.slice(folder.length + 2)) ?? [];
  const id = path === undefined ? undefined : idOfPath(path);
  return region !== undefined && regions.includes(region) && id ? { region, id } : undefined;
}

function renderBirdsPage(page: Page, view: ListView<ShownBird>): Html {
  const { words } = page;
  const standings = STANDINGS.toReversed();
  const columns: Columns<ShownBird> = {
    [words.list.bird]: (one) => birdLink(page, one),
    [words.list.nest]: (one) => place(page, one),
    [words.birds.standing]: (one) => standingCell(page, one),
    [words.birds.latest]: (one) => flightMarks(page, one.latest),
    [words.birds.last]: (one) => lastCell(page, one),
  };
  return listPage(page, view, {
    ...{ section: 'birds', title: words.frame.birds, lead: words.birds.lead, json: 'api/v1/birds' },
    fields: [
      ...(['region', 'nest', 'bird', 'text'] as const),
      selection('standing', words.birds.standing, standings, (one) => words.birds.standings[one]),
      selection('status', words.birds.status, STATUSES.birds, (one) => birdStatus(words, one)),
    ],
    list: (birds) => dataTable(words.frame.birds, columns, birds),
    none: words.birds.none + statusNote('birds', view.given.get('status')),
    below: html`<p class="small after"><a href="${page.root}flights">${words.flights.title}</a></p>`,
  });
}

function renderFlightsPage(page: Page, view: ListView<FlightOverview>): Html {
  const { words } = page;
  const columns: Columns<FlightOverview> = {
    [words.flight.started]: (one) => (one.startedAtUs > 0 ? when(page, one.startedAtUs) : ''),
    [words.list.bird]: (one) => birdLink(page, { ...one, name: one.bird }),
    [words.list.nest]: (one) => place(page, one),
    [words.birds.status]: (one) => flightLink(page, one.region, one.flightId, one.status),
    [words.list.message]: (one) => messageLine(one.message),
  };
  return listPage(page, view, {
    ...{ section: 'birds', title: words.flights.title, lead: words.flights.lead, json: 'api/v1/flights' },
    fields: [
      ...(['region', 'nest', 'bird', 'text', 'since', 'until'] as const),
      selection('status', words.birds.status, STATUSES.flights, (one) => statusWords(words, one)),
    ],
    list: (flights) => dataTable(words.flights.title, columns, flights),
    none: words.birds.noFlights + statusNote('flights', view.given.get('status')),
  });
}

/** `isPublic`: whether everybody may see the status of the Nest with that name and id. */
function renderNestsPage(
  page: Page,
  view: ListView<NestOverview>,
  isPublic: (nest: string, nestId: string) => boolean,
): Html {
  const { words } = page;
  const bad = (count: number) => (count > 0 ? { number: html`<span class="text bad">${count}</span>` } : 0);
  const columns: Columns<NestOverview> = {
    [words.list.nest]: (one) =>
      html`${place(page, one)}${isPublic(one.nest, one.nestId) ? publicLink(page, one) : ''}`,
    [words.frame.birds]: (one) => one.birds,
    [words.frame.alerts]: (one) => bad(one.firing),
    [words.birds.alerting]: (one) => bad(one.alerting),
    [words.birds.failing]: (one) => bad(one.failing),
    [words.birds.off]: (one) => one.off,
    [words.birds.flights]: (one) => one.succeeded + one.failed,
    [words.birds.success]: (one) => ({ number: percent(words, successRatio(one)) }),
  };
  return listPage(page, view, {
    ...{ section: 'nests', title: words.frame.nests, lead: words.birds.nestsLead, json: 'api/v1/nests' },
    fields: ['region', 'nest'],
    list: (nests) => dataTable(words.frame.nests, columns, nests),
    none: words.birds.noNests,
  });
}

function place(page: Page, one: BirdOverview | NestOverview | FlightOverview): Html {
  return html`<span class="soft">${regionWord(page.words, one.region)} ·</span> ${nestLink(page, one)}`;
}

function publicLink({ root, words }: Page, { region, nestId }: NestOverview): Html {
  return html` <a class="small" href="${root}${publicPath(region, nestId)}">${words.birds.publicPage}</a>`;
}

function standingCell(page: Page, bird: ShownBird): Html {
  const { standing, status, firing } = bird;
  const { words } = page;
  // `active` goes without saying.
  const other = status === 'active' || standing === 'off' ? '' : birdStatus(words, status);
  return html`${standingPill(page, bird)} ${firing > 1 ? html`<span class="small soft">${words.count.alerts(firing)}</span>` : ''}
${other ? html`<span class="small soft"><bdi>${other}</bdi></span>` : ''}`;
}

function lastCell(page: Page, { region, last }: BirdOverview): Html | string {
  if (!last) return '';
  const at = last.startedAtUs > 0 ? when(page, last.startedAtUs) : '';
  return html`${flightLink(page, region, last.flightId, last.status)} <span class="small soft">${at}</span>`;
}
