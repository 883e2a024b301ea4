/** Renders one event: its content, and its way from the service to people, or why it went no further. */

import { html } from 'hono/html';
import { shortId } from '../../../domain/alert/short-id.ts';
import { alertPath, birdPath, flightPath } from '../../../http/page-path.ts';
import type { Explanation } from '../../../operator/explain.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../delivery-messages.ts';
import { deliveryLinks } from '../frame/items.ts';
import type { Page } from '../frame/page.ts';
import { at, exactly, frame, type Html, heading, marked, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  eventTitle,
  eventTone,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
  suppressionWords,
} from '../frame/page-words.ts';

const TEXT_LENGTH = 10_000;

export function renderEventPage(page: Page, explanation: Explanation, nameOf: NameOf): Html {
  const { words } = page;
  const { event } = explanation;
  const place = placeName(event);
  const title = eventTitle(words, event.type);
  const message = manyLines(event.message, TEXT_LENGTH);
  return frame({
    title: `nestwatch: ${title}${place ? `, ${place}` : ''}`,
    tone: eventTone(event.type),
    page,
    isLive: true,
    section: 'events',
    body: html`${heading(page, {
      title: place ? `${title}: ${place}` : title,
      tone: eventTone(event.type),
      lead: html`${where(page, event.region, '')} ${at(page, event.occurredAtUs)}, ${when(page, event.occurredAtUs)} · ${words.event.shortId} <code>${shortId(event)}</code>`,
      json: `api/v1/events/${encodeURIComponent(event.key)}/explain`,
    })}
<main id="main">
${message ? html`<h2>${words.alert.message}</h2><div class="sheet"><pre><bdi>${message}</bdi></pre></div>` : ''}
<h2>${words.event.way}</h2>
<ol class="sheet way">${stepsOf(page, explanation, nameOf).map(([name, step]) => html`<li><b>${name}</b> <div>${step}</div></li>`)}</ol>
${detailSection(page, explanation)}
</main>`,
  });
}

type Step = readonly [name: string, step: Html | string];

function stepsOf(page: Page, explanation: Explanation, nameOf: NameOf): Step[] {
  const { root, words } = page;
  const { event, rules, alerts, noAlert, waiting, notifications, suppressions, forwards } = explanation;
  const way = words.event;
  const delayMs = Math.max(0, event.observedAtUs - event.occurredAtUs) / 1000;
  const receiver = (name: string) => html`<bdi>${plainText(name, NAME_LENGTH)}</bdi>`;
  return [
    [
      way.seen,
      `${way.seenAt(exactly(page, event.observedAtUs), words.time.exact(delayMs))}${explanation.isHistoric ? ` ${way.historic}` : ''}`,
    ],
    ...rules.map(
      ({ kind, rule }): Step => [
        way.rule,
        `${alertTitle(words, kind)}: ${rule === null ? way.noRule : way.ruleNumber(rule + 1)}`,
      ],
    ),
    ...alerts.map(
      ({ alert, seq }): Step => [
        way.alert,
        html`<a href="${root}${alertPath(alert.id)}">${alertTitle(words, alert.alertname)}</a> ${where(page, alert.labels.region ?? '', alertPlace(alert.labels))}, ${way.seq(seq)}`,
      ],
    ),
    ...(noAlert === null
      ? []
      : [
          [
            way.noAlert,
            marked(
              plainText(
                words.whyNoAlert(noAlert, (us) => exactly(page, us)),
                TEXT_LENGTH,
              ),
            ),
          ] as Step,
        ]),
    ...waiting.map(
      (one): Step => [
        one.muted ? way.notNow : way.waiting,
        html`${receiver(one.receiver)}: ${one.muted ? html`<bdi>${plainText(one.muted, MESSAGE_LENGTH)}</bdi>` : html`${way.next} ${when(page, one.nextFlushAtUs)}${one.unlessAcknowledged ? `, ${way.unlessAcknowledged}` : ''}`}`,
      ],
    ),
    ...notifications.map(
      ({ notification, isListed, deliveries }): Step => [
        way.notified,
        html`${receiver(notification.receiver)}, ${words.alert.why(notification.reason)}, ${when(page, notification.createdAtUs)}${isListed ? '' : `, ${way.counted}`} ${deliveryLinks(page, deliveries, nameOf, true)}`,
      ],
    ),
    ...suppressions.map(
      (one): Step => [
        one.isNotifiedLater ? way.putOff : way.never,
        html`${receiver(one.receiver)}: <bdi>${suppressionWords(words, one.reason, one.detail)}</bdi>, ${when(page, one.atUs)}`,
      ],
    ),
    ...forwards.map(
      (one): Step => [
        way.forwarded,
        html`${receiver(one.receiver)} ${one.deliveries.length > 0 ? deliveryLinks(page, one.deliveries, nameOf, true) : one.isWaiting ? way.waits : way.notSent}`,
      ],
    ),
  ];
}

function detailSection({ root, words }: Page, { event }: Explanation): Html {
  const { region, birdId, attributes } = event;
  const flightId = String(attributes.flight_id ?? '');
  const shown = Object.entries(attributes).filter(([name]) => name !== 'started_at_us');
  const row = (name: Html | string, value: Html | string) =>
    html`<dt>${name}</dt><dd><bdi>${value}</bdi></dd>`;
  const attribute = (name: string, value: unknown) =>
    row(html`<code>${plainText(name, NAME_LENGTH)}</code>`, plainText(String(value), MESSAGE_LENGTH));
  return html`<h2>${words.event.details}</h2><dl class="sheet">
${row(words.event.key, html`<code>${plainText(event.key, TEXT_LENGTH)}</code>`)}
${row(words.event.type, plainText(event.type, NAME_LENGTH))}
${birdId ? row(words.list.bird, html`<a href="${root}${birdPath(region, birdId)}">${plainText(event.bird || birdId, NAME_LENGTH)}</a>`) : ''}
${flightId ? row(words.list.flight, html`<a href="${root}${flightPath(region, flightId)}">${plainText(flightId, NAME_LENGTH)}</a>`) : ''}
${shown.map(([name, value]) => (name === 'flight_id' ? '' : attribute(name, value)))}
</dl>`;
}
