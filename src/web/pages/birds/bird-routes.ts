/** Serves the pages of Birds, Flights and Nests. */

import type { Context, Hono } from 'hono';
import { isPublicNest } from '../../../config/sections/web-section.ts';
import { idOfPath } from '../../../http/page-path.ts';
import { showBirds } from '../../../operator/acknowledged-birds.ts';
import { readBirdReport } from '../../../operator/bird-report.ts';
import { readFlightReport } from '../../../operator/flight-report.ts';
import { listBirds, listNests } from '../../requests/read-lists.ts';
import { birdPlace, flightPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import { addListPage } from '../frame/list-page.ts';
import { pageOf } from '../frame/page.ts';
import { unknownPage } from '../frame/page-frame.ts';
import { renderBirdPage } from './bird-page.ts';
import { renderBirdsPage, renderNestsPage } from './birds-page.ts';
import { renderFlightPage } from './flight-page.ts';

const LISTED = 50;

export function addBirdPages(pages: Hono, options: PagesOptions): void {
  const { store, status, clock, serviceLinks, messages } = options;
  const { publicStatus } = options.config;
  const isPublic = (nest: string, nestId: string) =>
    !!publicStatus && isPublicNest(publicStatus, nest, nestId);
  const regionsOf = () => status().regions.map(({ region }) => region);

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

  pages.get('/birds/*', async (c) => {
    const page = pageOf(c, clock);
    const { unknown, unknownLead } = page.words.birds;
    const thing = thingOf(c, 'birds', regionsOf());
    const report = thing && (await readBirdReport(store, thing.region, thing.id, page.nowUs));
    if (report) return c.html(renderBirdPage(page, report, serviceLinks(birdPlace(report.bird)).bird));
    return c.html(unknownPage(page, 'birds', unknown, unknownLead), 404);
  });

  pages.get('/flights/*', async (c) => {
    const page = pageOf(c, clock);
    const { unknown, unknownLead } = page.words.flight;
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
    return c.html(unknownPage(page, 'birds', unknown, unknownLead), 404);
  });
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
