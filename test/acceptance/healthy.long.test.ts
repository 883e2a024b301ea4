/**
 * A service that behaves well, or as well as real ones do, raises no alarm about the watch itself: for hours no
 * impairment is reported after the first reading, no alert of the watch fires, and no heartbeat is left out.
 */
import { expect, test } from 'vitest';
import { secret } from '../../src/secret.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import type { World } from '../../src/simulator/world/world.ts';
import type { Random } from '../../src/time/clock.ts';
import { createStage, type StageOptions } from './stage.ts';

interface Case {
  readonly name: string;
  readonly birds: number;
  /** Flights an hour of an average Bird. Few Birds have most of them. */
  readonly flights: number;
  readonly stage?: StageOptions;
}

const behaving = (behaviours: NonNullable<StageOptions['behaviours']>[string]): StageOptions => ({
  behaviours: { eu: behaviours },
});

const CASES: readonly Case[] = [
  { name: 'a single Bird', birds: 1, flights: 12 },
  { name: 'Birds that fly all the time', birds: 20, flights: 6 },
  { name: 'Birds that hardly ever fly', birds: 20, flights: 0.05 },
  { name: 'many Flights of few Birds', birds: 2, flights: 300 },
  { name: 'one request a second', birds: 40, flights: 6, stage: { requestsPerSecond: 1 } },
  { name: 'many Birds', birds: 90, flights: 2, stage: { requestsPerSecond: 3 } },
  { name: 'late entries', birds: 20, flights: 6, stage: behaving({ lateShare: 0.1, lateMaxMs: 90_000 }) },
  { name: 'counts that lag', birds: 20, flights: 6, stage: behaving({ totalCountStaleMs: 5_000 }) },
  { name: 'lists that are cut off', birds: 10, flights: 20, stage: behaving({ flightsCap: 30 }) },
  { name: 'what is old is gone', birds: 20, flights: 6, stage: behaving({ retentionMs: 3 * 3_600_000 }) },
  {
    name: 'refusals now and then',
    birds: 20,
    flights: 6,
    stage: behaving({ error500: 0.01, tooManyRequests: 0.01 }),
  },
  {
    name: 'small pages, whole seconds',
    birds: 20,
    flights: 6,
    stage: behaving({
      maxPageSize: 20,
      shownPrecision: 'second',
      comparedPrecision: 'second',
      bounds: 'exclusive',
    }),
  },
];

/** What the Flights and notifications of these worlds fire. All other kinds are about the watch. */
const OF_THE_SERVICE: ReadonlySet<string> = new Set(['FlightFailed', 'FlightStuck', 'ServiceNotification']);

const HOURS = 1;
const FIRST_READING_MINUTES = 3;
/** While everything is read for the first time, and then proven complete. */
const OF_A_START: ReadonlySet<string> = new Set(['first_pass', 'feed_unproven']);

test.each(CASES)('nothing impairs the watch: $name [long]', async ({ birds, flights, stage: options }) => {
  const random = seededRandom(birds);
  const stage = await createStage({
    regions: ['eu'],
    heartbeat: { url: secret('https://hc.example/ping/x'), intervalMs: 60_000 },
    before: (world) => addBirds(world, birds),
    ...options,
  });
  const world = stage.eu;
  for (let minute = 1; minute <= HOURS * 60; minute += 1) {
    fly(world, (birds * flights) / 60, random);
    await stage.minutesPass(1);
    const { impairments } = await stage.daemon().health();
    const unexpected = impairments.filter(
      ({ reason, severity }) =>
        minute > FIRST_READING_MINUTES || !(OF_A_START.has(reason) && severity === 'info'),
    );
    expect(unexpected, `after ${minute} minutes`).toEqual([]);
  }
  const fired = stage.alerts().map(({ labels }) => labels.alertname!);
  expect(fired.filter((name) => !OF_THE_SERVICE.has(name))).toEqual([]);
  expect(stage.beats).toHaveLength(HOURS * 60);
  await stage.close();
});

function addBirds(world: World, count: number): void {
  const { id } = world.addNest({ name: 'Production' });
  for (let at = 0; at < count; at += 1) {
    world.addBird(id, { name: `Bird ${at}`, triggerType: at % 3 === 0 ? 'scheduled' : 'event' });
  }
}

/** A minute of Flights, logs and notifications. The n-th Bird flies an n-th as often as the first. */
function fly(world: World, flights: number, random: Random): void {
  const ids = [...world.birds.keys()];
  for (let left = Math.floor(flights + random()); left > 0; left -= 1) {
    const id = ids[Math.floor(ids.length ** random()) - 1]!;
    const fliesForMs = random() < 0.01 ? 4 * 3_600_000 * random() : 120_000 * random();
    world.startFlight(id, { endsAs: random() < 0.03 ? 'failed' : 'succeeded', fliesForMs });
    if (random() < 0.1) world.appendBirdLog(id, { fields: { eventType: 'Published' } });
    if (random() < 0.02)
      world.appendNotification({ fields: { eventType: 'Announcement', entityType: 'Plan' } });
  }
}
