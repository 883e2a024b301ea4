/** The events of the inventory at its bounds: many at once, and commits whose outcome is not known. */
import { beforeEach, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import { NestwatchError } from '../../../src/errors.ts';
import { type Commit, createCommit } from '../../../src/intake/commit.ts';
import { Inventory } from '../../../src/intake/inventory/inventory.ts';
import { wantedPeople } from '../../../src/intake/inventory/listed-before.ts';
import type { ServiceClient } from '../../../src/service/client.ts';
import { readBird, readNest } from '../../../src/service/resources.ts';
import { everyPage } from '../../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../../store/test-store.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';

let clock: VirtualClock;
let store: TestStore;
beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
});

/** The name of each Bird by its id, in Nests of a hundred. */
type Birds = ReadonlyMap<number, string>;

async function watch(
  birds: () => Birds,
  commitOf: (commit: Commit) => Commit = (one) => one,
): Promise<Inventory> {
  const answer = <T>(value: T) => Promise.resolve({ value, serverTimeUs: null });
  const nestOf = (id: number) => String(Math.floor(id / 100));
  const client = {
    searchNests: () =>
      answer([...new Set([...birds().keys()].map(nestOf))].map((id) => readNest({ id, name: `Nest ${id}` }))),
    searchBirds: (nestId: string) =>
      answer(
        [...birds()]
          .filter(([id]) => nestOf(id) === nestId)
          .map(([id, name]) => readBird({ id, name, status: 'active' }, { nestId })),
      ),
    health: () => ({ health: 'up' }),
  } as unknown as ServiceClient;
  const report = () => {};
  const commit = createCommit({ store, rules: [], forward: [], clock, report, changed() {} });
  const inventory = new Inventory({
    ...{ region: 'eu', client, store, clock, report, commit: commitOf(commit) },
    ...{ nests: { include: ['*'], exclude: [] }, wanted: wantedPeople([], []) },
    nestsListed() {},
    birdsAdded() {},
  });
  await inventory.load();
  return inventory;
}

async function noticed(): Promise<Event[]> {
  const pages = await everyPage((cursor) => store.events.page({ feed: 'inventory', limit: 1000, cursor }));
  return pages.flatMap(({ events }) => events);
}

const named = (count: number, name = 'Bird') =>
  new Map(Array.from({ length: count }, (_, at) => [100 + at, `${name} ${at}`]));

test('a first reading of ten thousand Birds is no event, a thousand renames are a thousand [long]', async () => {
  let birds = named(10_000);
  const inventory = await watch(() => birds);
  await inventory.poll();
  await inventory.poll();
  expect(await noticed()).toEqual([]);
  birds = new Map([...birds, ...named(1_000, 'Renamed')]);
  await clock.advance(300_000);
  await inventory.poll();
  await inventory.poll();
  const events = await noticed();
  expect(events).toHaveLength(1_000);
  expect(new Set(events.map(({ birdId }) => birdId)).size).toBe(1_000);
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['inventory.bird_renamed']));
});

test.each(['has happened', 'has not happened'])(
  'a commit that fails and %s makes each event once',
  async (outcome) => {
    let birds = named(3);
    let isFailing = false;
    const inventory = await watch(
      () => birds,
      (commit) => async (batch) => {
        if (!isFailing) return commit(batch);
        isFailing = false;
        if (outcome === 'has happened') await commit(batch);
        throw new NestwatchError('unavailable', 'the connection broke');
      },
    );
    await inventory.poll();
    birds = new Map([...birds, ...named(1, 'Renamed'), [900, 'New']]);
    isFailing = true;
    await expect(inventory.poll()).rejects.toThrow('broke');
    for (let reading = 0; reading < 3; reading += 1) {
      await clock.advance(300_000);
      await inventory.poll();
    }
    const messages = (await noticed()).map(({ message }) => message).sort();
    expect(messages).toEqual([
      'Bird renamed from "Bird 0" to "Renamed 0"',
      'Nest 9 was created',
      'New was created in Nest 9',
    ]);
  },
);
