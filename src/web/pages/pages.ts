/** Serves the pages for people: the overview here, the others from their folders. */
import { Hono } from 'hono';
import { isOpenToAll } from '../../config/sections/web-section.ts';
import { isStoreFailure } from '../../errors.ts';
import type { PagesOptions } from '../web-options.ts';
import { addAlerts } from './alerts/alert-routes.ts';
import { addBirdPages } from './birds/bird-routes.ts';
import { addConfig } from './config/config-routes.ts';
import { addDeliveries } from './deliveries/delivery-routes.ts';
import { addEvents } from './events/event-routes.ts';
import { pageOf, withWords } from './frame/page.ts';
import { ENGLISH, type Words } from './frame/words.ts';
import { readPageView, storelessView } from './overview.ts';
import { renderPage } from './overview-page.ts';
import { addSearch } from './search/search-routes.ts';
import { addSilencing } from './silences/silence-routes.ts';

export function createPages(options: PagesOptions, words: Words = ENGLISH): Hono {
  const pages = new Hono();
  pages.use(withWords(words));
  addOverview(pages, options);
  addAlerts(pages, options);
  addEvents(pages, options);
  addDeliveries(pages, options);
  addSilencing(pages, options);
  addConfig(pages, options);
  addSearch(pages, options);
  addBirdPages(pages, options);
  return pages;
}

function addOverview(
  pages: Hono,
  { store, config, status, impairments, alerting, recurrences, messages, clock, report }: PagesOptions,
): void {
  pages.get('/', async (c) => {
    const isLive = c.req.query('paused') === undefined;
    const asked = {
      nowUs: clock.nowUs(),
      isLive,
      isOpen: isOpenToAll(config),
      status: status(),
      impairments: (await impairments()).impairments,
      alerting,
      recurrences,
    };
    const view = await readPageView(store, asked).catch((error: unknown) => {
      // People need the page most when the store fails.
      if (!isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'store', error });
      return storelessView(asked);
    });
    const deliveries = view.deliveries.map((one) => ({ ...one, integration: messages.nameOf(one) }));
    return c.html(renderPage(pageOf(c, clock), { ...view, deliveries }));
  });
}
