/** Serves the pages of deliveries. They can retry dead deliveries and test a receiver. */
import type { Hono } from 'hono';
import { idOfPath } from '../../../http/page-path.ts';
import { refuse } from '../../requests/query.ts';
import { listDeliveries } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { fieldsOf } from '../frame/form.ts';
import { addListPage } from '../frame/list-page.ts';
import { pageOf } from '../frame/page.ts';
import { unknownPage } from '../frame/page-frame.ts';
import { renderDeliveriesPage } from './deliveries-page.ts';
import { renderDeliveryPage } from './delivery-page.ts';

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
    return c.html(renderDeliveryPage(page, { ...found, delivery, message: messages.messageOf(found) }));
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
