/**
 * The state of a region that another replica reads: as that replica shows it, if both understand it in the same way.
 */
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { createOwnership } from '../../src/replicas/ownership.ts';
import { createOwnedRegion } from '../../src/replicas/part.ts';
import { settingOf } from '../../src/stages.ts';
import { regionDuty } from '../../src/store/ownership-store.ts';
import { createStoreClock } from '../../src/time/clock.ts';
import { openMemory } from '../store/test-store.ts';
import { turnsBy } from '../store/turns-by.ts';
import { createVirtualClock } from '../virtual-clock.ts';

const CONFIG = `regions: { eu: { base_url: "https://eu.example.com/api-rest", token: token } }`;

test('what a replica of another version shows is not taken for what this one would show [long]', async () => {
  const clock = createVirtualClock();
  const store = await openMemory(clock);
  const wakes = { ring() {}, listen: () => () => {} };
  const ownership = createOwnership({
    ...{
      store,
      clock,
      wakes,
      name: 'own',
      version: '1',
      turns: turnsBy(store),
      storeClock: createStoreClock(clock),
    },
    ...{ random: () => 0.5, report: () => {}, refused: () => undefined },
    configInForce: () => ({ digest: '', sinceUs: 0 }),
  });
  const config = loadConfig({ file: 'n.yaml', text: CONFIG, environment: {}, readFile: () => '' });
  const region = createOwnedRegion({
    setting: settingOf(config, config.regions[0]!),
    ownership,
    create: () => {
      throw new Error('it is read elsewhere');
    },
    ...{ reaches: async () => false, wakes, clock, random: () => 0.5, report: () => {} },
  });
  const lease = await store.transaction(async (tx) => {
    const other = await tx.ownership.join('other', '2', 3_600_000);
    return (await tx.ownership.take(regionDuty('eu'), other))!;
  });
  const shows = async (shown: unknown) => {
    await store.ownership.show([{ lease, shown: JSON.stringify(shown) }]);
    await clock.advance(20_000);
    return region.snapshot();
  };
  const membership = ownership.begin();
  const snapshot = { ...region.snapshot(), started: true, birds: 7, feeds: [] };

  expect(await shows({ shape: 1, snapshot, flightsReadUs: { b1: 5 } })).toEqual(snapshot);
  expect(region.flightsReadUs('b1')).toBe(5);
  expect(region.inventoryRead()).toBeUndefined();
  const inventoryRead = { atUs: 7, unread: ['n1'] };
  await shows({ shape: 1, snapshot, flightsReadUs: {}, inventoryRead });
  expect(region.inventoryRead()).toEqual(inventoryRead);
  expect(await shows({ shape: 2, snapshot: 'another one' })).toMatchObject({ started: false, birds: 0 });
  expect(region.flightsReadUs('b1')).toBeUndefined();
  expect(await shows({ snapshot: { ...snapshot, feeds: undefined } })).toMatchObject({ feeds: [] });
  expect(region.verified()).toEqual({ region: 'eu', verifiedUntilUs: Number.POSITIVE_INFINITY });
  await membership.end();
  await store.close();
});
