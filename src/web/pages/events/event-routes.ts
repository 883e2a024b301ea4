/** Serves the timeline of events, and each event with its explanation. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { sayAction } from '../../../domain/action/action.ts';
import { EVENT_FEEDS, EVENT_TYPES, type Event, shortId } from '../../../domain/alert/event.ts';
import { deadlineWords } from '../../../domain/statistics/deadlines.ts';
import { alertPath, birdPath, flightPath, idOfPath } from '../../../http/page-path.ts';
import { type Explanation, explainMeant } from '../../../operator/explain.ts';
import { plainText } from '../../../text/plain-text.ts';
import { listEvents } from '../../requests/read-lists.ts';
import type { NameOf, PagesOptions } from '../../web-options.ts';
import { selection } from '../frame/filter-form.ts';
import { deliveryLinks, eventItem } from '../frame/items.ts';
import { addListPage, type ListView, listPage } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { at, exactly, marked, titledPage, unknownPage, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  eventTitle,
  eventTone,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
  said,
  saidInLines,
  suppressionWords,
} from '../frame/page-words.ts';

const LISTED = 100;

export function addEvents(pages: Hono, options: PagesOptions): void {
  const { store, regions, alerting, messages, clock, muting } = options;

  addListPage(pages, options, '/events', { limit: LISTED, read: listEvents, render: renderEventsPage });

  pages.get('/events/*', async (c) => {
    const page = pageOf(c, clock);
    const { nowUs } = page;
    const id = idOfPath(new URL(c.req.url).pathname.slice('/events/'.length)) ?? '';
    const { unknown, unknownLead } = page.words.event;
    const { explanation } = await store.transaction((tx) =>
      explainMeant(tx, id, regions(), alerting, () => muting(tx, nowUs), nowUs),
    );
    return explanation
      ? c.html(renderEventPage(page, explanation, messages.nameOf))
      : c.html(unknownPage(page, 'events', unknown, unknownLead), 404);
  });
}

function renderEventsPage(page: Page, view: ListView<Event>): Html {
  const { words } = page;
  const types = EVENT_FEEDS.flatMap((feed) => EVENT_TYPES[feed]);
  return listPage(page, view, {
    ...{ section: 'events', title: words.frame.events, lead: words.events.lead, json: 'api/v1/events' },
    fields: [
      'region',
      selection('feed', words.list.feed, EVENT_FEEDS, (one) => words.feeds[one]),
      selection('type', words.list.type, types, (one) => `${eventTitle(words, one)} (${one.split('.')[0]})`),
      ...(['nest', 'bird', 'flight', 'text', 'since', 'until'] as const),
    ],
    list: (events) =>
      html`<ul class="sheet">${events.map((one) => eventItem(page, one, stampOf(page, one)))}</ul>`,
    none: view.next === undefined ? words.list.nothing : words.events.lookFurther,
  });
}

/** The short id by which `explain` finds the event, and when it occurred. */
function stampOf(page: Page, event: Event): Html {
  return html`<code>${shortId(event)}</code> · ${when(page, event.occurredAtUs)}`;
}

const TEXT_LENGTH = 10_000;

function renderEventPage(page: Page, explanation: Explanation, nameOf: NameOf): Html {
  const { words } = page;
  const { event } = explanation;
  const place = placeName(event);
  const title = eventTitle(words, event.type);
  return titledPage(page, {
    ...{ section: 'events', tone: eventTone(event.type), isLive: true },
    tab: `${title}${place ? `, ${place}` : ''}`,
    title: place ? `${title}: ${place}` : title,
    lead: html`${where(page, event.region, '')} ${at(page, event.occurredAtUs)}, ${when(page, event.occurredAtUs)} · ${words.event.shortId} <code>${shortId(event)}</code>`,
    json: `api/v1/events/${encodeURIComponent(event.key)}/explain`,
    main: html`${event.message.trim() ? html`<h2>${words.list.message}</h2><div class="sheet"><pre>${saidInLines(event.message, TEXT_LENGTH)}</pre></div>` : ''}
<h2>${words.event.way}</h2>
<ol class="sheet way">${stepsOf(page, explanation, nameOf).map(([name, step]) => html`<li><b>${name}</b> <div>${step}</div></li>`)}</ol>
${detailSection(page, explanation)}`,
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
      ({ kind, rule, name }): Step => [
        way.rule,
        `${alertTitle(words, kind)}: ${rule === null ? way.noRule : way.ruleNumber(rule + 1, name)}`,
      ],
    ),
    ...explanation.deadlines.map(
      (one): Step => [
        way.deadline,
        `${deadlineWords(one, one.zone, page.nowUs)}, ${words.birds.ofRule(plainText(one.rule, NAME_LENGTH))}`,
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
            alerts.length > 0 ? way.alsoCounted : way.noAlert,
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
        words.alert.receiver,
        html`${receiver(notification.receiver)}, ${words.alert.why(notification.reason)}, ${when(page, notification.createdAtUs)}${isListed ? '' : `, ${way.counted}`} ${deliveryLinks(page, deliveries, nameOf, true)}`,
      ],
    ),
    ...suppressions.map(
      (one): Step => [
        one.isNotifiedLater ? way.putOff : way.never,
        html`${receiver(one.receiver)}: <bdi>${suppressionWords(words, one.reason, one.detail)}</bdi>, ${when(page, one.atUs)}`,
      ],
    ),
    ...explanation.actions.map(
      (one): Step => [words.fly.button, html`<bdi>${sayAction(one, (us) => exactly(page, us))}</bdi>`],
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
  return html`${
    birdId || flightId
      ? html`<h2>${words.event.about}</h2><dl class="sheet">
${birdId ? row(words.list.bird, html`<a href="${root}${birdPath(region, birdId)}">${said(event.bird || birdId, NAME_LENGTH)}</a>`) : ''}
${flightId ? row(words.list.flight, html`<a href="${root}${flightPath(region, flightId)}">${said(flightId, NAME_LENGTH)}</a>`) : ''}</dl>`
      : ''
  }
<details><summary>${words.event.details}</summary><dl class="sheet after">
${row(words.event.key, html`<code>${plainText(event.key, TEXT_LENGTH)}</code>`)}
${row(words.list.type, plainText(event.type, NAME_LENGTH))}
${shown.map(([name, value]) => attribute(name, value))}
</dl></details>`;
}
