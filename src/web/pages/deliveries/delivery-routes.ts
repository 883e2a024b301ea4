/** Serves the pages of deliveries. They can retry dead deliveries and test a receiver. */
import type { Hono } from 'hono';
import { idOfPath } from '../../../http/page-path.ts';
import type { OutboxStore } from '../../../store/outbox-store.ts';
import { refuse } from '../../requests/query.ts';
import { readDeliveryQuery } from '../../requests/read-deliveries.ts';
import { fieldsOf, problemOf } from '../frame/form.ts';
import { pageOf } from '../frame/page.ts';
import type { PagesOptions } from '../frame/pages-options.ts';
import { renderDeliveriesPage } from './deliveries-page.ts';
import { renderDeliveryPage, renderUnknownDeliveryPage } from './delivery-page.ts';

export function addDeliveries(pages: Hono, options: PagesOptions): void {
  const { store, status, alerting, messages, clock, changed } = options;

  pages.get('/deliveries', async (c) => {
    const page = pageOf(c, clock);
    const given = new URL(c.req.url).searchParams;
    const regions = status().regions.map(({ region }) => region);
    let found: Awaited<ReturnType<OutboxStore['page']>> = { deliveries: [] };
    const problem = await problemOf(c.get('words'), async () => {
      const query = readDeliveryQuery(given, regions, page.nowUs);
      found = await store.transaction((tx) => tx.outbox.page(query));
    });
    const receivers = alerting.receivers
      .filter(({ integrations }) => integrations.length > 0)
      .map(({ name }) => name);
    const deliveries = found.deliveries.map((one) => ({ ...one, integration: messages.nameOf(one) }));
    const view = { given, regions, receivers, deliveries, next: found.next, problem };
    return c.html(renderDeliveriesPage(page, view), problem ? 400 : 200);
  });

  pages.get('/deliveries/*', async (c) => {
    const page = pageOf(c, clock);
    const id = idOfPath(new URL(c.req.url).pathname.slice('/deliveries/'.length)) ?? '';
    const found = await store.transaction((tx) => tx.outbox.find(id));
    if (!found) return c.html(renderUnknownDeliveryPage(page), 404);
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
