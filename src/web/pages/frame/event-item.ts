import { html } from 'hono/html';
import type { Event } from '../../../domain/alert/event.ts';
import { eventPath } from '../../../http/page-path.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from './page.ts';
import { type Html, where } from './page-frame.ts';
import { eventTitle, eventTone, MESSAGE_LENGTH, NAME_LENGTH, placeName } from './page-words.ts';

/** An event as an item of a list; `stamp` says when it occurred. */
export function eventItem(page: Page, event: Event, stamp: Html): Html {
  const entity = event.birdId ? '' : plainText(String(event.attributes.entity_name ?? ''), NAME_LENGTH);
  const place = [placeName(event), entity].filter(Boolean).join(' / ');
  const message = plainText(event.message, MESSAGE_LENGTH);
  return html`<li><div class="row"><div><a class="what text ${eventTone(event.type)}" href="${page.root}${eventPath(event.key)}">${eventTitle(page.words, event.type)}</a> ${where(page, event.region, place)}</div>
<span class="small soft">${stamp}</span></div>
${message ? html`<p class="message"><bdi>${message}</bdi></p>` : ''}</li>`;
}
