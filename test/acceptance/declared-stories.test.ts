/** Birds that a file declares, with the whole daemon: told after `for`, and over once they are put right. */
import { expect, test } from 'vitest';
import type { DeclaredBird } from '../../src/domain/alert/rule.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { rule } from '../domain/world.ts';
import { createStage, type Stage } from './stage.ts';

const POLL = { intervalMs: 1_000, minIntervalMs: 500, maxIntervalMs: 5_000, inventoryIntervalMs: 2_000 };
const ROUTE = { groupWaitMs: 1_000, groupIntervalMs: 1_000, groupBy: ['alertname', 'bird', 'nest'] };
const NAMES = ['Nightly export', 'Sync orders', 'Translate blog'];

let stage: Stage;
let ids: string[];
let nestId: string;

const declared = (change: Partial<DeclaredBird> = {}, names = NAMES) =>
  names.map((bird) => ({ region: 'eu', nest: 'Prod EU', bird, status: 'active', ...change }));
const ruleOf = (birds: readonly DeclaredBird[]) => ({
  ...rule('BirdNotAsDeclared', { declared: birds, forMs: 60_000 }),
  id: 'declared',
});

async function begin(birds: readonly DeclaredBird[] = [], isDown = false): Promise<World> {
  stage = await createStage({
    ...{ regions: ['eu'], poll: POLL, route: ROUTE, rules: [ruleOf(birds)] },
    ...{ nests: { 'Prod EU': NAMES }, triggerType: 'manual' },
    before(world) {
      if (isDown) world.goDown(503, 'searchBirds');
    },
  });
  nestId = stage.nest('Prod EU');
  ids = NAMES.map((name) => stage.bird(name));
  await stage.secondsPass(10);
  return stage.eu;
}

const withIds = () => declared().map((one, at) => ({ ...one, id: ids[at]! }));
const follows = (birds: readonly DeclaredBird[]) =>
  stage.follows((config) => ({
    ...config,
    rules: config.rules.map((one) => (one.id === 'declared' ? ruleOf(birds) : one)),
  }));

/** What the hook was told of declared Birds: second of the story, status, Bird and text. */
const told = () =>
  stage.received().flatMap(({ receivedAtUs, alerts }) =>
    alerts
      .filter(({ labels }) => labels.alertname === 'BirdNotAsDeclared')
      .map(({ status, labels, annotations }) => ({
        at: Math.round(receivedAtUs / 1e6) % 3600,
        said: `${status} ${labels.bird}: ${status === 'firing' ? annotations.description : annotations.resolved_by}`,
      })),
  );

test('what differs is told after `for`, a Bird each, and ends when it is put right or declared so [long]', async () => {
  const world = await begin();
  await follows(withIds());
  await stage.secondsPass(60);
  expect(told()).toEqual([]);
  world.renameBird(ids[0]!, 'Nightly export v2');
  world.deleteBird(ids[1]!);
  const added = world.addBird(nestId, { name: 'New one', triggerType: 'manual' }).id;
  const beganAt = Math.round(world.nowUs() / 1e6) % 3600;
  await stage.secondsPass(59);
  expect(told()).toEqual([]);
  await stage.secondsPass(20);
  expect(
    told()
      .map(({ said }) => said)
      .toSorted(),
  ).toEqual([
    'firing New one: Not declared: the file names other Birds of this Nest, but not this one.',
    'firing Nightly export: Its name is Nightly export v2.',
    'firing Sync orders: Missing: the service has no such Bird in a Nest that nestwatch watches.',
  ]);
  for (const { at } of told()) expect(at - beganAt).toBeLessThan(60 + 15);
  // One put right, one deleted, one no longer declared; each is told once.
  world.renameBird(ids[0]!, 'Nightly export');
  world.deleteBird(added);
  await follows(withIds().filter(({ id }) => id !== ids[1]));
  await stage.secondsPass(15);
  expect(
    told()
      .slice(3)
      .map(({ said }) => said)
      .toSorted(),
  ).toEqual([
    'resolved New one: the Bird is gone, and not declared',
    'resolved Nightly export: it is as declared',
    'resolved Sync orders: the Bird is gone, and not declared',
  ]);
});

test('a Bird that is missing under its name is told, once over a restart, until there is one [long]', async () => {
  const world = await begin();
  await follows(declared({}, [...NAMES, 'Send invoices']));
  await stage.secondsPass(40);
  await stage.restart();
  await stage.secondsPass(45);
  const said = [
    'firing Send invoices: Missing: the service has no such Bird in a Nest that nestwatch watches.',
  ];
  expect(told().map((one) => one.said)).toEqual(said);
  await stage.restart();
  await stage.secondsPass(60);
  expect(told().map((one) => one.said)).toEqual(said);
  world.addBird(nestId, { name: 'Send invoices', triggerType: 'manual' });
  await stage.secondsPass(15);
  expect(told().map((one) => one.said)).toEqual([...said, 'resolved Send invoices: it is as declared']);
});

test('a suspended Bird is told once: by BirdDeactivated, and as not declared when that is over by hand [long]', async () => {
  const world = await begin();
  await follows(withIds());
  world.suspend(ids[0]!, 'editor@example.com');
  await stage.secondsPass(120);
  expect(told()).toEqual([]);
  const deactivated = (await stage.store.transaction((tx) => tx.alerts.firing(undefined, 9)))[0]!;
  expect(deactivated.alertname).toBe('BirdDeactivated');
  await stage.store.transaction((tx) => tx.alerts.put([{ ...deactivated, state: 'resolved', endsAtUs: 1 }]));
  await stage.secondsPass(80);
  expect(told().map(({ said }) => said)).toEqual([
    expect.stringMatching(
      /^firing Nightly export: Suspended, declared active \(since .* UTC, by editor@example\.com\)\.$/,
    ),
  ]);
  world.activate(ids[0]!, 'editor@example.com');
  await stage.secondsPass(15);
  expect(told().at(-1)!.said).toBe('resolved Nightly export: it is as declared');
});

test('nothing is missing while it cannot be read [long]', async () => {
  const world = await begin(declared({}, [...NAMES, 'Send invoices']), true);
  await stage.secondsPass(120);
  expect(told()).toEqual([]);
  world.comeUp();
  await stage.secondsPass(120);
  expect(told().map(({ said }) => said)).toEqual([
    'firing Send invoices: Missing: the service has no such Bird in a Nest that nestwatch watches.',
  ]);
});
