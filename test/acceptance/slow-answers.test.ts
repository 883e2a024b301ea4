/**
 * The instant since which a region is watched is stored before anything is read, however late the first answer comes.
 */
import { describe, expect, test } from 'vitest';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { sleep } from '../../src/time/clock.ts';
import { type Between, createStage, type Stage } from './stage.ts';

const HOUR_MS = 3_600_000;
const MINUTE_US = 60e6;

let stage: Stage;

function birdsOf(world: World, count: number): string[] {
  const { id } = world.addNest({ name: 'Marketing' });
  return Array.from(
    { length: count },
    (_, at) => world.addBird(id, { name: `Bird ${at}`, triggerType: 'event' }).id,
  );
}

function flies(world: World, birdId: string, endsAs: 'failed' | 'succeeded' = 'succeeded'): string {
  return world.startFlight(birdId, { endsAs, fliesForMs: 1000 }).id;
}

describe('a restart after three days whose first answers take seconds', () => {
  test.each([
    ['of Birds that flew before', true],
    ['of Birds that never flew before', false],
  ])('loses nothing %s [long]', async (_, flewBefore) => {
    let birds: string[] = [];
    let behaviours!: Behaviours;
    stage = await createStage({
      regions: ['eu'],
      before(world) {
        birds = birdsOf(world, 3);
        behaviours = world.behaviours;
      },
    });
    const world = stage.eu;
    if (flewBefore) for (const birdId of birds) flies(world, birdId);
    await stage.minutesPass(10);
    await stage.restart(async () => {
      for (let hour = 0; hour < 72; hour += 1) {
        await stage.clock.advance(HOUR_MS);
        for (const birdId of birds) flies(world, birdId);
        world.save(birds[0]!);
        world.disconnectConnection({ exhausted: true, wording: 'new' });
      }
      behaviours.latencyMs = 2_500;
    });
    await stage.secondsPass(20);
    behaviours.latencyMs = 0;
    await stage.minutesPass(15);
    expect(world.truth().events.length).toBeGreaterThanOrEqual(72 * 5);
    expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
  });
});

test('on a first start whose first answer takes ten seconds, history is not notified, and news is', async () => {
  let [old, fresh] = ['', ''];
  stage = await createStage({
    regions: ['eu'],
    behaviours: { eu: { latencyMs: 10_000 } },
    before(world) {
      const [one, two] = birdsOf(world, 2);
      const nowUs = world.nowUs();
      world.at(nowUs - 2 * MINUTE_US, () => {
        old = flies(world, one!, 'failed');
      });
      world.at(nowUs + 5e6, () => {
        fresh = flies(world, two!, 'failed');
      });
    },
  });
  await stage.minutesPass(5);
  stage.eu.behaviours.latencyMs = 0;
  await stage.secondsPass(15);
  expect([stage.lost(), stage.repeated()]).toEqual([[], []]);
  const received = stage.alerts().flatMap(({ events }) => events);
  expect(received.map(({ key }) => key)).toEqual([`eu/flight/${fresh}/failed`]);
  expect(stage.forwarded()).toContain(`eu/flight/${old}/failed`);
});

test("a first start without an inventory reads notifications by the service's clock, not by ours [long]", async () => {
  const fromUs: number[] = [];
  let isListingNests = false;
  const listen: Between = async ({ url }, pass) => {
    const { pathname, searchParams } = new URL(url);
    const from = searchParams.get('from');
    if (from) fromUs.push(Date.parse(from) * 1000);
    const isRefused = !isListingNests && pathname.endsWith('/nests');
    return isRefused ? { status: 403, headers: {}, body: '' } : pass();
  };
  const known: string[] = [];
  stage = await createStage({
    regions: ['eu'],
    between: listen,
    before(world) {
      for (const minutesAgo of [90, 30]) {
        world.at(world.nowUs() - minutesAgo * MINUTE_US, () =>
          known.push(world.disconnectConnection({ exhausted: true, wording: 'new' }).id),
        );
      }
      world.goDown();
    },
  });
  const world = stage.eu;
  await stage.restart(() => stage.ourClockSteps(3 * 3600));
  world.comeUp();
  const beganUs = world.nowUs();
  await stage.minutesPass(10);
  expect(fromUs.length).toBeGreaterThan(0);
  expect(Math.min(...fromUs)).toBeGreaterThan(beganUs - 61 * MINUTE_US);
  expect(fromUs[0]).toBeLessThan(beganUs - 59 * MINUTE_US);
  expect(stage.forwarded()).toEqual([`eu/notification/${known[1]}`]);
  isListingNests = true;
  await stage.minutesPass(10);
  expect(stage.forwarded()).toHaveLength(1);
});

test('a Bird that is not read again delays no notification', async () => {
  let isHeld = true;
  const asked: string[] = [];
  stage = await createStage({
    regions: ['eu'],
    nests: { eu: ['Deactivated'] },
    async between({ url }, pass) {
      if (!/\/birds\/[^/]+$/.test(new URL(url).pathname)) return pass();
      asked.push(url);
      while (isHeld) await sleep(stage.clock, 1_000);
      return pass();
    },
  });
  await stage.minutesPass(1);
  for (let errors = 0; errors < 5; errors += 1) stage.eu.eventError(stage.bird('Deactivated'));
  await stage.minutesPass(1);
  expect(asked.length).toBeGreaterThan(0);
  const { id } = stage.eu.disconnectConnection({ exhausted: true, wording: 'new' });
  await stage.minutesPass(1);
  expect(stage.forwarded()).toContain(`eu/notification/${id}`);
  isHeld = false;
  await stage.secondsPass(5);
});
