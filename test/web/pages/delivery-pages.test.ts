import { describe, expect, test } from 'vitest';
import { positioned } from '../../../src/channels/integration-identity.ts';
import { createDeliveryMessages } from '../../../src/delivery/delivery-message.ts';
import type { GroupNotification } from '../../../src/domain/grouping/notification.ts';
import { alertPath, eventPath, flightPath } from '../../../src/http/page-path.ts';
import { load, REGION } from '../../config/load.ts';
import { groupNotification } from '../../store/contract/sample-records.ts';
import { aDelivery, anAlertingConfig, NOW_US, putDeliveries } from '../sample.ts';
import { putBirds } from '../sample-birds.ts';
import { serve } from '../served.ts';
import { links, read } from './read.ts';

const CONFIG = load(`${REGION}global: { smtp_smarthost: "mail.example.com:587", smtp_from: "n@example.com" }
route: { receiver: ops }
receivers:
  - name: ops
    email_configs: [{ to: ops@example.com }]
    webhook_configs: [{ url: "https://hook.example.com/secret" }]
  - name: pager
    pagerduty_configs: [{ routing_key: k0 }]
  - name: nobody
`);

const TWO_WEBHOOKS = load(`${REGION}route: { receiver: ops }
receivers:
  - name: ops
    webhook_configs: [{ url: "https://one.example.com/secret" }, { url: "https://two.example.com/secret" }]
`);

let ids = 0;
const configured = (config = CONFIG, hasDefaultUrl = false) => ({
  alerting: anAlertingConfig({ receivers: config.receivers }),
  messages: createDeliveryMessages(
    config.receivers,
    { externalUrl: 'http://watch.example.com', hasDefaultUrl },
    () => `test-${++ids}`,
  ),
});

describe('the page of deliveries', () => {
  test('lists them with the result of each, and filters', async () => {
    const { ask, store } = await serve(configured());
    await putDeliveries(store, [
      { id: 'd-1', state: 'delivered', attempts: 1, settledAtUs: NOW_US },
      { id: 'd-2', receiver: 'pager', state: 'dead', attempts: 9, lastError: 'HTTP 404' },
    ]);
    const { body } = await ask('/deliveries');
    expect(read(body)).toContain('pager Events email Given up 2 min ago 9 HTTP 404');
    expect(links(body).filter((href) => href.startsWith('deliveries/'))).toEqual([
      'deliveries/d-2',
      'deliveries/d-1',
    ]);
    expect(links((await ask('/deliveries?state=delivered')).body)).not.toContain('deliveries/d-2');
    expect(links((await ask('/deliveries?text=http+404')).body)).not.toContain('deliveries/d-1');
    expect((await ask('/deliveries?state=lost')).status).toBe(400);
    expect(body).not.toContain('<option value="nobody">');
  });

  test('two webhooks of one receiver are told apart', async () => {
    const { ask, store } = await serve(configured(TWO_WEBHOOKS));
    const deliveries = positioned(TWO_WEBHOOKS.receivers[0]!.integrations).map(([position, { kind }]) =>
      aDelivery({ id: `d-${position}`, integration: kind, position }),
    );
    await putDeliveries(store, deliveries);
    const names = ['webhook 1 (one.example.com)', 'webhook 2 (two.example.com)'];
    const { json } = await ask<{ deliveries: object[] }>('/api/v1/deliveries');
    const named = names.map((name) => ({ integration: 'webhook', integration_name: name }));
    expect(json.deliveries).toMatchObject(named.toReversed());
    const pages = [await ask('/deliveries'), await ask(`/deliveries/${deliveries[0]!.id}`)];
    const texts = pages.map(({ body }) => read(body));
    expect(names.map((name) => texts.map((text) => text.includes(name)))).toEqual([
      [true, true],
      [true, false],
    ]);
    expect(texts.join()).not.toContain('secret');
  });

  test('also with what they are about: an event, an alert, a Flight', async () => {
    const { ask, store } = await serve(configured(TWO_WEBHOOKS));
    await putBirds(store);
    const key = 'eu/flight/f0/failed';
    await store.transaction(async (tx) => {
      const event = (await tx.events.find(key))!;
      const [, second] = positioned(TWO_WEBHOOKS.receivers[0]!.integrations);
      const sent = groupNotification('n', [event]) as GroupNotification;
      const about = { ...sent, alerts: sent.alerts.map((one) => ({ ...one, id: 'a' })) };
      const delivery = aDelivery({
        id: 'd',
        notificationId: 'n',
        integration: 'webhook',
        position: second![0],
      });
      return tx.outbox.enqueue(about, [delivery]);
    });
    for (const path of [eventPath(key), alertPath('a'), flightPath('eu', 'f0')]) {
      expect(read((await ask(`/${path}`)).body), path).toContain('webhook 2 (two.example.com)');
    }
    const named = { integration: 'webhook', integration_name: 'webhook 2 (two.example.com)' };
    const json = async (path: string) => (await ask<object>(`/api/v1/${path}`)).json;
    const notified = { notifications: [{ deliveries: [named] }] };
    expect(await json(`events/${encodeURIComponent(key)}/explain`)).toMatchObject(notified);
    expect(await json('alerts/a')).toMatchObject(notified);
    expect(await json('flights/eu/f0')).toMatchObject({ deliveries: [named] });
  });

  test('a test message is queued for each integration, and an incident that it opens is ended', async () => {
    const { ask, submit, store, changes } = await serve(configured());
    const queued = () =>
      store.transaction((tx) => tx.outbox.page({ limit: 10 }).then((one) => one.deliveries));
    const { status, headers } = await submit('/deliveries/test', { receiver: 'ops' });
    expect([status, headers.location]).toEqual([303, '../deliveries?receiver=ops']);
    expect((await queued()).map(({ integration }) => integration).sort()).toEqual(['email', 'webhook']);
    expect(changes).toHaveLength(1);
    expect(read((await ask('/deliveries')).body)).toMatch(
      /ops Sample: a Flight of Sample Bird failed in Sample Nest \(EU\) email Waiting/,
    );
    await submit('/deliveries/test', { receiver: 'pager' });
    const [end, begin] = await queued();
    const found = await store.transaction((tx) => tx.outbox.find(end!.id));
    expect(found?.notification).toMatchObject({ status: 'resolved', receiver: 'pager' });
    expect([begin!.integration, begin!.lane === end!.lane]).toEqual(['pagerduty', true]);
    for (const receiver of ['nobody', 'constructor', '']) {
      expect((await submit('/deliveries/test', { receiver })).status).toBe(400);
    }
  });

  test('nobody else can send a test message', async () => {
    const { submit } = await serve(configured());
    const foreign = { origin: 'https://evil.example.com' };
    expect((await submit('/deliveries/test', { receiver: 'ops' }, foreign)).status).toBe(403);
    expect((await submit('/deliveries/retry', { id: 'd' }, foreign)).status).toBe(403);
  });
});

describe('the page of a delivery', () => {
  test.each([false, true])(
    'shows links only where they are sent: without an external URL, %s',
    async (isWithout) => {
      const { ask, store } = await serve(configured(CONFIG, isWithout));
      await store.transaction((tx) => tx.outbox.enqueue(groupNotification('n'), [aDelivery({ id: 'd-1' })]));
      const text = read((await ask('/deliveries/d-1')).body);
      expect(text.includes('http://watch.example.com/alerts')).toBe(!isWithout);
      expect(text.includes('Links to nestwatch are missing')).toBe(isWithout);
    },
  );

  test('shows the message as it is sent, what it is about, and its result', async () => {
    const { ask, store } = await serve(configured());
    const one = aDelivery({ id: 'd-1', state: 'retry', attempts: 2, lastError: '<b>503</b>' });
    await store.transaction((tx) => tx.outbox.enqueue(groupNotification('n'), [one]));
    const { body } = await ask('/deliveries/d-1');
    const text = read(body);
    expect(text).toContain('Delivery to ops by email');
    expect(text).toContain('Tries 2');
    expect(body).toContain('<bdi>&lt;b&gt;503&lt;/b&gt;</bdi>');
    expect(body).toMatch(/<pre><bdi>[^<]*Subject: ✕ /);
    expect(links(body)).toContain('../alerts/a');
    const { json } = await ask('/api/v1/deliveries/d-1');
    expect(json).toMatchObject({ id: 'd-1', kind: 'group', alerts: ['a'], message: expect.any(String) });
  });

  test('retries a dead one', async () => {
    const { ask, submit, store, changes } = await serve(configured());
    await putDeliveries(store, [{ id: 'd-1', state: 'dead', settledAtUs: NOW_US }]);
    const dead = await ask('/deliveries/d-1');
    expect(dead.body).toContain('Send it again');
    expect(read(dead.body)).toContain('If nobody needs it any more, acknowledge the alert');
    expect(links(dead.body)).toContain('../alerts?name=WatchImpaired');
    const { status, headers } = await submit('/deliveries/retry', { id: 'd-1' });
    expect([status, headers.location]).toEqual([303, 'd-1']);
    expect(changes).toHaveLength(1);
    const { body } = await ask('/deliveries/d-1');
    expect(body).not.toContain('Send it again');
    expect(read(body)).not.toContain('acknowledge the alert');
    expect(read(body)).toContain('Waiting');
  });

  test('an unknown one is not found', async () => {
    const { ask } = await serve();
    expect((await ask('/deliveries/none')).status).toBe(404);
    expect((await ask('/api/v1/deliveries/none')).status).toBe(404);
  });
});
