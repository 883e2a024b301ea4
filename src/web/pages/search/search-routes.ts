/**
 * Serves the search box of every page. An id or a link leads to its page directly; words lead to lists of what
 * contains them.
 */
import type { Hono } from 'hono';
import { alertPath, birdPath, deliveryPath, eventPath, flightPath } from '../../../http/page-path.ts';
import { findReference, type Reference } from '../../../operator/find-reference.ts';
import { MAX_VALUE_LENGTH } from '../../requests/query.ts';
import type { PagesOptions } from '../../web-options.ts';
import { pageOf } from '../frame/page.ts';
import { type Found, renderSearchPage } from './search-page.ts';

/** The most results of each sort. */
const LISTED = 10;

export function addSearch(pages: Hono, { store, status, clock }: PagesOptions): void {
  pages.get('/search', async (c) => {
    const page = pageOf(c, clock);
    const text = (c.req.query('text') ?? '').trim().slice(0, MAX_VALUE_LENGTH);
    if (text === '') return c.html(renderSearchPage(page, text, NOTHING));
    const regions = status().regions.map(({ region }) => region);
    const { nowUs } = page;
    const meant = await store.transaction((tx) => findReference(tx, text, regions));
    if (meant) return c.redirect(pathOf(meant), 303);
    // In separate transactions, so that other work gets a turn in between.
    const { alerts } = await store.transaction((tx) =>
      tx.alerts.page({ text, order: 'severest', nowUs, limit: LISTED }),
    );
    const { birds } = await store.transaction((tx) => tx.birds.page({ regions, text, limit: LISTED }));
    const { flights } = await store.transaction((tx) =>
      tx.birds.flightPage({ regions, text, limit: LISTED }),
    );
    const { events } = await store.transaction((tx) => tx.events.page({ text, limit: LISTED }));
    return c.html(renderSearchPage(page, text, { alerts, birds, flights, events }));
  });
}

const NOTHING: Found = { alerts: [], birds: [], flights: [], events: [] };

function pathOf(meant: Reference): string {
  switch (meant.kind) {
    case 'event':
      return eventPath(meant.key);
    case 'alert':
      return alertPath(meant.id);
    case 'delivery':
      return deliveryPath(meant.id);
    case 'silence':
      return `silences#silence-${meant.id}`;
    case 'flight':
      return flightPath(meant.region, meant.id);
    default:
      return birdPath(meant.region, meant.id);
  }
}
