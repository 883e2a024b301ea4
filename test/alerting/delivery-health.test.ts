import { expect, test } from 'vitest';
import { watchDeliveries } from '../../src/alerting/delivery-health.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { readKept } from '../../src/health/health.ts';
import { delivery, notification } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const CONFIG = `
regions: { eu: { base_url: "https://eu.example.com/api-rest", token: token } }
route: { receiver: ops }
rules: [{ kind: DeliveryFailing, for: 0s }]
global: { smtp_smarthost: "mail.example:25", smtp_from: n@example.com }
receivers:
  - name: ops
    email_configs: [{ to: ops@example.com }]
    webhook_configs: [{ url: "https://a.example/key-canary" }, { url: "https://b.example/key-canary" }]`;

/** Positions of the receiver's integrations. */
const [MAIL, A, B] = [0, 1, 101];

async function begin() {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const config = loadConfig({ file: 'n.yaml', text: CONFIG, environment: {}, readFile: () => '' });
  let count = 0;
  const attempt = async (position: number, lastError: string) => {
    await clock.advance(1_000);
    await store.transaction(async (tx) => {
      count += 1;
      const id = `d${count}`;
      const integration = position === MAIL ? 'email' : 'webhook';
      const one = delivery(id, { notificationId: `n${count}`, receiver: 'ops', position, integration });
      await tx.outbox.enqueue(notification(`n${count}`), [one]);
      const failed = lastError !== '';
      const state = failed ? 'retry' : 'delivered';
      const nextAttemptAtUs = clock.nowUs() + 1;
      await tx.outbox.settle([{ id, state, failed, lastError, nextAttemptAtUs }], clock.nowUs());
      await watchDeliveries(tx, config, clock.nowUs());
    });
  };
  return {
    accepts: (position: number) => attempt(position, ''),
    fails: attempt,
    alerts: () =>
      store.transaction(async (tx) => {
        const all = await tx.alerts.firing(undefined, 9);
        return all.map(({ annotations }) => [annotations.summary, annotations.description]).toSorted();
      }),
    failing: () =>
      store.transaction(async (tx) =>
        (await readKept(tx, config.receivers, clock.nowUs() + 10_000_000)).failing.map(
          ({ name, among }) => `${name} among ${among}`,
        ),
      ),
  };
}

test('names the one webhook of two that accepts nothing, by its host, and no other', async () => {
  const { accepts, fails, alerts, failing } = await begin();
  await accepts(A);
  await fails(B, 'HTTP 503');
  expect(await alerts()).toEqual([
    ['Receiver ops accepts nothing through webhook 2 (b.example)', 'webhook 2 (b.example): HTTP 503'],
  ]);
  expect(await failing()).toEqual(['webhook 2 (b.example) among 3']);
  // It names the others once they fail as well, or instead.
  await fails(A, 'HTTP 500');
  expect(await alerts()).toEqual([['Receiver ops accepts nothing through webhook', 'HTTP 503']]);
  await accepts(B);
  expect(await alerts()).toEqual([
    ['Receiver ops accepts nothing through webhook 1 (a.example)', 'webhook 1 (a.example): HTTP 500'],
  ]);
  await accepts(A);
  expect(await alerts()).toEqual([]);
});

test('the only one of its kind is named by its kind', async () => {
  const { fails, alerts, failing } = await begin();
  await fails(MAIL, '550 no');
  expect(await alerts()).toEqual([['Receiver ops accepts nothing through email', '550 no']]);
  expect(await failing()).toEqual(['email among 3']);
});
