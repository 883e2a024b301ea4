/** While nothing happens, alerting makes few queries, but still finds what nothing woke it for. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAlerting } from '../../src/alerting/alerting.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Happening } from '../../src/report.ts';
import { alert, delivery, event, notification } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const CONFIG = `
regions: { eu: { base_url: "https://eu.example.com/api-rest", token: token } }
route: { receiver: ops, group_wait: 1s }
forward: [{ receiver: lake }]
receivers:
  - { name: ops, webhook_configs: [{ url: "https://hook.example.com/" }] }
  - { name: lake, webhook_configs: [{ url: "https://lake.example.com/", format: cloudevents }] }`;

/** While `cap` throws, what is to be done once for the configuration fails. */
async function begin(cap = (): undefined => undefined) {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const config = loadConfig({ file: 'n.yaml', text: CONFIG, environment: {}, readFile: () => '' });
  const receivers = config.receivers.map((one) =>
    Object.defineProperty({ ...one }, 'maxNotificationsPerHour', { get: cap }),
  );
  const happenings: Happening[] = [];
  let transactions = 0;
  const alerting = createAlerting({
    store: {
      ...store,
      transaction(work) {
        transactions += 1;
        return store.transaction(work);
      },
    },
    config: { ...config, receivers },
    clock,
    report: (happening) => void happenings.push(happening),
    lookEveryMs: 30_000,
    queued: () => {},
  });
  const stop = new AbortController();
  const done = alerting.run(stop.signal);
  await clock.advance(60_000);
  return {
    ...{ clock, store, happenings },
    transactions: () => transactions,
    async end() {
      stop.abort();
      await done;
      await store.close();
    },
  };
}

let stage: Awaited<ReturnType<typeof begin>>;
beforeEach(async () => {
  stage = await begin();
});
afterEach(() => stage.end());

test('alerting takes few transactions a minute while nothing happens', async () => {
  const before = stage.transactions();
  await stage.clock.advance(10 * 60_000);
  // Two looks a minute; once a minute what is overdue; all steps once in ten minutes.
  expect((stage.transactions() - before) / 10).toBeLessThanOrEqual(5);
});

test('what fails at the beginning is done a minute later, and then nothing is left to do', async () => {
  await stage.end();
  let tries = 0;
  stage = await begin(() => {
    tries += 1;
    if (tries < 3) throw new TypeError('no cap');
  });
  await stage.clock.advance(2 * 60_000);
  expect(stage.happenings.filter(({ what }) => what === 'trouble')).toHaveLength(2);
  expect(tries).toBeGreaterThan(2);
  const before = stage.transactions();
  await stage.clock.advance(10 * 60_000);
  expect((stage.transactions() - before) / 10).toBeLessThanOrEqual(5);
});

test.each([
  ['an alert that changed', (tx) => tx.alerts.put([alert('a')])],
  ['an event to forward', (tx) => tx.forwards.queue([{ receiver: 'lake', event: event('e') }])],
  [
    'a delivery to give to the fallback',
    async (tx) => {
      await tx.outbox.enqueue(notification('n'), [delivery('d')]);
      await tx.outbox.fallBackAt('d', 1);
    },
  ],
] as const satisfies readonly [string, Parameters<typeof stage.store.transaction>[0]][])(
  'alerting finds %s by itself, within half a minute',
  async (_, happens) => {
    const due = () =>
      stage.store.transaction(async (tx) => {
        const nowUs = stage.clock.nowUs();
        const { fallbackUs, isJoining, isForwarding } = await tx.groups.work(nowUs, 'DeliveryFailing');
        return isJoining || isForwarding || (fallbackUs !== null && fallbackUs <= nowUs);
      });
    await stage.clock.advance(5_000);
    await stage.store.transaction<unknown>(happens);
    expect(await due()).toBe(true);
    await stage.clock.advance(30_000);
    expect(await due()).toBe(false);
  },
);

const settleDelivery = (state: 'retry' | 'delivered', failed: boolean) =>
  stage.store.outbox.settle(
    [{ id: 'd', state, nextAttemptAtUs: stage.clock.nowUs() + 1, lastError: 'no', failed }],
    stage.clock.nowUs(),
  );

const said = () =>
  stage.happenings.flatMap((one) => (one.what === 'alert' ? [`${one.alertname} ${one.state}`] : []));

test('an integration that accepts nothing fires without a wake-up, and so does its end', async () => {
  await stage.store.outbox.enqueue(notification('n'), [delivery('d', { position: 1 })]);
  await settleDelivery('retry', true);
  await stage.clock.advance(20 * 60_000);
  expect(said()).toEqual(['DeliveryFailing firing']);
  await settleDelivery('delivered', false);
  await stage.clock.advance(30_000);
  expect(said()).toEqual(['DeliveryFailing firing', 'DeliveryFailing resolved']);
});

test('an integration that accepts again before its alert fires raises none', async () => {
  await stage.store.outbox.enqueue(notification('n'), [delivery('d', { position: 1 })]);
  await settleDelivery('retry', true);
  await stage.clock.advance(60_000);
  await settleDelivery('delivered', false);
  await stage.clock.advance(20 * 60_000);
  expect(said()).toEqual([]);
});
