/** Renders the timeline of events, newest first. */
import { html } from 'hono/html';
import { EVENT_TYPES, type Event, FEEDS } from '../../../domain/alert/event.ts';
import { shortId } from '../../../domain/alert/short-id.ts';
import { type FilterField, filterField, regionField } from '../frame/filter-form.ts';
import { eventItem } from '../frame/items.ts';
import { type ListView, listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { eventTitle } from '../frame/page-words.ts';

export function renderEventsPage(page: Page, view: ListView<Event>): Html {
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
