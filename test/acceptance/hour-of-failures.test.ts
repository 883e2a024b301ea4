/**
 * For an hour all Birds of a region fail, also when they are flown again, and rules may act within their default limits:
 * what the service is asked for, and what people read of all the rest.
 */
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Action } from '../../src/domain/action/action.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { read } from '../web/pages/read.ts';
import { openAgain } from './fly-stage.ts';

const HOUR_US = 3_600_000_000;

const { actions = [] } = loadConfig({
  file: 'nestwatch.yaml',
  text: `
regions: { eu: { base_url: "https://eu.example/api-rest", token: token, fly: true } }
receivers: [{ name: ops }]
route: { receiver: ops }
actions:
  - { name: own, on: FlightFailed, match: ['nest="Prod EU"'], do: fly_again, per_hour: 10, dry_run: false }
  - { name: held, on: FlightFailed, match: ['nest="Sales"'], do: fly_again, per_hour: 10, hold_notification: 20m, dry_run: false }`,
  environment: {},
  readFile: () => '',
});

/** Words, since errors that differ by numbers only are the same. */
const CAUSES = ['apple', 'birch', 'cedar', 'daisy', 'elder', 'fern', 'grape', 'hazel'];

test('in an hour of failures rules keep their limits, and each start that was not made has its reason [long]', {
  timeout: 120_000,
}, async () => {
  const errors = new Map<string, string>();
  const special: Record<string, string> = {};
  let eu: World | undefined;
  const fail = (bird: string) => {
    const { id } = eu!.startFlight(bird);
    eu!.endFlight(id, 'failed', { errorMessages: errors.get(bird)! });
  };
  const again = await openAgain({
    actions,
    digests: [{ name: 'd', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
    before(world) {
      eu = world;
      const add = (nest: string, name: string, error: string) => {
        const { id } = world.addBird(nest, { name, triggerType: 'manual', flightDurationMs: 86_400_000 });
        errors.set(id, error);
        return id;
      };
      const prod = [...world.nests.values()][0]!.id;
      for (const word of CAUSES) add(prod, `Sync ${word}`, `The ${word} is missing`);
      for (const [id, { name }] of world.birds) if (!errors.has(id)) errors.set(id, `${name} fails`);
      const sales = world.addNest({ name: 'Sales' }).id;
      for (const name of ['One', 'Two', 'Three', 'Four']) add(sales, name, 'The quota is used up');
      for (const name of ['changed', 'cancelled', 'in the air', 'suspended'])
        special[name] = add(sales, `Is ${name}`, `It is ${name}`);
    },
    async onPost(request, pass) {
      const response = await pass();
      const bird = new URL(request.url).pathname.split('/').at(-1)!;
      const { id } = eu!.birds.get(bird)!.flights.at(-1)!;
      eu!.endFlight(id, 'failed', { errorMessages: errors.get(bird)! });
      return response;
    },
  });
  const { stage, posts, web } = again;
  eu!.startFlight(special['in the air']!);
  for (let minute = 0; minute < 60; minute += 1) {
    for (const [at, bird] of [...errors.keys()].entries()) {
      if ((minute + at) % 4 !== 0) continue;
      fail(bird);
      if (bird === special.changed) eu!.publish(bird);
      if (bird === special.cancelled) eu!.endFlight(eu!.startFlight(bird).id, 'cancelled');
      if (bird === special.suspended && minute === 30) eu!.suspend(bird);
    }
    await stage.minutesPass(1);
  }
  await stage.minutesPass(70);

  const all = (
    await Promise.all(
      [...errors.keys()].map((bird) => stage.store.transaction((tx) => tx.actions.ofBird('eu', bird, 1_000))),
    )
  ).flat();
  const asked = all.filter(({ askedAtUs }) => askedAtUs > 0);
  const withheld = all.filter(({ state }) => state === 'withheld');
  expect(asked).toHaveLength(posts.length);
  expect(asked.length + withheld.length).toBe(all.length);
  const within = ({ rule, askedAtUs }: Action) =>
    asked.filter(
      (one) => one.rule === rule && Math.abs(one.askedAtUs - askedAtUs - HOUR_US / 2) <= HOUR_US / 2,
    );
  expect(Math.max(...asked.map((one) => within(one).length))).toBe(10);
  const ofBird = Map.groupBy(posts, (path) => path);
  expect(Math.max(...[...ofBird.values()].map(({ length }) => length))).toBe(2);

  const byGuard = Map.groupBy(withheld, ({ guard }) => guard);
  expect([...byGuard.keys()].toSorted()).toEqual([
    ...['at_most', 'cancelled', 'changed', 'in_air', 'not_startable', 'per_hour', 'shared_cause'],
  ]);
  const sums: Record<string, number> = { flown: 0 };
  for (const { notification } of stage.digests) {
    sums.flown! += notification.digest.acted?.flown ?? 0;
    for (const [guard, count] of Object.entries(notification.digest.acted?.withheld ?? {}))
      sums[guard] = (sums[guard] ?? 0) + count;
  }
  expect(sums).toEqual({
    flown: posts.length,
    ...Object.fromEntries([...byGuard].map(([guard, those]) => [guard, those.length])),
  });

  const failures = (
    await stage.store.transaction((tx) => tx.events.page({ type: 'flight.failed', limit: 1_000 }))
  ).events;
  expect(failures.length).toBeGreaterThan(250);
  const headers = { authorization: 'Bearer token of flyer' };
  for (const { key } of failures) {
    const { json } = await web.ask(`/api/v1/events/${encodeURIComponent(key)}/explain`, headers);
    const { actions: said } = json as { actions: { summary: string }[] };
    expect(said.map(({ summary }) => summary).join(' '), key).toMatch(
      /^(Flown again .*by rule (own|held) \(\d of 2\)|Not flown again by rule (own|held): \w)/,
    );
  }
  for (const [guard, [one]] of byGuard) {
    const { body } = await web.ask(`/flights/eu/${one!.failedFlightId}`, headers);
    expect(read(body), guard).toContain(one!.reason);
  }
});
