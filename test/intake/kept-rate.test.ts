import { afterEach, expect, test } from 'vitest';
import { KeptRate } from '../../src/intake/read-progress.ts';
import { openStage, type Stage } from '../acceptance/stage.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

let stage: Stage | undefined;
afterEach(() => stage?.close());

const refusedSince = (count: number) =>
  stage!.happenings.slice(count).filter((one) => one.what === 'request' && one.failure === 'rate_limited')
    .length;

test('a restart at a tight limit begins near it and is not refused again [long]', async () => {
  stage = await openStage({
    regions: ['eu'],
    behaviours: { eu: { requestsPerSecond: 4 } },
    before(world) {
      const { id } = world.addNest({ name: 'Marketing' });
      for (let count = 0; count < 100; count += 1)
        world.addBird(id, { name: `Bird ${count}`, triggerType: 'event' });
    },
  });
  await stage.minutesPass(20);
  expect(refusedSince(0)).toBeGreaterThan(0);
  const before = stage.happenings.length;
  await stage.restart();
  expect(stage.daemon().regions()[0]!.requestsPerSecond).toBeGreaterThan(3);
  await stage.minutesPass(1);
  expect(refusedSince(before)).toBeLessThanOrEqual(1);
  expect(stage.daemon().regions()[0]!.requestsPerSecond).toBeGreaterThan(3);
});

test('the rate is stored when it has changed, and now and then; after a clock was set back it is no younger than now', async () => {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const remembered: [number, number][] = [];
  let perSecond = 4;
  const client = {
    bearableRate: () => perSecond,
    rememberRate: (rate: number, ageMs: number) => void remembered.push([rate, ageMs]),
  };
  const rate = new KeptRate({ region: 'eu', client, store, clock });
  const kept = () => store.inventory.rate('eu');
  await rate.load();
  expect(remembered).toEqual([]);
  await rate.keep();
  const first = await kept();
  perSecond = 4.1;
  await clock.advance(30_000);
  await rate.keep();
  expect(await kept()).toEqual(first);
  perSecond = 5;
  await rate.keep();
  expect((await kept())!.perSecond).toBe(5);
  await clock.advance(600_000);
  await rate.keep();
  expect((await kept())!.keptUs).toBe(clock.nowUs());
  await clock.advance(60_000);
  await rate.load();
  clock.stepWall(-3_600_000);
  await rate.load();
  expect(remembered).toEqual([
    [5, 60_000],
    [5, 0],
  ]);
  await store.close();
});
