import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createHealth } from '../../src/health/health.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const CONFIG = `
regions: { eu: { base_url: "https://eu.example.com/api-rest", token: token } }
route: { receiver: ops }
receivers: [{ name: ops, webhook_configs: [{ url: "https://hook.example.com/" }] }]`;

test.each([
  ['every ten seconds where alerts are raised of it', true, false, 60],
  ['every half minute where another replica raises them', false, false, 20],
  ['every ten seconds while the store does not answer', false, true, 60],
])('health looks %s', async (_, isAlerting, isAway, expected) => {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  const config = loadConfig({ file: 'n.yaml', text: CONFIG, environment: {}, readFile: () => '' });
  let looks = 0;
  const health = createHealth({
    config: () => config,
    store: {
      ...store,
      transaction(work) {
        looks += 1;
        if (isAway) return Promise.reject(new NestwatchError('store_down', 'The server is away.'));
        return store.transaction(work);
      },
    },
    regions: () => [],
    clock,
    report: (happening) => health.hear(happening),
    changed: () => {},
    isAlerting: () => isAlerting,
  });
  const stop = new AbortController();
  const done = health.run(stop.signal);
  await clock.advance(600_000);
  expect(Math.abs(looks - expected)).toBeLessThanOrEqual(1);
  stop.abort();
  await done;
  await store.close();
});
