/** Nests in which nobody of a domain is left, with the whole daemon. */
import { expect, test } from 'vitest';
import { parseMatchers } from '../../src/domain/matchers/matcher.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage } from './stage.ts';

const POLL = { intervalMs: 1_000, minIntervalMs: 500, maxIntervalMs: 5_000, inventoryIntervalMs: 2_000 };
const ROUTE = { groupWaitMs: 1_000, groupIntervalMs: 1_000, groupBy: ['alertname', 'nest'] };

let stage: Stage;
const nests: Record<string, string> = {};
const users: Record<string, string> = {};

async function begin(before: (world: World) => void = () => {}): Promise<World> {
  const owned = {
    ...rule('NestWithoutOwner', { only: ['*@example.com'] }),
    match: parseMatchers('nest=~"Cust.*"'),
  };
  stage = await createStage({
    ...{ regions: ['eu'], poll: POLL, route: ROUTE, rules: [owned] },
    before(world) {
      for (const name of ['owner@example.com', 'guest@customer.example'])
        users[name] = world.addUser({ email: name }).id;
      for (const name of ['Customer 3', 'Customer 4', 'Sandbox']) nests[name] = world.addNest({ name }).id;
      world.addBird(nests['Customer 3']!, { name: 'Sync', triggerType: 'manual' });
      for (const nestId of Object.values(nests)) world.addMember(nestId, users['guest@customer.example']!);
      for (const name of ['Customer 3', 'Customer 4'])
        world.addMember(nests[name]!, users['owner@example.com']!);
      before(world);
    },
  });
  await stage.secondsPass(20);
  return stage.eu;
}

const told = () =>
  stage
    .alerts('NestWithoutOwner')
    .map(({ status, labels, annotations }) =>
      [status, labels.nest, status === 'firing' ? annotations.description : annotations.resolved_by].join(
        ' ',
      ),
    );

test('whose last owner leaves is told, with who and when, until there is another [long]', async () => {
  const world = await begin();
  expect(told()).toEqual([]);
  world.removeMember(nests['Customer 4']!, users['owner@example.com']!);
  await stage.secondsPass(12);
  expect(told()).toEqual([
    'firing Customer 4 Customer 4 has no active member of @example.com; the last, owner@example.com, left or was deactivated at 2 Jul 2026, 12:00 UTC.',
  ]);
  await stage.restart();
  await stage.secondsPass(20);
  expect(told()).toHaveLength(1);
  world.addMember(nests['Customer 4']!, users['owner@example.com']!);
  await stage.secondsPass(12);
  expect(told()[1]).toBe('resolved Customer 4 it has owner@example.com as an active member');
  expect(told()).toHaveLength(2);
});

test('nothing is told of what cannot be read, and then of what was so before [long]', async () => {
  const world = await begin((one) => {
    one.removeMember(nests['Customer 3']!, users['owner@example.com']!);
    one.goDown(403, 'searchNests');
  });
  await stage.secondsPass(60);
  expect(told()).toEqual([]);
  world.comeUp();
  await stage.secondsPass(90);
  expect(told()).toEqual(['firing Customer 3 Customer 3 has no active member of @example.com.']);
});
