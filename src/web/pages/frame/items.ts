/** Renders what appears on several pages: events, messages, the outcome of deliveries, and who was not notified. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import type { Suppression } from '../../../domain/muting/suppression.ts';
import { deliveryPath, eventPath } from '../../../http/page-path.ts';
import type { Delivery } from '../../../store/outbox-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../delivery-messages.ts';
import type { Page } from './page.ts';
import { type Html, when, where } from './page-frame.ts';
import {
  DELIVERY_TONES,
  eventTitle,
  eventTone,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
  suppressionWords,
} from './page-words.ts';

/** A message from outside, as a paragraph; nothing for an empty one. */
export function messageLine(message: string): Html | string {
  const text = plainText(message, MESSAGE_LENGTH);
  return text ? html`<p class="message"><bdi>${text}</bdi></p>` : '';
}

/** The service's last message, or else nestwatch's own. */
export function alertMessage({ annotations }: Pick<Alert, 'annotations'>, said = ''): Html | string {
  return messageLine(said || annotations.description || annotations.summary || '');
}

/** An event as an item of a list; `stamp` says when it occurred. */
export function eventItem(page: Page, event: Event, stamp: Html): Html {
  const entity = event.birdId ? '' : plainText(String(event.attributes.entity_name ?? ''), NAME_LENGTH);
  const place = [placeName(event), entity].filter(Boolean).join(' / ');
  return itemOf(page, event, where(page, event.region, place), stamp);
}

/** An event on the page of what it is about, which needs no place. */
export function ownEventItem(page: Page, event: Event, about: Html | string = ''): Html {
  return itemOf(page, event, about, when(page, event.occurredAtUs));
}

function itemOf({ root, words }: Page, event: Event, about: Html | string, stamp: Html): Html {
  return html`<li><div class="row"><div><a class="what text ${eventTone(event.type)}" href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a> ${about}</div>
<span class="small soft">${stamp}</span></div>
${messageLine(event.message)}</li>`;
}

/** `more` follows the state. */
export function deliveryPill({ words }: Page, state: Delivery['state'], more = ''): Html {
  return html`<span class="pill ${DELIVERY_TONES[state]}">${words.deliveryStates[state]}${more}</span>`;
}

/** A mail's names each recipient whom it does not reach. */
const REASON_LENGTH = 10_000;

/** Each delivery with its state, and with its last error if `withErrors`. */
export function deliveryLinks(
  page: Page,
  deliveries: readonly Delivery[],
  nameOf: NameOf,
  withErrors = false,
): Html {
  return html`${deliveries.map((one) => {
    const error = withErrors ? plainText(one.lastError, REASON_LENGTH) : '';
    return html`<a href="${page.root}${deliveryPath(one.id)}">${plainText(nameOf(one), NAME_LENGTH)}</a> ${deliveryPill(page, one.state)} ${error ? html`<bdi class="soft">${error}</bdi> ` : ''}`;
  })}`;
}

/** Who was not notified, and why; nothing if there is nobody. */
export function withheldList(
  page: Page,
  title: string,
  suppressions: readonly Pick<Suppression, 'receiver' | 'reason' | 'detail' | 'atUs'>[],
): Html | string {
  if (suppressions.length === 0) return '';
  const items = suppressions.map(
    (one) => html`<li><span class="what">${plainText(one.receiver, NAME_LENGTH)}</span>
<span class="soft"><bdi>${suppressionWords(page.words, one.reason, one.detail)}</bdi>, ${when(page, one.atUs)}</span></li>`,
  );
  return html`<h3 class="after">${title}</h3><ul class="sheet small">${items}</ul>`;
}
