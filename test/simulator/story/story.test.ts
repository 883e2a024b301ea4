import { describe, expect, test } from 'vitest';
import { playStory } from '../../../src/simulator/story/story.ts';
import { seededRandom } from '../../../src/simulator/world/seeded-random.ts';
import { createWorld } from '../../../src/simulator/world/world.ts';
import { createVirtualClock, TEST_START_US } from '../../virtual-clock.ts';
import { ask, TOKEN } from '../ask.ts';

function staged(region = 'eu', speed = 1) {
  const clock = createVirtualClock();
  const world = createWorld({ region, clock, random: seededRandom(3), token: TOKEN });
  const cast = playStory(world, { speed });
  /** What has happened since the story began: seconds and type, for one Bird or for connections. */
  const told = (birdId: string) =>
    world
      .truth()
      .events.filter((event) => event.birdId === birdId && event.visibleAtUs > TEST_START_US)
      .map(({ type, occurredAtUs }) => [Math.floor((occurredAtUs - TEST_START_US) / 1_000_000), type]);
  return { clock, world, cast, told };
}

describe('the story', () => {
  test("within 40 s a Flight fails with its reason, and the Bird's next one succeeds", async () => {
    const { clock, world, cast, told } = staged();
    await clock.advance(40_000);
    const { id, nestId } = cast.stumbling;
    expect(told(id)).toEqual([
      [6, 'flight.failed'],
      [32, 'flight.succeeded'],
    ]);
    const [failed] = ask(world, `GET /nests/${nestId}/birds/${id}/flights?Status=failed`).list;
    expect(String(failed!.errorMessages).length).toBeGreaterThan(20);
    const logs = ask(world, `GET /nests/${nestId}/birds/${id}/flights/${failed!.id}/logs`).items;
    expect(logs.find(({ eventType, isRetried }) => eventType === 5 && !isRetried)).toMatchObject({
      isSkipped: false,
    });
  });

  test('the Bird whose Flight fails was published two minutes before, and flew well until then', async () => {
    const { clock, world, cast } = staged();
    await clock.advance(40_000);
    const { id, nestId } = cast.stumbling;
    const [published, before] = ask(world, `GET /nests/${nestId}/birds/${id}/logs`).items;
    expect(published).toMatchObject({ eventType: 'Published', createdAt: '2026-07-02T11:58:00.000000Z' });
    expect(published!.initiator).toMatch(/@example\.com$/);
    expect(String(before!.createdAt) < '2026-07-02T11:11').toBe(true);
    const flights = ask(world, `GET /nests/${nestId}/birds/${id}/flights`).list;
    expect(flights.map(({ status }) => status)).toEqual([
      ...['succeeded', 'failed', 'succeeded', 'succeeded', 'succeeded', 'succeeded'],
    ]);
    expect(String(flights[2]!.startDate) < String(published!.createdAt)).toBe(true);
  });

  test('one Bird lands every ten minutes, but not by the last deadline; it lands late', async () => {
    const { clock, world, cast, told } = staged();
    const { id, nestId } = cast.overdue;
    const path = `GET /nests/${nestId}/birds/${id}/flights`;
    const starts = () => ask(world, path).list.map(({ startDate }) => String(startDate).slice(11, 16));
    expect(starts()).toEqual(['11:48', '11:38', '11:28', '11:18', '11:08']);
    await clock.advance(45_000);
    expect(told(id)).toEqual([[40, 'flight.succeeded']]);
  });

  test('the Flights of one Bird take four times as long as they did [long]', async () => {
    const { clock, world, cast } = staged();
    await clock.advance(45_000);
    const { id, nestId } = cast.slow;
    const durations = ask(world, `GET /nests/${nestId}/birds/${id}/flights?Status=succeeded`).list.map(
      ({ duration }) => Number(duration),
    );
    expect(durations.slice(0, 3)).toEqual([16, 16, 16]);
    expect(durations).toHaveLength(43);
    expect(Math.max(...durations.slice(3))).toBeLessThanOrEqual(4);
  });

  test('a trigger fails twice, then five times in a row: deactivated, and activated again', async () => {
    const { clock, world, cast, told } = staged();
    await clock.advance(26_000);
    expect(ask(world, 'GET /notifications?pageSize=100').items.map(({ eventType }) => eventType)).toContain(
      'FlowDeactivated',
    );
    expect(cast.deaf.status).toBe('suspended');
    await clock.advance(14_000);
    expect(told(cast.deaf.id).map(([second, type]) => `${second} ${type}`)).toEqual([
      '8 bird_log.EventError',
      '13 bird_log.EventError',
      '17 bird_log.EventError',
      '21 bird_log.EventError',
      '25 bird_log.EventError',
      '25 bird_log.Deactivated',
      '25 notification.FlowDeactivated',
      '38 bird_log.Activated',
    ]);
    expect(cast.deaf.status).toBe('active');
  });

  test('a connection is retried and given up, under one entity', async () => {
    const { clock, world } = staged();
    await clock.advance(40_000);
    const lost = ask(world, 'GET /notifications?ascending=true').items.filter(
      ({ entityType }) => entityType === 'Connection',
    );
    expect(lost).toHaveLength(2);
    expect(lost[0]!.entityId).toBe(lost[1]!.entityId);
    expect(lost[0]!.message).toMatch(/[Rr]etrying/);
    expect(lost[1]!.message).toMatch(/Please reconnect/);
  });

  test('a Flight succeeds with a skipped error, and one of three days fails', async () => {
    const { clock, world, cast, told } = staged();
    await clock.advance(40_000);
    const { forgiving, patient, longFlight } = cast;
    expect(told(forgiving.id)).toEqual([[10, 'flight.succeeded']]);
    const path = `/nests/${forgiving.nestId}/birds/${forgiving.id}/flights`;
    const [landed] = ask(world, `GET ${path}`).list;
    const errors = ask(world, `GET ${path}/${landed!.id}/logs`).items.filter(
      ({ eventType }) => eventType === 5,
    );
    expect(errors).toMatchObject([{ isSkipped: true }]);
    expect(told(patient.id)).toEqual([[30, 'flight.failed']]);
    expect(longFlight.startedAtUs).toBe(TEST_START_US - 3 * 86_400_000_000);
  });

  test('goes on forever, an event every few seconds, with failures that recover', async () => {
    const { clock, world } = staged();
    await clock.advance(3_600_000);
    const events = world.truth().events.filter(({ visibleAtUs }) => visibleAtUs > TEST_START_US + 60_000_000);
    expect(events.length).toBeGreaterThan(600);
    expect(events.length).toBeLessThan(2400);
    const types = new Set(events.map(({ type }) => type));
    for (const type of [
      'flight.failed',
      'flight.cancelled',
      'bird_log.EventError',
      'bird_log.Saved',
      'notification.ConnectionDisconnected',
      'notification.FlowDeactivated',
    ]) {
      expect(types).toContain(type);
    }
  });

  test('plays faster on demand', async () => {
    const { clock, cast, told } = staged('eu', 10);
    await clock.advance(4000);
    expect(told(cast.stumbling.id).map(([, type]) => type)).toEqual(['flight.failed', 'flight.succeeded']);
    expect(told(cast.deaf.id).at(-1)).toEqual([3, 'bird_log.Activated']);
  });

  test('has other Nests and Birds in the other region, and the same at every start', () => {
    const names = (region: string) => {
      const { world, cast } = staged(region);
      return JSON.stringify([
        cast.nests.map(({ name }) => name),
        [...world.birds.values()].map(({ id, name }) => [id, name]),
      ]);
    };
    expect(names('eu')).toBe(names('eu'));
    expect(names('us')).not.toBe(names('eu'));
  });
});
