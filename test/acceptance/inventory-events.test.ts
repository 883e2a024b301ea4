/** What the inventory notices between two readings becomes an event, once; what only comes to be watched does not. */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Event } from '../../src/domain/alert/event.ts';
import { createMatcher } from '../../src/domain/matchers/matcher.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { tempFolder } from '../http/servers.ts';
import { type Between, createStage, type Stage, type StageOptions } from './stage.ts';

/** Two readings of the inventory. */
const TWICE = 11;

function stageOf(options: StageOptions = {}): Promise<Stage> {
  return createStage({
    regions: ['eu'],
    ...options,
    before(world) {
      const ann = world.addUser({ email: 'ann@example.com' });
      for (const name of ['Customer 3', 'Customer 4']) {
        const { id } = world.addNest({ name, members: [ann.id] });
        world.addBird(id, { name: `Sync ${name}`, triggerType: 'manual' });
      }
      options.before?.(world);
    },
  });
}

async function noticed({ store }: Stage, query = {}): Promise<Event[]> {
  const page = await store.transaction((tx) => tx.events.page({ feed: 'inventory', limit: 1000, ...query }));
  return page.events.toReversed();
}

const messages = async (stage: Stage) => (await noticed(stage)).map(({ message }) => message).sort();

const nestNamed = (world: World, name: string) => [...world.nests.values()].find((one) => one.name === name)!;
const birdNamed = (world: World, name: string) => [...world.birds.values()].find((one) => one.name === name)!;
const ann = (world: World) => [...world.users.values()][0]!;

/** Answers in the place of the service, where `answer` does. */
const inFront =
  (answer: (path: string, body: unknown) => unknown): Between =>
  async (request, pass) => {
    const given = await pass();
    const path = new URL(request.url).pathname.replace('/api-rest', '');
    const changed = answer(path, given.status === 200 && given.body ? JSON.parse(given.body) : undefined);
    if (typeof changed === 'number') return { ...given, status: changed, body: '' };
    return changed === undefined ? given : { ...given, body: JSON.stringify(changed) };
  };

test('every change of Nests, Birds, members and Users is an event, forwarded once, and found by its Bird and Nest [long]', async () => {
  const stage = await stageOf();
  const { eu } = stage;
  await stage.minutesPass(TWICE);
  expect(await noticed(stage)).toEqual([]);

  const [third, fourth] = [nestNamed(eu, 'Customer 3'), nestNamed(eu, 'Customer 4')];
  const [moved, gone] = [birdNamed(eu, 'Sync Customer 3'), birdNamed(eu, 'Sync Customer 4')];
  const beganUs = stage.clock.nowUs();
  eu.moveBird(moved.id, fourth.id);
  eu.renameBird(moved.id, 'Sync <b>orders</b>');
  eu.setTrigger(moved.id, 'scheduled');
  eu.unpublish(moved.id);
  eu.deleteBird(gone.id);
  eu.renameNest(third.id, 'Customer 33');
  const bob = eu.addUser({ email: 'bob@evil.example', firstName: 'Bob', lastName: '' });
  eu.addMember(third.id, bob.id);
  eu.removeMember(fourth.id, ann(eu).id);
  eu.setUserActive(ann(eu).id, false);
  const fifth = eu.addNest({ name: 'Customer 5', members: [bob.id] });
  eu.addBird(fifth.id, { name: 'New', triggerType: 'manual' });
  await stage.minutesPass(TWICE);
  eu.publish(moved.id);
  eu.setUserActive(ann(eu).id, true);
  eu.deleteNest(fifth.id);
  eu.restoreBird(gone.id);
  eu.setTrigger(gone.id, 'event');
  await stage.minutesPass(TWICE);

  const between =
    ' between 2 Jul 2026, 12:10 UTC and 2 Jul 2026, 12:11 UTC. The interface does not say who added them.';
  const events = await noticed(stage);
  expect(events.map(({ type, message }) => `${type.slice('inventory.'.length)}: ${message}`).sort()).toEqual([
    'bird_created: New was created in Customer 5',
    'bird_created: Sync Customer 4 is listed again, in Customer 4',
    'bird_gone: New is no longer listed in Customer 5',
    'bird_gone: Sync Customer 4 is no longer listed in Customer 4',
    'bird_moved: Sync <b>orders</b> moved from Customer 3 to Customer 4',
    'bird_published: Sync <b>orders</b> is published',
    'bird_renamed: Bird renamed from "Sync Customer 3" to "Sync <b>orders</b>"',
    'bird_trigger_changed: Trigger of Sync <b>orders</b> changed from manual to scheduled',
    'bird_trigger_changed: Trigger of Sync Customer 4 changed from manual to event',
    'bird_unpublished: Sync <b>orders</b> is no longer published',
    `member_added: bob@evil.example became a member of Customer 33${between}`,
    `member_added: bob@evil.example became a member of Customer 5${between}`,
    'member_removed: ann@example.com is no longer a member of Customer 4',
    'nest_created: Customer 5 was created',
    'nest_gone: Customer 5 is no longer listed',
    'nest_renamed: Nest renamed from "Customer 3" to "Customer 33"',
    'user_activated: User ann@example.com was activated',
    'user_deactivated: User ann@example.com was deactivated',
  ]);

  const renamed = events.find(({ type }) => type === 'inventory.bird_renamed')!;
  expect(renamed.key).toMatch(/^eu\/inventory\/[0-9a-f]{32}$/);
  expect(renamed).toMatchObject({ nest: 'Customer 4', birdId: moved.id, bird: 'Sync <b>orders</b>' });
  expect(renamed.attributes).toMatchObject({ before: 'Sync Customer 3', after: 'Sync <b>orders</b>' });
  const sinceUs = Date.parse(String(renamed.attributes.noticed_since)) * 1000;
  expect(sinceUs).toBeLessThanOrEqual(beganUs);
  expect(renamed.occurredAtUs).toBeGreaterThanOrEqual(beganUs);
  expect(renamed.occurredAtUs - sinceUs).toBeLessThan(6 * 60e6);
  const added = events.find(({ type }) => type === 'inventory.member_added')!;
  expect(added.attributes).toMatchObject({ user_id: bob.id, email: 'bob@evil.example', name: 'Bob' });

  expect(
    stage
      .forwarded()
      .filter((key) => key.startsWith('eu/inventory/'))
      .sort(),
  ).toEqual(events.map(({ key }) => key).sort());
  const types = async (query: object) => (await noticed(stage, query)).map(({ type }) => type).sort();
  const ofGone = ['inventory.bird_created', 'inventory.bird_gone', 'inventory.bird_trigger_changed'];
  expect(await types({ bird: gone.id })).toEqual(ofGone);
  expect(await types({ nest: third.id })).toEqual(['inventory.member_added', 'inventory.nest_renamed']);
  expect(await types({ type: 'inventory.user_activated', text: 'ann@' })).toEqual([
    'inventory.user_activated',
  ]);
  const log = await stage.store.transaction((tx) => tx.birds.log('eu', gone.id, 20));
  expect(log.map(({ type }) => type).sort()).toEqual(ofGone);
});

test('what only comes to be watched makes no event: after the configuration, or a right, has changed [long]', async () => {
  let isHidden = true;
  let isRefused = true;
  let world!: World;
  const stage = await stageOf({
    excludedNests: ['Sandbox*'],
    before(own) {
      world = own;
      for (const name of ['Hidden', 'Refused', 'Sandbox']) {
        const { id } = world.addNest({ name, members: [ann(world).id] });
        world.addBird(id, { name: `Bird of ${name}`, triggerType: 'manual' });
      }
      world.addNest({ name: 'Last' });
    },
    between: inFront((path, body) => {
      const refused = nestNamed(world, 'Refused');
      if (isRefused && path === `/nests/${refused.id}/birds`) return 403;
      if (isHidden && path === '/nests')
        return (body as { name: string }[]).filter((one) => one.name !== 'Hidden');
      return undefined;
    }),
  });
  await stage.minutesPass(TWICE);
  isHidden = false;
  isRefused = false;
  await stage.minutesPass(TWICE);
  await stage.regionsFollow({ nests: { include: ['*'], exclude: [] } });
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toEqual([]);

  // From now on they are watched like the others.
  for (const name of ['Hidden', 'Refused', 'Sandbox'])
    world.renameBird(birdNamed(world, `Bird of ${name}`).id, name);
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toEqual([
    'Bird renamed from "Bird of Hidden" to "Hidden"',
    'Bird renamed from "Bird of Refused" to "Refused"',
    'Bird renamed from "Bird of Sandbox" to "Sandbox"',
  ]);
});

test('a Bird that is moved out of a Nest that is not watched has moved, and was not created [long]', async () => {
  const stage = await stageOf({
    excludedNests: ['Sandbox'],
    before(world) {
      const { id } = world.addNest({ name: 'Sandbox' });
      world.addBird(id, { name: 'Grown up', triggerType: 'manual' });
      world.addBird(nestNamed(world, 'Customer 3').id, { name: 'Younger', triggerType: 'manual' });
    },
  });
  await stage.minutesPass(TWICE);
  stage.eu.moveBird(birdNamed(stage.eu, 'Grown up').id, nestNamed(stage.eu, 'Customer 3').id);
  stage.eu.addBird(nestNamed(stage.eu, 'Customer 3').id, { name: 'Youngest', triggerType: 'manual' });
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toEqual([
    'Grown up moved to Customer 3 from a Nest that is not watched',
    'Youngest was created in Customer 3',
  ]);
});

test.each(['a Nest', 'a Bird', 'a member', 'all members'])(
  'nothing is gone if one list lacks %s [long]',
  async (what) => {
    let isCut = false;
    const lists: Record<string, (nests: { members: unknown[] }[]) => unknown> = {
      'a Nest': (nests) => nests.slice(1),
      'a member': (nests) => nests.map((nest) => ({ ...nest, members: [] })),
      'all members': (nests) => nests.map((nest) => ({ ...nest, members: null })),
    };
    const stage = await stageOf({
      between: inFront((path, body) => {
        if (!isCut) return undefined;
        if (path === '/nests' && what !== 'a Bird') return lists[what]!(body as { members: unknown[] }[]);
        return what === 'a Bird' && path.endsWith('/birds') ? [] : undefined;
      }),
    });
    await stage.minutesPass(TWICE);
    isCut = true;
    await stage.minutesPass(5);
    isCut = false;
    await stage.minutesPass(TWICE);
    expect(await messages(stage)).toEqual([]);
    if (what === 'all members') return;
    isCut = true;
    await stage.minutesPass(TWICE);
    expect(await messages(stage)).not.toEqual([]);
  },
);

test('after a backup is restored, what happened since it was made is noticed again, and nothing else [long]', async () => {
  const folder = tempFolder();
  const storePath = join(folder, 'store.db');
  const stage = await stageOf({ storePath });
  const { eu } = stage;
  await stage.minutesPass(TWICE);
  eu.renameBird(birdNamed(eu, 'Sync Customer 3').id, 'Before');
  eu.setTrigger(birdNamed(eu, 'Before').id, 'scheduled');
  await stage.minutesPass(TWICE);
  await stage.restart(() => copyFileSync(storePath, join(folder, 'backup.db')));
  const before = await messages(stage);
  eu.renameBird(birdNamed(eu, 'Sync Customer 4').id, 'Since');
  eu.removeMember(nestNamed(eu, 'Customer 4').id, ann(eu).id);
  await stage.minutesPass(TWICE);
  const since = await messages(stage);
  expect([before.length, since.length]).toEqual([2, 4]);
  await stage.restart(() => {
    for (const ending of ['-wal', '-shm']) rmSync(`${storePath}${ending}`, { force: true });
    copyFileSync(join(folder, 'backup.db'), storePath);
  });
  expect(await messages(stage)).toEqual(before);
  await stage.minutesPass(2 * TWICE);
  expect(await messages(stage)).toEqual(since);
});

test('members and Users are read only where somebody wants to be told of them [long]', async () => {
  const forward = (text: string) => [{ matchers: [createMatcher('type', '=~', text)], receiver: 'lake' }];
  const stage = await stageOf({ forward: forward('flight.*|inventory.bird_.*') });
  const { eu } = stage;
  const asked = () => eu.requests().byOperation.searchUsers ?? 0;
  await stage.minutesPass(TWICE);
  eu.removeMember(nestNamed(eu, 'Customer 3').id, ann(eu).id);
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toEqual([]);
  expect(asked()).toBe(0);

  await stage.follows((config) => ({ ...config, forward: forward('inventory.*') }));
  await stage.minutesPass(TWICE);
  const readings = stage.happenings.filter((one) => one.what === 'inventory').length;
  eu.setUserActive(ann(eu).id, false);
  eu.removeMember(nestNamed(eu, 'Customer 4').id, ann(eu).id);
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toEqual([
    'User ann@example.com was deactivated',
    'ann@example.com is no longer a member of Customer 4',
  ]);
  expect(asked()).toBeLessThanOrEqual(readings + 3);

  // Users that cannot be listed hold up nothing else.
  eu.goDown(403, 'searchUsers');
  eu.renameBird(birdNamed(eu, 'Sync Customer 3').id, 'Renamed');
  await stage.minutesPass(TWICE);
  expect(await messages(stage)).toContain('Bird renamed from "Sync Customer 3" to "Renamed"');
});
