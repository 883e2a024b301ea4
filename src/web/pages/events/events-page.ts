/** Renders the timeline of events, newest first. */
import { html } from 'hono/html';
import { EVENT_TYPES, type Event, FEEDS } from '../../../domain/alert/event.ts';
import { shortId } from '../../../domain/alert/short-id.ts';
import { eventPath } from '../../../http/page-path.ts';
import { plainText } from '../../../text/plain-text.ts';
import { type FilterField, filterField, regionField } from '../frame/filter-form.ts';
import { listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when, where } from '../frame/page-frame.ts';
import { eventTitle, eventTone, MESSAGE_LENGTH, NAME_LENGTH, placeName } from '../frame/page-words.ts';

export interface EventsView {
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
        ? html`<ul class="sheet">${events.map((event) => eventItem(page, event))}</ul>`
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

export function eventItem(page: Page, event: Event): Html {
  const { root, words } = page;
  const entity = event.birdId ? '' : plainText(String(event.attributes.entity_name ?? ''), NAME_LENGTH);
  const place = [placeName(event), entity].filter(Boolean).join(' / ');
  const message = plainText(event.message, MESSAGE_LENGTH);
  return html`<li><div class="row"><div><a class="what text ${eventTone(event.type)}" href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a> ${where(page, event.region, place)}</div>
<span class="small soft"><code>${shortId(event)}</code> · ${when(page, event.occurredAtUs)}</span></div>
${message ? html`<p class="message"><bdi>${message}</bdi></p>` : ''}</li>`;
}
