import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { NestwatchError } from '../../src/errors.ts';
import { createHealth } from '../../src/health/health.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const CONFIG = `
regions: { eu: { base_url: "https://eu.example.com/api-rest", token: token } }
route: { receiver: ops }
receivers: [{ name: ops, webhook_configs: [{ url: "https://hook.example.com/" }] }]`;

async function openHealth({ isAlerting = true, isAway = false, changed = () => {} } = {}) {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
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
    replicas: () => [],
    clock,
    report: (happening) => health.hear(happening),
    changed,
    isAlerting: () => isAlerting,
  });
  return { clock, health, looks: () => looks, close: () => store.close() };
}

test.each([false, true])('health looks every ten seconds; store is away: %s', async (isAway) => {
  const { clock, health, looks, close } = await openHealth({ isAway });
  const stop = new AbortController();
  const done = health.run(stop.signal);
  await clock.advance(600_000);
  expect(Math.abs(looks() - 60)).toBeLessThanOrEqual(1);
  stop.abort();
  await done;
  await close();
});

test('frequent questions get what the store said within the last ten seconds', async () => {
  const { clock, health, looks, close } = await openHealth();
  await health.read();
  for (let asked = 0; asked < 30; asked += 1) {
    await clock.advance(2_000);
    await health.readOften();
  }
  expect(looks()).toBe(7);
  // What is reported counts at once, without another look.
  health.hear({ what: 'trouble', stage: 'store', error: new NestwatchError('disk_full', 'No space left.') });
  expect((await health.readOften()).impairments).toMatchObject([{ reason: 'store_failing' }]);
  await close();
});

test('frequent questions learn that a server is away, and that it is back', async () => {
  const { clock, health, looks, close } = await openHealth({ isAway: true });
  for (let asked = 0; asked < 5; asked += 1) {
    expect((await health.readOften()).impairments).toMatchObject([{ finding: { sort: 'store_away' } }]);
    await clock.advance(2_000);
  }
  expect(looks()).toBe(5);
  await close();
});

test('alerting is woken up while an impairment is new or changes, not as long as it lasts', async () => {
  const wakes: number[] = [];
  const { clock, health, close } = await openHealth({ changed: () => void wakes.push(1) });
  const refuse = (mistakes: readonly string[]) =>
    health.hear({ what: 'config_reload', success: false, mistakes, atUs: clock.nowUs() });
  const stop = new AbortController();
  const done = health.run(stop.signal);
  await clock.advance(600_000);
  const before = wakes.length;
  refuse(['n.yaml:3:1: rout: unknown key']);
  await clock.advance(60_000);
  expect(wakes.length - before).toBe(6);
  await clock.advance(120_000);
  const settled = wakes.length;
  await clock.advance(3_600_000);
  expect(wakes).toHaveLength(settled);
  refuse(['n.yaml:3:1: rule: unknown key']);
  await clock.advance(10_000);
  expect(wakes).toHaveLength(settled + 1);
  health.hear({ what: 'config_reload', success: true, atUs: clock.nowUs() });
  await clock.advance(10_000);
  expect(wakes).toHaveLength(settled + 2);
  stop.abort();
  await done;
  await close();
});
