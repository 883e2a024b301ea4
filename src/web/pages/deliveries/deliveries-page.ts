/** Renders what was sent to whom, and with which outcome, newest first; also the test of a receiver. */
import { html } from 'hono/html';
import { deliveryPath } from '../../../http/page-path.ts';
import { DELIVERY_STATES, type Delivery } from '../../../store/outbox-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import { type FilterField, filterField, regionField } from '../frame/filter-form.ts';
import { deliveryPill } from '../frame/items.ts';
import { type ListView, listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH, NAME_LENGTH } from '../frame/page-words.ts';

/** `receivers`: those that notify somebody. */
export function renderDeliveriesPage(
  page: Page,
  view: ListView<Delivery>,
  receivers: readonly string[],
): Html {
  const { words } = page;
  return listPage(page, view, {
    ...{ section: 'deliveries', title: words.frame.deliveries, lead: words.deliveries.lead },
    json: 'api/v1/deliveries',
    fields: fieldsOf(page, view.regions, receivers),
    list: (deliveries) => dataTable(words.frame.deliveries, columnsOf(page), deliveries),
    none: words.deliveries.none,
    below: testForm(page, receivers),
  });
}

function columnsOf(page: Page): Column<Delivery>[] {
  const { root, words } = page;
  return [
    {
      title: words.alert.receiver,
      cell: ({ id, receiver }) =>
        html`<a href="${root}${deliveryPath(id)}">${plainText(receiver, NAME_LENGTH)}</a>`,
    },
    { title: words.deliveries.by, cell: ({ integration }) => plainText(integration, NAME_LENGTH) },
    { title: words.deliveries.state, cell: ({ state }) => deliveryPill(page, state) },
    {
      title: words.deliveries.queued,
      cell: ({ createdAtUs }) => when(page, createdAtUs),
    },
    { title: words.deliveries.tries, cell: ({ attempts }) => String(attempts), isNumber: true },
    {
      title: words.deliveries.error,
      cell: ({ lastError }) => (lastError ? html`<bdi>${plainText(lastError, MESSAGE_LENGTH)}</bdi>` : ''),
    },
  ];
}

function fieldsOf(page: Page, regions: readonly string[], receivers: readonly string[]): FilterField[] {
  const { words } = page;
  return [
    {
      name: 'state',
      label: words.deliveries.state,
      choices: DELIVERY_STATES.map((state) => ({ value: state, text: words.deliveryStates[state] })),
    },
    {
      name: 'receiver',
      label: words.alert.receiver,
      choices: receivers.map((name) => ({ value: name, text: plainText(name, NAME_LENGTH) })),
    },
    regionField(page, regions),
    ...(['nest', 'bird', 'flight', 'text', 'since', 'until'] as const).map((name) => filterField(page, name)),
  ];
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
