/** A reload looks at firing alerts only if the routes differ. */
import { expect, test } from 'vitest';
import { createAlerting, type Routed } from '../../src/alerting/alerting.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { load, REGION } from '../config/load.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const ROUTE = 'route: { receiver: ops, group_by: [bird] }\n';
const RECEIVERS =
  'receivers: [{ name: ops, webhook_configs: [{ url: "https://ops.example/" }] }, { name: other }]\n';

test.each([
  ['the same file', `${ROUTE}${RECEIVERS}`, 0],
  ['another receiver of no route', `${ROUTE}${RECEIVERS.replace('other', 'third')}`, 0],
  ['other groups', `${ROUTE.replace('bird', 'nest')}${RECEIVERS}`, 1],
  ['another receiver', `${ROUTE.replace('ops', 'other')}${RECEIVERS}`, 1],
])('%s [long]', async (_what, next, looks) => {
  const clock = createVirtualClock();
  const inner = await openMemory(clock);
  let looked = 0;
  const counted = (tx: Transaction): Transaction => ({
    ...tx,
    alerts: {
      ...tx.alerts,
      firing(...args) {
        looked += 1;
        return tx.alerts.firing(...args);
      },
    },
  });
  const store: Store = { ...inner, transaction: (work) => inner.transaction((tx) => work(counted(tx))) };
  const routed: Routed = {};
  const begin = (text: string) =>
    createAlerting({
      store,
      config: load(`${REGION}${text}`),
      clock,
      report() {},
      queued() {},
      routed,
    }).drain();
  await begin(`${ROUTE}${RECEIVERS}`);
  expect(looked).toBe(1);
  await begin(next);
  expect(looked - 1).toBe(looks);
  await inner.close();
});
