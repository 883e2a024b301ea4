import { afterEach, describe, expect, test } from 'vitest';
import { createScenario } from '../../src/simulator/story/scenario.ts';
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import { seededRandom } from '../../src/simulator/world/seeded-random.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const MINUTES = 60;
const MALFORMED_MINUTES = 60;
const LIVES = 12;

/** The minutes in which very many entries have the same instant. */
const TIES = MINUTES < 60 ? [3, 6, 9] : [3, 17, 31];

/** 3 % of all requests fail, in every possible way. */
const FAULTS: Partial<Behaviours> = {
  tooManyRequests: 0.005,
  error500: 0.005,
  error503: 0.005,
  html: 0.003,
  htmlOk: 0.003,
  reset: 0.005,
  cut: 0.002,
  truncated: 0.002,
};

/** A service that uses everything the specification leaves open against its readers. */
const HOSTILE: Partial<Behaviours> = {
  ...FAULTS,
  bounds: 'exclusive',
  maxPageSize: 37,
  lateShare: 0.2,
  lateMinMs: 0,
  lateMaxMs: 60_000,
};

function expectEachOnce(stage: Stage): void {
  for (const [region, world] of Object.entries(stage.worlds)) {
    // Events keep happening: what became visible in the last two minutes may not have been polled yet.
    const seenUs = stage.clock.nowUs() - 120e6;
    const truth = world
      .truth()
      .events.filter((one) => one.goneAtUs === undefined && one.visibleAtUs < seenUs);
    const keys = stage.forwarded().filter((key) => key.startsWith(`${region}/`));
    const seen = new Set(keys);
    const known = new Set(world.truth().events.map(({ key }) => key));
    const lost = truth.map(({ key }) => key).filter((key) => !seen.has(key));
    const repeated = keys.filter((key, index) => keys.indexOf(key) !== index);
    const invented = [...seen].filter((key) => !known.has(key));
    expect(truth.length).toBeGreaterThan(300);
    // The first few of each are enough to start debugging.
    expect({
      lost: lost.slice(0, 5),
      repeated: repeated.slice(0, 5),
      invented: invented.slice(0, 5),
    }).toEqual({
      lost: [],
      repeated: [],
      invented: [],
    });
  }
}

describe('every entry arrives exactly once', () => {
  test('with exclusive bounds, clamped pages, whole seconds, ties wider than a page, late entries and faults [long]', async () => {
    stage = await openStage({
      behaviours: {
        eu: HOSTILE,
        us: { ...HOSTILE, comparedPrecision: 'second', shownPrecision: 'second' },
      },
      before(world) {
        createScenario(world, {
          random: seededRandom(world.region === 'eu' ? 11 : 12),
          birds: 12,
          flightsPerHour: 120,
          eventErrorsPerHour: 60,
          editsPerHour: 60,
          historyMs: 1_800_000,
        });
      },
    });
    const { worlds, clock } = stage;
    // Ties: three pages of notifications, and of one Bird's logs, at the very same instant.
    for (const world of Object.values(worlds)) {
      const [birdId] = [...world.birds.keys()];
      for (const minute of TIES) {
        const tieUs = clock.nowUs() + minute * 60e6;
        world.at(tieUs, () => {
          for (let count = 0; count < 120; count += 1) {
            const fields = { eventType: 'Saved', message: `tie ${count}` };
            world.appendBirdLog(birdId!, { fields, createdAtUs: tieUs });
            world.appendNotification({
              fields: { eventType: 'Announcement', entityType: 'Plan', entityId: count },
              createdAtUs: tieUs,
            });
          }
        });
      }
    }
    await stage.minutesPass(MINUTES);
    for (const world of Object.values(worlds)) world.behaviours.lateShare = 0;
    await stage.minutesPass(5);
    expectEachOnce(stage);
  });

  test('when answers are malformed, mutated or unknown, the rest of the stream is still read [long]', async () => {
    stage = await openStage({
      regions: ['eu'],
      behaviours: {
        eu: { numbersAsText: 0.3, nullFields: 0.1, missingFields: 0.1, extraKeys: 0.3, unknownEnums: 0.1 },
      },
      before(world) {
        createScenario(world, {
          random: seededRandom(5),
          birds: 8,
          flightsPerHour: 200,
          eventErrorsPerHour: 100,
          editsPerHour: 200,
          historyMs: 1_800_000,
        });
      },
    });
    const world = stage.worlds.eu!;
    world.appendNotification({ raw: 'not an object' });
    world.appendNotification({ raw: { id: null } });
    world.appendNotification({ raw: { createdAt: 'yesterday' } });
    world.appendNotification({ fields: { eventType: 'AfterTheBadOnes', entityType: 'Plan' } });
    await stage.minutesPass(MALFORMED_MINUTES);
    expect(world.truth().malformed).toBe(3);
    expect(
      stage.happenings
        .flatMap((one) => (one.what === 'quarantined' ? [one.count] : []))
        .reduce((a, b) => a + b, 0),
    ).toBe(3);
    expectEachOnce(stage);
  });

  test('when the daemon is stopped and started again in the middle [long]', async () => {
    stage = await openStage({
      regions: ['eu'],
      before(world) {
        createScenario(world, {
          random: seededRandom(3),
          birds: 10,
          flightsPerHour: 300,
          editsPerHour: 100,
          historyMs: 1_800_000,
        });
      },
    });
    for (let life = 0; life < LIVES; life += 1) {
      await stage.secondsPass(61 * (life % 4));
      await stage.minutesPass(4);
      await stage.restart();
    }
    await stage.minutesPass(6);
    expectEachOnce(stage);
  });
});
