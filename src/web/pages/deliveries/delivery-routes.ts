/** Serves the pages of deliveries. They can retry dead deliveries and test a receiver. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Notification } from '../../../domain/grouping/notification.ts';
import { deliveryPath, idOfPath } from '../../../http/page-path.ts';
import { type ClaimedDelivery, DELIVERY_STATES, type ListedDelivery } from '../../../store/outbox-store.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import { refuse } from '../../requests/query.ts';
import { listDeliveries } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { selection } from '../frame/filter-form.ts';
import { fieldsOf } from '../frame/form.ts';
import { alertLine, deliveryPill, eventLine, factList } from '../frame/items.ts';
import { addListPage, type Columns, dataTable, type ListView, listPage } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { at, exactly, titledPage, unknownPage, when } from '../frame/page-frame.ts';
import { alertTitle, DELIVERY_TONES, MESSAGE_LENGTH, NAME_LENGTH, said } from '../frame/page-words.ts';

const LISTED = 100;

export function addDeliveries(pages: Hono, options: PagesOptions): void {
  const { store, alerting, messages, clock, changed } = options;

  addListPage(pages, options, '/deliveries', {
    limit: LISTED,
    read: listDeliveries,
    render: (page, view) => {
      const receivers = alerting.receivers.filter(({ integrations }) => integrations.length > 0);
      const items = view.items.map((one) => ({ ...one, integration: messages.nameOf(one) }));
      return renderDeliveriesPage(
        page,
        { ...view, items },
        receivers.map(({ name }) => name),
      );
    },
  });

  pages.get('/deliveries/*', async (c) => {
    const page = pageOf(c, clock);
    const id = idOfPath(new URL(c.req.url).pathname.slice('/deliveries/'.length)) ?? '';
    const { unknown, unknownLead } = page.words.delivery;
    const found = await store.transaction((tx) => tx.outbox.find(id));
    if (!found) return c.html(unknownPage(page, 'deliveries', unknown, unknownLead), 404);
    const delivery = { ...found.delivery, integration: messages.nameOf(found.delivery) };
    const message = await messages.messageOf(found);
    return c.html(renderDeliveryPage(page, { ...found, delivery, message }));
  });

  pages.post('/deliveries/retry', async (c) => {
    const id = (await fieldsOf(c)).get('id') ?? '';
    const retried = await store.transaction((tx) => tx.outbox.redrive([id], clock.nowUs()));
    if (retried.length > 0) changed();
    return c.redirect(encodeURIComponent(id), 303);
  });

  pages.post('/deliveries/test', async (c) => {
    const name = (await fieldsOf(c)).get('receiver') ?? '';
    const tests = messages.testsOf(name, clock.nowUs());
    if (tests.length === 0) throw refuse(pageOf(c, clock).words.mistakes.noReceiver);
    await store.transaction(async (tx) => {
      for (const { notification, deliveries } of tests) await tx.outbox.enqueue(notification, deliveries, []);
    });
    changed();
    return c.redirect(`../deliveries?${new URLSearchParams({ receiver: name })}`, 303);
  });
}

/** `receivers`: those that notify somebody. */
function renderDeliveriesPage(
  page: Page,
  view: ListView<ListedDelivery>,
  receivers: readonly string[],
): Html {
  const { words } = page;
  return listPage(page, view, {
    ...{ section: 'deliveries', title: words.frame.deliveries, lead: words.deliveries.lead },
    json: 'api/v1/deliveries',
    fields: [
      selection('state', words.list.state, DELIVERY_STATES, (one) => words.deliveryStates[one]),
      selection('receiver', words.alert.receiver, receivers, (one) => plainText(one, NAME_LENGTH)),
      ...(['region', 'nest', 'bird', 'flight', 'text', 'since', 'until'] as const),
    ],
    list: (deliveries) => dataTable(words.frame.deliveries, columnsOf(page), deliveries),
    none: words.deliveries.none,
    below: testForm(page, receivers),
  });
}

function columnsOf(page: Page): Columns<ListedDelivery> {
  const { root, words } = page;
  return {
    [words.alert.receiver]: ({ id, receiver }) =>
      html`<a href="${root}${deliveryPath(id)}">${plainText(receiver, NAME_LENGTH)}</a>`,
    [words.deliveries.about]: ({ about, aboutMore }) =>
      html`<bdi>${plainText(about, MESSAGE_LENGTH)}</bdi>${aboutMore > 0 ? ` ${words.count.more(aboutMore)}` : ''}`,
    [words.list.by]: ({ integration }) => plainText(integration, NAME_LENGTH),
    [words.list.state]: ({ state }) => deliveryPill(page, state),
    [words.deliveries.queued]: ({ createdAtUs }) => when(page, createdAtUs),
    [words.deliveries.tries]: ({ attempts }) => attempts,
    [words.deliveries.error]: ({ lastError }) =>
      lastError ? html`<bdi>${plainText(lastError, MESSAGE_LENGTH)}</bdi>` : '',
  };
}

function testForm({ root, words }: Page, receivers: readonly string[]): Html | string {
  if (receivers.length === 0) return '';
  return html`<h2 id="test">${words.deliveries.test}</h2>
<form method="post" action="${root}deliveries/test" class="sheet fields">
<label for="test-receiver">${words.alert.receiver}</label>
<select id="test-receiver" name="receiver">${receivers.map((name) => html`<option value="${name}">${plainText(name, NAME_LENGTH)}</option>`)}</select>
<p class="small soft">${words.deliveries.testHelp}</p>
<div class="buttons"><button>${words.deliveries.sendTest}</button></div>
</form>`;
}

const TEXT_LENGTH = 40_000;
const SHOWN = 50;

interface DeliveryView extends ClaimedDelivery {
  /** As it is sent; undefined if it cannot be shown. */
  readonly message: string | undefined;
}

function renderDeliveryPage(page: Page, { delivery, notification, message }: DeliveryView): Html {
  const { root, words } = page;
  const { id, receiver, integration, state, attempts, createdAtUs, settledAtUs, lastError } = delivery;
  const title = words.delivery.title(plainText(receiver, NAME_LENGTH), integration);
  const tone = DELIVERY_TONES[state];
  const text = message === undefined ? '' : manyLines(message, TEXT_LENGTH);
  const isWaiting = settledAtUs === 0 && attempts > 0;
  const clean = (given: string, most: number) => given && html`<bdi>${plainText(given, most)}</bdi>`;
  return titledPage(page, {
    ...{ section: 'deliveries', title, icon: tone, isLive: true },
    json: `api/v1/deliveries/${encodeURIComponent(id)}`,
    main: html`${factList({
      [words.list.state]: deliveryPill(page, state),
      [words.deliveries.queued]: html`${at(page, createdAtUs)}, ${when(page, createdAtUs)}`,
      [words.list.ended]: settledAtUs > 0 ? html`${at(page, settledAtUs)}, ${when(page, settledAtUs)}` : '',
      [words.delivery.nextTry]: isWaiting ? when(page, delivery.nextAttemptAtUs) : '',
      [words.deliveries.tries]: String(attempts),
      [words.deliveries.error]: clean(lastError, TEXT_LENGTH),
      [words.delivery.refusedBy]: clean(delivery.refusedBy ?? '', TEXT_LENGTH),
      [words.delivery.remaining]: clean(delivery.remaining?.join(', ') ?? '', MESSAGE_LENGTH),
    })}
${
  state === 'dead'
    ? html`<form method="post" action="${root}deliveries/retry" class="actions"><input type="hidden" name="id" value="${id}"><button>${words.delivery.retry}</button></form>
<p class="small soft after">${words.delivery.notNeeded} <a href="${root}alerts?name=WatchImpaired">${alertTitle(words, 'WatchImpaired')}</a></p>`
    : ''
}
<details${integration === 'email' ? html` open` : ''}><summary>${words.list.message}</summary>
<p class="small soft">${words.delivery.id} <code>${said(id, NAME_LENGTH)}</code>. ${text && words.delivery.asNow}</p>
${text ? html`<div class="sheet"><pre><bdi>${text}</bdi></pre></div>` : html`<p class="sheet empty">${words.delivery.noMessage}</p>`}</details>
<h2>${words.event.about}</h2>
${aboutList(page, notification)}`,
  });
}

/** The alerts or events in the notification. */
function aboutList(page: Page, notification: Notification): Html {
  const { words } = page;
  if (notification.kind === 'digest') {
    const { name, fromUs, toUs } = notification.digest;
    return html`<p class="sheet empty">${words.delivery.digest(plainText(name, NAME_LENGTH), exactly(page, fromUs), exactly(page, toUs))}</p>`;
  }
  const items =
    notification.kind === 'forward'
      ? notification.events.slice(0, SHOWN).map((event) => html`<li>${eventLine(page, event)}</li>`)
      : notification.alerts
          .slice(0, SHOWN)
          .map(
            (one) =>
              html`<li>${alertLine(page, one)} <span class="pill quiet">${one.status === 'firing' ? words.alert.isFiring : words.alert.isOver}</span></li>`,
          );
  const all = notification.kind === 'forward' ? notification.events : notification.alerts;
  const more = all.length - items.length;
  return html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.alert.moreEvents(more)}</li>` : ''}</ul>`;
}
