/** Serves the pages for people: the overview here, the others from their folders. */
import { Hono } from 'hono';
import { isOpenToAll } from '../../config/sections/web-section.ts';
import { isStoreFailure } from '../../errors.ts';
import type { PagesOptions } from '../web-options.ts';
import { addAlert } from './alerts/alert-page.ts';
import { addAlertList } from './alerts/alerts-page.ts';
import { addAsking } from './alerts/asking-pages.ts';
import { addBirdPages } from './birds/bird-routes.ts';
import { addBrowsers } from './browsers/browser-routes.ts';
import { addConfig } from './config/config-routes.ts';
import { addDeliveries } from './deliveries/delivery-routes.ts';
import { addEvents } from './events/event-routes.ts';
import { readSearchLine } from './frame/filter-form.ts';
import { pageOf, withWords } from './frame/page.ts';
import { iconSvg } from './frame/page-frame.ts';
import { ENGLISH, type Words } from './frame/words.ts';
import { addNestPage } from './nest-page.ts';
import { NOTHING_STORED, type PageView, readPageView } from './overview.ts';
import { renderPage, renderWall } from './overview-page.ts';
import { addReport } from './report-page.ts';
import { addSearch } from './search/search-routes.ts';
import { addSilencing } from './silences/silence-page.ts';
import { addSilenceList } from './silences/silences-page.ts';

export function createPages(options: PagesOptions, words: Words = ENGLISH): Hono {
  const pages = new Hono();
  pages.use(withWords(words));
  pages.use(readSearchLine);
  addOverview(pages, options);
  addAlertList(pages, options);
  addAlert(pages, options);
  addAsking(pages, options);
  addEvents(pages, options);
  addDeliveries(pages, options);
  addSilenceList(pages, options);
  addSilencing(pages, options);
  addConfig(pages, options);
  addSearch(pages, options);
  addBirdPages(pages, options);
  addNestPage(pages, options);
  addManifest(pages);
  addReport(pages, options);
  addBrowsers(pages, options);
  return pages;
}

function addOverview(pages: Hono, options: PagesOptions): void {
  const { config, status, impairments, clock, report } = options;
  async function read(isLive: boolean): Promise<PageView> {
    const beside = {
      ...{ nowUs: clock.nowUs(), isLive, isOpen: isOpenToAll(config), status: status() },
      impairments: (await impairments()).impairments,
    };
    return readPageView(beside, options).catch((error: unknown) => {
      // People need the page most when the store fails.
      if (!isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'store', error });
      return { ...beside, ...NOTHING_STORED };
    });
  }
  pages.get('/', async (c) =>
    c.html(renderPage(pageOf(c, clock), await read(c.req.query('paused') === undefined))),
  );
  pages.get('/wall', async (c) => c.html(renderWall(pageOf(c, clock), await read(true))));
}

/** What a browser needs to install the pages like an application. */
function addManifest(pages: Hono): void {
  const manifest = {
    ...{ name: 'nestwatch', short_name: 'nestwatch', start_url: './', display: 'standalone' },
    icons: [{ src: 'icon.svg', sizes: 'any', type: 'image/svg+xml' }],
  };
  pages.get('/manifest.webmanifest', (c) =>
    c.body(JSON.stringify(manifest), 200, { 'content-type': 'application/manifest+json' }),
  );
  pages.get('/icon.svg', (c) => c.body(iconSvg('good'), 200, { 'content-type': 'image/svg+xml' }));
}
