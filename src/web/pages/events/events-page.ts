/** Renders the timeline of events, newest first. */
import { html } from 'hono/html';
import { EVENT_TYPES, type Event, FEEDS } from '../../../domain/alert/event.ts';
import { shortId } from '../../../domain/alert/short-id.ts';
import { eventItem } from '../frame/event-item.ts';
import { type FilterField, filterField, regionField } from '../frame/filter-form.ts';
import { listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { eventTitle } from '../frame/page-words.ts';

interface EventsView {
  readonly given: URLSearchParams;
  readonly regions: readonly string[];
  readonly events: readonly Event[];
  readonly next: string | undefined;
  readonly problem: string;
}

export function renderEventsPage(page: Page, { given, regions, events, next, problem }: EventsView): Html {
  const { words } = page;
  const query = new URLSearchParams(given);
  query.delete('cursor');
  const nothing = next === undefined ? words.list.nothing : words.events.lookFurther;
  return listPage(page, {
    ...{ section: 'events', title: words.frame.events, lead: words.events.lead },
    json: `api/v1/events?${query}`,
    ...{ given, problem, next, fields: fieldsOf(page, regions) },
    list:
      events.length > 0
        ? html`<ul class="sheet">${events.map((event) => eventItem(page, event, stampOf(page, event)))}</ul>`
        : html`<p class="sheet empty">${nothing}</p>`,
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
