import { describe, expect, test } from 'vitest';
import { createScenario, type ScenarioOptions } from '../../../src/simulator/story/scenario.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { TEST_START_US } from '../../virtual-clock.ts';
import { ask, createTrial } from '../ask.ts';

const HOUR_MS = 3_600_000;

function living(options: Partial<ScenarioOptions> = {}, seed = 7) {
  const trial = createTrial({}, seed);
  const scenario = createScenario(trial.world, { random: seededRandom(seed), birds: 60, ...options });
  return { ...trial, scenario };
}

describe('a scenario', () => {
  test('is the same from the same seed, and another one from another', async () => {
    const told = async (seed: number) => {
      const { world, clock } = living({}, seed);
      await clock.advance(2 * HOUR_MS);
      return JSON.stringify([
        world.truth(),
        ask(world, 'GET /notifications').body,
        ask(world, 'GET /nests').body,
      ]);
    };
    const first = await told(7);
    expect(await told(7)).toBe(first);
    expect(await told(8)).not.toBe(first);
  });

  test('does not depend on who asks, and when', async () => {
    const quiet = living();
    const watched = living();
    for (let minute = 0; minute < 60; minute += 1) {
      await watched.clock.advance(60_000);
      ask(watched.world, 'GET /notifications');
    }
    await quiet.clock.advance(HOUR_MS);
    expect(watched.world.truth()).toEqual(quiet.world.truth());
  });

  test('has a past and continues after the present', async () => {
    const { world, clock } = living({ flightsPerHour: 120, historyMs: 6 * HOUR_MS });
    const flights = () => world.truth().events.filter(({ feed }) => feed === 'flight');
    const before = flights();
    expect(before.length).toBeGreaterThan(400);
    expect(before.every(({ visibleAtUs }) => visibleAtUs <= TEST_START_US)).toBe(true);
    expect(Math.min(...before.map(({ visibleAtUs }) => visibleAtUs))).toBeLessThan(
      TEST_START_US - 5 * HOUR_MS * 1000,
    );
    await clock.advance(6 * HOUR_MS);
    expect(flights().length).toBeGreaterThan(before.length * 1.6);
  });

  test('has busy and quiet Birds, failures at their share, and every sort of entry [long]', () => {
    const { world, scenario } = living({
      birds: 100,
      flightsPerHour: 1000,
      eventErrorsPerHour: 30,
      editsPerHour: 20,
      lostConnectionsPerDay: 40,
      failureShare: 0.1,
    });
    const { events } = world.truth();
    const of = (birdId: string) =>
      events.filter((event) => event.birdId === birdId && event.feed === 'flight').length;
    const active = scenario.birds.filter(({ status }) => status === 'active');
    expect(of(active[0]!.id)).toBeGreaterThan(10 * Math.max(1, of(active.at(-1)!.id)));
    const flights = events.filter(({ feed }) => feed === 'flight');
    const failed = flights.filter(({ type }) => type === 'flight.failed');
    expect(failed.length / flights.length).toBeGreaterThan(0.07);
    expect(failed.length / flights.length).toBeLessThan(0.13);
    const types = new Set(events.map(({ type }) => type));
    for (const type of [
      'flight.succeeded',
      'flight.cancelled',
      'bird_log.Saved',
      'bird_log.Published',
      'bird_log.EventError',
      'notification.ConnectionDisconnected',
    ]) {
      expect(types).toContain(type);
    }
  });

  test('has Flights that started long ago', () => {
    const { world } = living({ birds: 400, flightsPerHour: 0, historyMs: HOUR_MS });
    const waiting = [...world.flights.values()].filter(
      ({ startedAtUs }) => startedAtUs < TEST_START_US - HOUR_MS * 1000,
    );
    expect(waiting).toHaveLength(2);
  });

  test('rates of zero make a world where nothing happens', async () => {
    const { world, clock } = living({
      birds: 10,
      flightsPerHour: 0,
      eventErrorsPerHour: 0,
      editsPerHour: 0,
      lostConnectionsPerDay: 0,
    });
    await clock.advance(24 * HOUR_MS);
    expect(world.truth().events.filter(({ feed }) => feed !== 'flight')).toEqual([]);
  });

  test('continues when Birds are deleted [long]', async () => {
    const { world, clock, scenario } = living({
      flightsPerHour: 600,
      eventErrorsPerHour: 60,
      editsPerHour: 60,
    });
    for (const { id } of scenario.birds.slice(0, 50)) world.deleteBird(id);
    await clock.advance(3 * HOUR_MS);
    expect(world.truth().events.length).toBeGreaterThan(100);
  });

  test('stays cheap with 10,000 Birds: a page does not read the history [long]', async () => {
    const { world, clock, scenario } = living({ birds: 10_000 });
    expect(world.truth().events.length).toBeGreaterThan(20_000);
    await clock.advance(60_000);
    const [busiest] = scenario.birds.filter(({ status }) => status === 'active');
    for (let at = 0; at < 20_000; at += 1) world.appendBirdLog(busiest!.id);
    const path = `GET /nests/${busiest!.nestId}/birds/${busiest!.id}`;
    const started = process.cpuUsage();
    for (let at = 0; at < 1000; at += 1) {
      expect(
        ask(world, `${path}/logs?ascending=true&from=2026-07-02T11:59:00Z&page=${at}&pageSize=10`).items,
      ).toHaveLength(10);
      ask(world, `${path}/flights?MinStartDate=2026-07-02T11:59:00Z`);
    }
    // This takes about 0.1 s; reading 20,000 entries each time would take many seconds.
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(3000);
  });
});
