/**
 * The first reading of a region: whatever became of the Flights that were active before the first start is known when it
 * is over, and until then the health answer says that it is under way.
 */
import { describe, expect, test } from 'vitest';
import type { World } from '../../src/simulator/world/world.ts';
import { type Between, createStage, type Stage } from './stage.ts';

const DAYS_US = 3 * 86_400 * 1_000_000;
const BIRDS = 40;

let stage: Stage;
/** The Flight of each Bird. */
let flights: Map<string, string>;

/** Opens a region in which each Bird has one Flight, which has been active for days. */
async function open(birds: number, requestsPerSecond: number, asked: (request: URL) => void = () => {}) {
  flights = new Map();
  const before = (world: World) => {
    const { id } = world.addNest({ name: 'Production' });
    for (let at = 0; at < birds; at += 1) {
      const bird = world.addBird(id, { name: `Review ${at}`, triggerType: 'manual', status: 'active' });
      flights.set(bird.id, world.startFlight(bird.id, { startedAtUs: world.nowUs() - DAYS_US }).id);
    }
  };
  const between: Between = async (request, pass) => {
    const response = await pass();
    asked(new URL(request.url));
    return response;
  };
  stage = await createStage({ regions: ['eu'], requestsPerSecond, before, between });
}

function fails(birdId: string): void {
  const world = stage.eu;
  const flight = world.flights.get(flights.get(birdId)!)!;
  if (flight.ends.length === 0) world.endFlight(flight.id, 'failed', { errorMessages: 'Nobody approved' });
}

const isUnderWay = async () => {
  const { impairments } = await stage.daemon().health();
  return impairments.some(({ reason }) => reason === 'first_pass');
};

/** Lets the first pass go by, and what it found be sent. `eachSecond` is told how many have passed. */
async function passes(eachSecond: (second: number) => void = () => {}): Promise<number> {
  let seconds = 0;
  while (await isUnderWay()) {
    eachSecond(seconds);
    await stage.secondsPass(1);
    seconds += 1;
  }
  await stage.secondsPass(15);
  return seconds;
}

const keysOfAll = () => [...flights.values()].map((id) => `eu/flight/${id}/failed`).sort();
const firing = () => stage.alerts().flatMap(({ events }) => events.map(({ key }) => key));

describe('a Flight of three days is known when the first pass is over, and told once, if it fails', () => {
  const CASES: readonly [string, number, number][] = [
    ['40 Birds', BIRDS, 5],
    ['150 Birds and 4 requests a second', 150, 4],
  ];

  test.each(CASES)('as soon as the region was listed: %s [long]', async (_, birds, requestsPerSecond) => {
    await open(birds, requestsPerSecond);
    const isListed = () => stage.happenings.some(({ what }) => what === 'inventory');
    await passes(() => isListed() && [...flights.keys()].forEach(fails));
    expect(stage.forwarded().sort()).toEqual(keysOfAll());
    await stage.minutesPass(1);
    expect(firing().sort()).toEqual(keysOfAll());
  });

  test('between any two requests of its first poll [long]', async () => {
    const asked = new Map<string, number>();
    await open(BIRDS, 50, ({ pathname }) => {
      const birdId = /birds\/(\d+)\/flights$/.exec(pathname)?.[1];
      if (birdId === undefined) return;
      const times = (asked.get(birdId) ?? 0) + 1;
      asked.set(birdId, times);
      if (times === 1 + (Number(birdId) % 3)) fails(birdId);
    });
    await passes();
    // What ended after a poll's last request is found by the next one.
    await stage.minutesPass(1);
    expect(stage.forwarded().sort()).toEqual(keysOfAll());
  });

  test('later [long]', async () => {
    await open(150, 4);
    await passes();
    const active = stage.happenings.filter((one) => one.what === 'flights_active' && one.count === 1);
    expect(active).toHaveLength(150);
    [...flights.keys()].forEach(fails);
    await stage.minutesPass(4);
    expect(stage.forwarded().sort()).toEqual(keysOfAll());
  });
});

test('the first pass takes two requests for each Bird [long]', async () => {
  await open(BIRDS, 5);
  const seconds = await passes();
  // The rate begins at two requests a second, and some go to the inventory, notifications and a second look.
  expect(seconds).toBeLessThan((1.5 * 2 * BIRDS) / 5);
});
