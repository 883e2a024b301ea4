/** A region that cannot be reached by the replica that reads it, but by another one. */
import { expect, test } from 'vitest';
import { openReplicas } from './open-replicas.ts';

const MINUTE_MS = 60_000;
/** In these minutes nobody takes from another what that one can do, or what nobody could do better. */
const CALM_MINUTES = 60;

/** Two replicas that have run for a while. */
async function openTwo() {
  const cutOff = new Set<string>();
  const two = await openReplicas(['a', 'b'], (name, region) => region !== 'us' || !cutOff.has(name));
  await two.clock.advance(5 * MINUTE_MS);
  const us = two.worlds.get('us')!;
  const reader = (await two.ownerOf('region us'))!;
  return {
    ...two,
    reader,
    other: reader === 'a' ? 'b' : 'a',
    /** From now on these cannot reach the region. */
    cut(...names: readonly string[]) {
      cutOff.clear();
      for (const name of names) cutOff.add(name);
    },
    failFlight() {
      const [bird] = us.birds.keys();
      return us.startFlight(bird!, { endsAs: 'failed', fliesForMs: 1_000 }).id;
    },
    /** The alerts about the region. */
    alerts: () =>
      two.heard.flatMap(({ one }) =>
        one.what === 'alert' && one.region === 'us' ? [`${one.alertname} ${one.state}`] : [],
      ),
    /** Which replica took it from which, because that one could not reach it. */
    relieved: () => two.heard.flatMap(({ name, one }) => (one.what === 'relieves' ? [name] : [])),
    /** The region's health, according to each replica. */
    healths: () =>
      [...two.replicas.values()].map(
        ({ daemon }) => daemon.regions().find(({ region }) => region === 'us')!.health.health,
      ),
  };
}

test('is soon read by the other, and stays with it [long]', async () => {
  const two = await openTwo();
  two.cut(two.reader);
  two.failFlight();
  await two.clock.advance(3 * MINUTE_MS);
  expect(await two.ownerOf('region us')).toBe(two.other);
  expect(two.relieved()).toEqual([two.other]);
  expect(two.alerts()).toContain('FlightFailed firing');
  await two.clock.advance(CALM_MINUTES * MINUTE_MS);
  expect(await two.ownerOf('region us')).toBe(two.other);
  expect(two.relieved()).toHaveLength(1);
  expect(two.healths()).toEqual(['up', 'up']);
});

test('stays where it is if nobody reaches it, and goes to the first that does [long]', async () => {
  const two = await openTwo();
  two.cut('a', 'b');
  await two.clock.advance(30 * MINUTE_MS);
  expect(await two.ownerOf('region us')).toBe(two.reader);
  expect(two.alerts()).toEqual(['RegionDown firing']);
  two.cut(two.reader);
  await two.clock.advance(8 * MINUTE_MS);
  expect(await two.ownerOf('region us')).toBe(two.other);
  expect(two.alerts()).toEqual(['RegionDown firing', 'RegionDown resolved']);
});

test('stays where it is if that is over in a moment [long]', async () => {
  const two = await openTwo();
  two.cut(two.reader);
  await two.clock.advance(40_000);
  two.cut();
  await two.clock.advance(10 * MINUTE_MS);
  expect(await two.ownerOf('region us')).toBe(two.reader);
  expect(two.relieved()).toEqual([]);
});

const answering = [
  ['answers nothing but lists of Nests and Birds', (url: string) => /\/(nests|birds)(\?|$)/.test(url)],
  ['lists no Birds', (url: string) => !url.includes('/birds')],
] as const;
test.each(answering)('stays where it is if the service %s, whoever asks [long]', async (_, answers) => {
  const two = await openReplicas(['a', 'b'], (_, region, url) => region !== 'us' || answers(url));
  await two.clock.advance(5 * MINUTE_MS);
  const reader = await two.ownerOf('region us');
  await two.clock.advance(CALM_MINUTES * MINUTE_MS);
  expect(two.heard.filter(({ one }) => one.what === 'relieves')).toEqual([]);
  expect(await two.ownerOf('region us')).toBe(reader);
});

test('stays where it is if the service lists no Birds of what is watched, whoever asks [long]', async () => {
  let sales = 'no Nest yet';
  const two = await openReplicas(['a', 'b'], (_, __, url) => !url.includes(`/nests/${sales}/birds`));
  const eu = two.worlds.get('eu')!;
  const { id } = eu.addNest({ name: 'Sales' });
  eu.addBird(id, { name: 'Sort orders', triggerType: 'manual' });
  await two.clock.advance(5 * MINUTE_MS);
  const reader = await two.ownerOf('region eu');
  sales = id;
  await two.clock.advance(CALM_MINUTES * MINUTE_MS);
  expect(two.said()).toEqual([`${reader} firing eu`]);
  expect(await two.ownerOf('region eu')).toBe(reader);
});

test('a replica that cannot reach one region is given no other [long]', async () => {
  let cutOff = '';
  const two = await openReplicas(['a', 'b'], (name, what) => what === 'watchdog' || name !== cutOff);
  await two.clock.advance(5 * MINUTE_MS);
  expect(await two.ownerOf('region eu')).not.toBe(await two.ownerOf('region us'));
  cutOff = (await two.ownerOf('region us'))!;
  const from = two.heard.length;
  await two.clock.advance(CALM_MINUTES * MINUTE_MS);
  const begun = two.heard
    .slice(from)
    .flatMap(({ name, one }) => (one.what === 'duty' && one.region && one.isOwned ? [name] : []));
  expect(begun).toEqual([cutOff === 'a' ? 'b' : 'a']);
});
