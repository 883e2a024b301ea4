/**
 * Serves the search box of every page. An id or a link leads to its page directly; words lead to lists of what
 * contains them.
 */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { alertPath, birdPath, deliveryPath, eventPath, flightPath } from '../../../http/page-path.ts';
import { findReference, type Reference } from '../../../operator/find-reference.ts';
import type { BirdOverview, FlightOverview } from '../../../store/bird-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import { MAX_VALUE_LENGTH } from '../../requests/query.ts';
import type { PagesOptions } from '../../web-options.ts';
import { alertLine, eventItem, lineItem, messageLine } from '../frame/items.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { titledPage, when, where } from '../frame/page-frame.ts';
import { flightLink, MESSAGE_LENGTH, placeName, said } from '../frame/page-words.ts';

/** The most results of each sort. */
const LISTED = 10;

export function addSearch(pages: Hono, { store, regions: regionsOf, clock }: PagesOptions): void {
  pages.get('/search', async (c) => {
    const page = pageOf(c, clock);
    const text = (c.req.query('text') ?? '').trim().slice(0, MAX_VALUE_LENGTH);
    if (text === '') return c.html(renderSearchPage(page, text, NOTHING));
    const regions = regionsOf();
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

interface Found {
  readonly alerts: readonly Alert[];
  readonly birds: readonly BirdOverview[];
  readonly flights: readonly FlightOverview[];
  readonly events: readonly Event[];
}

function renderSearchPage(page: Page, text: string, found: Found): Html {
  const { root, words } = page;
  const shown = plainText(text, MESSAGE_LENGTH);
  const isNothing = Object.values(found).every((list) => list.length === 0);
  const section = (title: string, path: string, items: readonly Html[]) =>
    items.length > 0 &&
    html`<section><h2>${title} <a href="${root}${path}?${new URLSearchParams({ text })}">${words.search.all}</a></h2><ul class="sheet">${items}</ul></section>`;
  const sections = [
    section(
      words.frame.alerts,
      'alerts',
      found.alerts.map((one) => lineItem(alertLine(page, one), when(page, one.startsAtUs))),
    ),
    section(
      words.frame.birds,
      'birds',
      found.birds.map((bird) => {
        const name = placeName({ ...bird, bird: bird.name });
        return html`<li><a class="what" href="${root}${birdPath(bird.region, bird.birdId)}">${where(page, bird.region, name)}</a></li>`;
      }),
    ),
    section(
      words.flights.title,
      'flights',
      found.flights.map((flight) => {
        const what = html`${flightLink(page, flight.region, flight.flightId, flight.status)} ${where(page, flight.region, placeName(flight))}`;
        const stamp = html`${flight.startedAtUs > 0 ? when(page, flight.startedAtUs) : ''} <code>${said(flight.flightId, MESSAGE_LENGTH)}</code>`;
        return lineItem(what, stamp, messageLine(flight.message));
      }),
    ),
    section(
      words.frame.events,
      'events',
      found.events.map((event) => eventItem(page, event, when(page, event.occurredAtUs))),
    ),
  ];
  return titledPage(page, {
    ...{ tab: words.frame.search, searched: shown },
    title: shown === '' ? words.frame.search : words.search.title(shown),
    lead: shown === '' ? words.search.help : '',
    main: html`${isNothing && shown !== '' ? html`<p class="sheet empty after">${words.search.nothing}</p>` : sections}`,
  });
}
