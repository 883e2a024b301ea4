/** A process that is killed around a reading that shows changes makes exactly one event of each. */
import { expect, onTestFinished, test } from 'vitest';
import { createDaemon } from '../../../src/daemon.ts';
import { createMortal, type Mortal } from '../mortal.ts';
import { type LifePlan, type Plan, planOf } from '../plan.ts';
import { openScene } from '../run.ts';

const READING_MS = 300_000;

/** A region in which nothing happens by itself, and receivers that accept everything. */
function quietPlan(): Plan {
  const plan = planOf(1, { hours: 1 });
  const region = plan.regions[0]!;
  const life = Object.fromEntries(Object.keys(region.life).map((key) => [key, 0])) as unknown as LifePlan;
  const receivers = Object.fromEntries(Object.keys(plan.receivers).map((key) => [key, 0]));
  return {
    ...plan,
    regions: [{ ...region, birds: 5, nests: 2, behaviours: {}, life, cutLists: 0, outages: [] }],
    receivers: receivers as unknown as Plan['receivers'],
    clockAheadMs: 0,
  };
}

const KILLS = 50;

test(`${KILLS} kills before and after the commits of a reading lose and repeat nothing [long]`, async () => {
  const scene = await openScene(1, quietPlan(), { hours: 1 });
  const { clock, worlds, kept, receivers, store } = scene;
  const [world] = worlds as [(typeof worlds)[number]];
  let life!: Mortal;
  let deaths = 0;
  const start = () => {
    const mortal = createMortal(
      clock,
      () => 0,
      () => {
        deaths += 1;
      },
    );
    life = mortal;
    void createDaemon(scene.partsOf(mortal))
      .run(new AbortController().signal)
      .catch(() => {});
  };
  onTestFinished(async () => {
    life.die();
    await store.close();
  });
  start();
  await clock.advance(READING_MS);
  expect(kept.events).toEqual([]);

  const [bird] = [...world.birds.values()];
  const [nest] = [...world.nests.values()];
  const [user] = [...world.users.values()];
  const expected: string[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    world.renameBird(bird!.id, `Name ${round}`);
    if (round % 2 === 0) world.addMember(nest!.id, user!.id);
    else world.removeMember(nest!.id, user!.id);
    expected.push(`Name ${round}`, round % 2 === 0 ? 'member_added' : 'member_removed');
    // An even number waits for a transaction that stores events.
    life.doom(round % 3 === 0 ? 'committed' : 'rolled_back', round % 4 === 3 ? round : 0);
    await clock.advanceUntil(() => life.isDead(), 2 * READING_MS);
    start();
    await clock.advance(3 * READING_MS);
  }
  expect(deaths).toBe(KILLS);
  const told = kept.events.map(({ type, attributes }) =>
    type === 'inventory.bird_renamed' ? String(attributes.after) : type.slice('inventory.'.length),
  );
  expect(told.toSorted()).toEqual(expected.toSorted());
  const lake = receivers.arrivals.flatMap(({ events }) => events.map(({ key }) => key));
  expect(lake.toSorted()).toEqual(kept.events.map(({ key }) => key).toSorted());
});
