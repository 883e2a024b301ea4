/**
 * Renders one delivery: its content and receiver, the outcome of each attempt as far as stored, and a button to retry
 * it.
 */
import { html } from 'hono/html';
import type { Notification } from '../../../domain/grouping/notification.ts';
import { alertPath, eventPath } from '../../../http/page-path.ts';
import type { ClaimedDelivery } from '../../../store/outbox-store.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import { deliveryPill } from '../frame/items.ts';
import type { Page } from '../frame/page.ts';
import { at, exactly, frame, type Html, heading, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  DELIVERY_TONES,
  eventTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
} from '../frame/page-words.ts';

const TEXT_LENGTH = 40_000;
const SHOWN = 50;

interface DeliveryView extends ClaimedDelivery {
  /** As it is sent; undefined if it cannot be shown. */
  readonly message: string | undefined;
}

export function renderDeliveryPage(page: Page, { delivery, notification, message }: DeliveryView): Html {
  const { root, words } = page;
  const { id, receiver, integration, state, attempts, createdAtUs, settledAtUs, lastError } = delivery;
  const title = words.delivery.title(plainText(receiver, NAME_LENGTH), integration);
  const tone = DELIVERY_TONES[state];
  const text = message === undefined ? '' : manyLines(message, TEXT_LENGTH);
  const isWaiting = settledAtUs === 0 && attempts > 0;
  const row = (name: string, value: Html | string) => html`<dt>${name}</dt><dd>${value}</dd>`;
  return frame({
    title: `nestwatch: ${title}`,
    tone,
    page,
    isLive: true,
    section: 'deliveries',
    body: html`${heading(page, { title, json: `api/v1/deliveries/${encodeURIComponent(id)}` })}
<main id="main">
<dl class="sheet after">
${row(words.deliveries.state, deliveryPill(page, state))}
${row(words.deliveries.queued, html`${at(page, createdAtUs)}, ${when(page, createdAtUs)}`)}
${settledAtUs > 0 ? row(words.delivery.settled, html`${at(page, settledAtUs)}, ${when(page, settledAtUs)}`) : ''}
${isWaiting ? row(words.delivery.nextTry, when(page, delivery.nextAttemptAtUs)) : ''}
${row(words.deliveries.tries, String(attempts))}
${lastError ? row(words.deliveries.error, html`<bdi>${plainText(lastError, TEXT_LENGTH)}</bdi>`) : ''}
${delivery.refusedBy ? row(words.delivery.refusedBy, html`<bdi>${plainText(delivery.refusedBy, TEXT_LENGTH)}</bdi>`) : ''}
${delivery.remaining ? row(words.delivery.remaining, html`<bdi>${plainText(delivery.remaining.join(', '), MESSAGE_LENGTH)}</bdi>`) : ''}
${row(words.delivery.id, html`<code>${plainText(id, NAME_LENGTH)}</code>`)}
</dl>
${
  state === 'dead'
    ? html`<form method="post" action="${root}deliveries/retry" class="actions"><input type="hidden" name="id" value="${id}"><button>${words.delivery.retry}</button></form>
<p class="small soft after">${words.delivery.notNeeded} <a href="${root}alerts?name=WatchImpaired">${alertTitle(words, 'WatchImpaired')}</a></p>`
    : ''
}
<h2>${words.delivery.message}</h2>
${text ? html`<p class="small soft">${words.delivery.asNow}</p><div class="sheet"><pre><bdi>${text}</bdi></pre></div>` : html`<p class="sheet empty">${words.delivery.noMessage}</p>`}
<h2>${words.delivery.about}</h2>
${aboutList(page, notification)}
</main>`,
  });
}

/** The alerts or events in the notification. */
function aboutList(page: Page, notification: Notification): Html {
  const { root, words } = page;
  if (notification.kind === 'digest') {
    const { name, fromUs, toUs } = notification.digest;
    return html`<p class="sheet empty">${words.delivery.digest(plainText(name, NAME_LENGTH), exactly(page, fromUs), exactly(page, toUs))}</p>`;
  }
  const all = notification.kind === 'forward' ? notification.events : notification.alerts;
  const items =
    notification.kind === 'forward'
      ? notification.events
          .slice(0, SHOWN)
          .map(
            (event) =>
              html`<li><a class="what" href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a> ${where(page, event.region, placeName(event))}</li>`,
          )
      : notification.alerts
          .slice(0, SHOWN)
          .map(
            ({ id, status, labels }) =>
              html`<li><a class="what" href="${root}${alertPath(id)}">${alertTitle(words, labels.alertname ?? '')}</a> ${where(page, labels.region ?? '', alertPlace(labels))} <span class="pill quiet">${status === 'firing' ? words.alert.isFiring : words.alert.isOver}</span></li>`,
          );
  const more = all.length - items.length;
  return html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.alert.moreEvents(more)}</li>` : ''}</ul>`;
}
