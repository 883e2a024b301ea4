import { beforeEach, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { type BackfillProgress, backfill } from '../../src/intake/backfill.ts';
import { createServiceClient } from '../../src/service/client.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { simulatorTransport } from '../simulator/simulator-transport.ts';
import { createStage, type Stage } from './stage.ts';
import { baseUrl, stageConfig } from './stage-config.ts';

const HOUR_US = 3_600_000_000;

let stage: Stage;
let beganUs = 0;

/** Ten hours of history before nestwatch first starts; it reads only the last of them. */
beforeEach(async () => {
  stage = await createStage({ regions: ['eu'], before: addHistory });
  await stage.minutesPass(10);
  expect(stage.received()).toEqual([]);
});

function addHistory(world: World): void {
  beganUs = world.nowUs();
  const nest = world.addNest({ name: 'Marketing' });
  const bird = world.addBird(nest.id, { name: 'Translate blog', triggerType: 'scheduled' });
  for (let index = 0; index < 60; index += 1) {
    const atUs = beganUs - 10 * HOUR_US + index * 600_000_000 + 123_456;
    world.at(atUs, () => {
      const endsAs = index % 5 === 0 ? 'failed' : 'succeeded';
      world.startFlight(bird.id, { startedAtUs: atUs, endsAs, fliesForMs: 30_000 });
      world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan' } });
      world.save(bird.id);
    });
  }
}

const truthFrom = (fromUs: number) =>
  stage.eu
    .truth()
    .events.filter(({ occurredAtUs }) => occurredAtUs >= fromUs)
    .map(({ key }) => key)
    .toSorted();

async function kept(): Promise<string[]> {
  const { events } = await stage.store.transaction((tx) => tx.events.page({ limit: 1_000 }));
  return events.map(({ key }) => key).toSorted();
}

interface Run {
  readonly fromUs?: number;
  readonly toUs?: number;
  readonly notify?: boolean;
  /** Interrupted after this many steps. */
  readonly steps?: number;
}

async function readBack({ fromUs = beganUs - 11 * HOUR_US, toUs, notify, steps = Infinity }: Run = {}) {
  const { clock, store, worlds } = stage;
  const config: Config = stageConfig(['eu'], { poll: { pageSize: 10 } });
  const [region] = config.regions;
  let requests = 0;
  const client = createServiceClient({
    region: region!,
    transport: simulatorTransport({ [baseUrl('eu')]: worlds.eu! }),
    clock,
    random: seededRandom(9),
    startPerSecond: 50,
    report: (happening) => {
      if (happening.what === 'request') requests += 1;
    },
  });
  const stop = new AbortController();
  const progress: BackfillProgress[] = [];
  let isDone = false;
  const work = (async () => {
    const reading = backfill(
      {
        region: region!,
        poll: config.poll,
        retentionMs: config.store.retentionMs,
        fromUs,
        toUs: toUs ?? clock.nowUs(),
        notify: notify ? config : undefined,
        client,
        store,
        clock,
        random: seededRandom(8),
        report: () => {},
      },
      stop.signal,
    );
    for await (const step of reading) {
      progress.push(step);
      if (progress.length >= steps) stop.abort();
    }
  })().finally(() => {
    isDone = true;
  });
  // The failure is handled below.
  work.catch(() => {});
  await clock.advanceUntil(() => isDone);
  await work;
  const fresh = progress.reduce((sum, one) => sum + one.fresh, 0);
  return { progress, fresh, requests, last: progress.at(-1)! };
}

test('history is kept whole, and nobody is notified of it [long]', async () => {
  const before = await kept();
  expect(before.length).toBeLessThan(30);
  const forwarded = stage.forwarded().length;
  const { fresh, last } = await readBack();
  expect(await kept()).toEqual(truthFrom(0));
  expect(fresh).toBe(truthFrom(0).length - before.length);
  expect(last).toMatchObject({ done: last.streams, share: 1, unread: 0 });
  await stage.minutesPass(60);
  expect(stage.received()).toEqual([]);
  expect(stage.forwarded().length - forwarded).toBe(0);
});

test('history is kept whole even if the service refuses pages as large as the requested ones [long]', async () => {
  Object.assign(stage.eu.behaviours, { maxPageSize: 4, overMaxPageSize: 'refuse' });
  const { last } = await readBack();
  expect(await kept()).toEqual(truthFrom(0));
  expect(last).toMatchObject({ done: last.streams, share: 1, unread: 0 });
});

test('a second reading finds nothing new, and the watch continues as before [long]', async () => {
  await readBack();
  const all = await kept();
  const again = await readBack({ fromUs: beganUs - 12 * HOUR_US });
  expect(again.fresh).toBe(0);
  expect(await kept()).toEqual(all);
  const [birdId] = [...stage.eu.birds.keys()];
  stage.eu.startFlight(birdId!, { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(5);
  expect(stage.received().map(({ status }) => status)).toEqual(['firing']);
});

test('only what is in the window is read [long]', async () => {
  const [fromUs, toUs] = [beganUs - 6 * HOUR_US, beganUs - 3 * HOUR_US];
  const before = new Set(await kept());
  await readBack({ fromUs, toUs });
  const instants = (await stage.store.transaction((tx) => tx.events.page({ limit: 1_000 }))).events
    .filter(({ key }) => !before.has(key))
    .map(({ occurredAtUs }) => occurredAtUs);
  // The bounds are not exact; a Flight counts by its start.
  expect(Math.min(...instants)).toBeGreaterThanOrEqual(fromUs - 2_000_000);
  expect(Math.max(...instants)).toBeLessThanOrEqual(toUs + 32_000_000);
  expect(instants.length).toBeGreaterThan(3 * 18 - 3);
});

test.each([1, 3, 8, 14])(
  'interrupted after %i steps, the same reading continues where it stopped [long]',
  async (steps) => {
    const whole = { fromUs: beganUs - 11 * HOUR_US, toUs: beganUs };
    const first = await readBack({ ...whole, steps });
    expect(first.progress).toHaveLength(steps);
    const rest = await readBack(whole);
    expect(await kept()).toEqual(truthFrom(0));
    const done = await readBack(whole);
    expect([done.fresh, done.requests]).toEqual([0, 0]);
    expect(rest.requests).toBeGreaterThan(0);
  },
);

test('with --notify events are forwarded, and alerts raised by the rules [long]', async () => {
  const before = new Set(stage.forwarded());
  await readBack({ notify: true });
  await stage.minutesPass(120);
  const news = stage.forwarded().filter((key) => !before.has(key));
  expect([...before, ...news].toSorted()).toEqual(truthFrom(0));
  const names = stage.alerts().map(({ labels }) => labels.alertname);
  expect(names).toContain('ServiceNotification');
});

test('what happened since the daemon stopped is still told by it, and forwarded [long]', async () => {
  const [birdId] = [...stage.eu.birds.keys()];
  const quiet = stage.eu.addBird([...stage.eu.nests.keys()][0]!, { name: 'Quiet', triggerType: 'event' }).id;
  await stage.minutesPass(11);
  stage.eu.startFlight(birdId!, { endsAs: 'failed', fliesForMs: 240_000, errorMessages: 'In the air' });
  await stage.minutesPass(2);
  await stage.restart(async () => {
    await stage.clock.advance(180_000);
    stage.eu.startFlight(birdId!, { endsAs: 'failed', fliesForMs: 1_000, errorMessages: 'Meanwhile' });
    stage.eu.save(quiet);
    await stage.clock.advance(30_000);
    await readBack();
  });
  await stage.minutesPass(10);
  const saved = stage.eu.truth().events.filter(({ birdId }) => birdId === quiet);
  expect(stage.forwarded()).toEqual(expect.arrayContaining(saved.map(({ key }) => key)));
  const failures = truthFrom(beganUs).filter((key) => key.endsWith('/failed'));
  const told = stage.alerts().flatMap(({ events }) => events.map(({ key }) => key));
  expect(told.filter((key) => failures.includes(key)).toSorted()).toEqual(failures);
  expect(stage.forwarded()).toEqual(expect.arrayContaining(failures));
  expect(failures).toHaveLength(2);
});

test('a region without any known Nest is refused [long]', async () => {
  await stage.store.transaction(async (tx) => {
    for (const nest of await tx.inventory.nests('eu'))
      await tx.inventory.putNests([{ ...nest, present: false }]);
  });
  await expect(readBack()).rejects.toThrow('no Nest of region eu is known yet: run the daemon first');
});
