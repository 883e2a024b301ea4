/** Serves the timeline of events, and each event with its explanation. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { EVENT_TYPES, type Event, FEEDS } from '../../../domain/alert/event.ts';
import { shortId } from '../../../domain/alert/short-id.ts';
import { idOfPath } from '../../../http/page-path.ts';
import { type Explanation, explain } from '../../../operator/explain.ts';
import { findReference, newestEventOf } from '../../../operator/find-reference.ts';
import { loadMuting } from '../../../store/load-muting.ts';
import { listEvents } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { type FilterField, filterField, regionField } from '../frame/filter-form.ts';
import { eventItem } from '../frame/items.ts';
import { addListPage, type ListView, listPage } from '../frame/list-page.ts';
import { type Page, pageOf } from '../frame/page.ts';
import { type Html, unknownPage, when } from '../frame/page-frame.ts';
import { eventTitle } from '../frame/page-words.ts';
import { renderEventPage } from './event-page.ts';

const LISTED = 100;

export function addEvents(pages: Hono, options: PagesOptions): void {
  const { store, status, alerting, recurrences, messages, clock } = options;
  const regionsOf = () => status().regions.map(({ region }) => region);

  addListPage(pages, options, '/events', { limit: LISTED, read: listEvents, render: renderEventsPage });

  pages.get('/events/*', async (c) => {
    const page = pageOf(c, clock);
    const id = idOfPath(new URL(c.req.url).pathname.slice('/events/'.length)) ?? '';
    const { unknown, unknownLead } = page.words.event;
    const explanation = await store.transaction(async (tx): Promise<Explanation | undefined> => {
      const meant = await findReference(tx, id, regionsOf());
      const key = meant && (await newestEventOf(tx, meant));
      if (key === undefined) return undefined;
      return explain(tx, key, alerting, await loadMuting(tx, alerting, recurrences, page.nowUs), page.nowUs);
    });
    return explanation
      ? c.html(renderEventPage(page, explanation, messages.nameOf))
      : c.html(unknownPage(page, 'events', unknown, unknownLead), 404);
  });
}

function renderEventsPage(page: Page, view: ListView<Event>): Html {
  const { words } = page;
  return listPage(page, view, {
    ...{ section: 'events', title: words.frame.events, lead: words.events.lead, json: 'api/v1/events' },
    fields: fieldsOf(page, view.regions),
    list: (events) =>
      html`<ul class="sheet">${events.map((event) => eventItem(page, event, stampOf(page, event)))}</ul>`,
    none: view.next === undefined ? words.list.nothing : words.events.lookFurther,
  });
}

function fieldsOf(page: Page, regions: readonly string[]): FilterField[] {
  const { words } = page;
  const types = FEEDS.flatMap((feed) => EVENT_TYPES[feed]);
  return [
    regionField(page, regions),
    {
      name: 'feed',
      label: words.events.feed,
      choices: FEEDS.map((feed) => ({ value: feed, text: words.feeds[feed] })),
    },
    {
      name: 'type',
      label: words.events.type,
      choices: types.map((type) => ({
        value: type,
        text: `${eventTitle(words, type)} (${type.split('.')[0]})`,
      })),
    },
    ...(['nest', 'bird', 'flight', 'text', 'since', 'until'] as const).map((name) => filterField(page, name)),
  ];
}

/** The short id by which `explain` finds the event, and when it occurred. */
function stampOf(page: Page, event: Event): Html {
  return html`<code>${shortId(event)}</code> · ${when(page, event.occurredAtUs)}`;
}
