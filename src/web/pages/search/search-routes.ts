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
import { alertLink, messageLine } from '../frame/items.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { titledPage, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  eventTitle,
  eventTone,
  flightLink,
  MESSAGE_LENGTH,
  placeName,
  said,
} from '../frame/page-words.ts';

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
  const query = new URLSearchParams({ text });
  const sections = [
    section(
      page,
      words.frame.alerts,
      `alerts?${query}`,
      found.alerts.map(
        (one) =>
          html`${alertLink(page, one)} ${where(page, one.labels.region ?? '', alertPlace(one.labels))} <span class="small soft">${when(page, one.startsAtUs)}</span>`,
      ),
    ),
    section(
      page,
      words.frame.birds,
      `birds?${query}`,
      found.birds.map((bird) => {
        const name = placeName({ ...bird, bird: bird.name });
        return html`<a class="what" href="${root}${birdPath(bird.region, bird.birdId)}">${where(page, bird.region, name)}</a>`;
      }),
    ),
    section(
      page,
      words.flights.title,
      undefined,
      found.flights.map(
        (flight) =>
          html`${flightLink(page, flight.region, flight.flightId, flight.status)} ${where(page, flight.region, placeName(flight))} <span class="small soft">${flight.startedAtUs > 0 ? when(page, flight.startedAtUs) : ''} <code>${said(flight.flightId, MESSAGE_LENGTH)}</code></span>
${messageLine(flight.message)}`,
      ),
    ),
    section(
      page,
      words.frame.events,
      `events?${query}`,
      found.events.map(
        (event) =>
          html`<a class="what text ${eventTone(event.type)}" href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a> ${where(page, event.region, placeName(event))} <span class="small soft">${when(page, event.occurredAtUs)}</span>
${messageLine(event.message)}`,
      ),
    ),
  ];
  const isNothing = Object.values(found).every((list) => list.length === 0);
  return titledPage(page, {
    ...{ tab: words.frame.search, searched: shown },
    title: shown === '' ? words.frame.search : words.search.title(shown),
    lead: shown === '' ? words.search.help : '',
    main: html`${isNothing && shown !== '' ? html`<p class="sheet empty after">${words.search.nothing}</p>` : sections}`,
  });
}

function section(
  { root, words }: Page,
  title: string,
  all: string | undefined,
  items: readonly Html[],
): Html | string {
  if (items.length === 0) return '';
  const link = all === undefined ? '' : html`<a href="${root}${all}">${words.search.all}</a>`;
  return html`<section><h2>${title} ${link}</h2><ul class="sheet">${items.map((item) => html`<li>${item}</li>`)}</ul></section>`;
}
