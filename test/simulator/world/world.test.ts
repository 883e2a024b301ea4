import { describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import type { Behaviours } from '../../../src/simulator/world/behaviours.ts';
import { createAgenda } from '../../../src/simulator/world/state.ts';
import { TEST_START_US } from '../../virtual-clock.ts';
import { ask, createBirdTrial } from '../ask.ts';

const withBird = (behaviours: Partial<Behaviours> = {}) => createBirdTrial('event', behaviours);

describe('the agenda', () => {
  test('runs in the order of instants, ties in order of insertion, and each action at its own instant', () => {
    const agenda = createAgenda();
    const ran: [string, number | undefined][] = [];
    const note = (name: string) => () => ran.push([name, agenda.presentUs()]);
    agenda.at(30, note('c'));
    agenda.at(10, () => {
      note('a')();
      agenda.at(20, note('late guest'));
      agenda.runUntil(100);
    });
    agenda.at(20, note('b'));
    agenda.at(31, note('d'));
    agenda.runUntil(30);
    expect(ran).toEqual([
      ['a', 10],
      ['b', 20],
      ['late guest', 20],
      ['c', 30],
    ]);
    expect(agenda.presentUs()).toBeUndefined();
  });

  test('any order of insertion comes out sorted', () => {
    const agenda = createAgenda();
    const instants = Array.from({ length: 500 }, (_, at) => (at * 7919) % 101);
    const ran: number[] = [];
    for (const us of instants) agenda.at(us, () => ran.push(us));
    agenda.runUntil(1000);
    expect(ran).toEqual([...instants].sort((a, b) => a - b));
  });

  test('an action that fails does not stop the world forever', () => {
    const { world } = withBird();
    expect(() => world.at(world.nowUs(), () => world.save('999999'))).toThrow(NestwatchError);
    expect(world.nowUs()).toBe(TEST_START_US);
    expect(world.addNest({ name: 'Next' }).name).toBe('Next');
  });

  test('a world that nobody queried catches up as if it had been watched all along', async () => {
    const { world, clock, bird, path } = withBird();
    const stop = world.every(60_000, () => world.save(bird.id));
    await clock.advance(180_000);
    const instants = ask(world, `GET ${path}/logs`).items.map(({ createdAt }) =>
      String(createdAt).slice(11, 19),
    );
    expect(instants).toEqual(['12:03:00', '12:02:00', '12:01:00']);
    stop();
    await clock.advance(180_000);
    expect(ask(world, `GET ${path}/logs`).json.totalCount).toBe(3);
  });

  test('an action in the past runs at once, at its own instant', () => {
    const { world, bird, path } = withBird();
    world.at(TEST_START_US - 3_600_000_000, () => world.publish(bird.id));
    expect(ask(world, `GET ${path}/logs`).items[0]).toMatchObject({
      eventType: 'Published',
      createdAt: '2026-07-02T11:00:00.000000Z',
    });
  });
});

describe('a Bird', () => {
  test('is deactivated by the fifth EventError in a row, with a log and a notification', () => {
    const { world, bird, path, nest } = withBird();
    for (let time = 0; time < 4; time += 1) world.eventError(bird.id);
    expect(ask(world, `GET ${path}`).json.status).toBe('active');
    expect(ask(world, 'GET /notifications').items).toEqual([]);
    world.eventError(bird.id);
    expect(ask(world, `GET ${path}`).json).toMatchObject({ status: 'suspended', isPublished: true });
    const types = ask(world, `GET ${path}/logs?ascending=true`).items.map(({ eventType }) => eventType);
    expect(types).toEqual([...Array<string>(5).fill('EventError'), 'Deactivated']);
    expect(ask(world, 'GET /notifications').items).toMatchObject([
      {
        workspaceId: Number(nest.id),
        entityId: Number(bird.id),
        entityName: 'Translate blog',
        entityType: 'Flow',
        eventType: 'FlowDeactivated',
        message: 'The event has failed 5 times in a row',
      },
    ]);
    expect(world.truth().events.find(({ feed }) => feed === 'notification')?.birdId).toBe(bird.id);
  });

  test('starts its count again when a Flight starts or a person activates it', () => {
    const { world, bird } = withBird();
    for (let time = 0; time < 4; time += 1) world.eventError(bird.id);
    world.startFlight(bird.id);
    for (let time = 0; time < 4; time += 1) world.eventError(bird.id);
    expect(bird.status).toBe('active');
    world.eventError(bird.id);
    expect(bird.status).toBe('suspended');
    world.activate(bird.id);
    world.eventError(bird.id);
    expect(bird.status).toBe('active');
    expect(world.notifications).toHaveLength(1);
  });

  test('an EventError has a stack trace of several lines', () => {
    const { world, bird, path } = withBird();
    world.eventError(bird.id);
    const message = ask(world, `GET ${path}/logs`).items[0]?.message;
    expect(String(message).split('\n').length).toBeGreaterThan(2);
  });

  test('is activated and deactivated by people, each time with its log', () => {
    const { world, bird, path } = withBird();
    const status = () => ask(world, `GET ${path}`).json.status;
    world.suspend(bird.id);
    expect(status()).toBe('suspended');
    world.publish(bird.id);
    expect(status()).toBe('suspended');
    world.activate(bird.id);
    expect(status()).toBe('active');
    world.unpublish(bird.id);
    expect(status()).toBe('unpublished');
    world.publish(bird.id);
    expect(status()).toBe('active');
    world.save(bird.id);
    world.discard(bird.id);
    const types = ask(world, `GET ${path}/logs?ascending=true`).items.map(({ eventType }) => eventType);
    expect(types).toEqual(['Suspended', 'Published', 'Activated', 'Published', 'Saved', 'Discarded']);
  });

  test('and its Nest are renamed', () => {
    const { world, bird, nest, path } = withBird();
    world.renameBird(bird.id, 'New');
    world.renameNest(nest.id, 'Old');
    expect(ask(world, `GET ${path}`).json.name).toBe('New');
    expect(ask(world, `GET /nests/${nest.id}`).json.name).toBe('Old');
  });

  test.each(['save', 'suspend', 'eventError', 'startFlight', 'deleteBird'] as const)(
    '%s of a deleted one reports it',
    (action) => {
      const { world, bird, path } = withBird();
      world.deleteBird(bird.id);
      expect(ask(world, `GET ${path}`).status).toBe(404);
      expect(() => world[action](bird.id)).toThrow(`there is no Bird ${bird.id}`);
    },
  );
});

describe('the truth', () => {
  test('has the end of a Flight under its key, at its own instant', async () => {
    const { world, clock, bird, nest } = withBird();
    const flight = world.startFlight(bird.id, { startedAtUs: TEST_START_US - 3 * 86_400_000_000 });
    await clock.advance(1500);
    world.endFlight(flight.id, 'failed');
    expect(world.truth().events).toEqual([
      {
        key: `eu/flight/${flight.id}/failed`,
        feed: 'flight',
        type: 'flight.failed',
        nestId: nest.id,
        birdId: bird.id,
        occurredAtUs: TEST_START_US + 1_500_000,
        visibleAtUs: TEST_START_US + 1_500_000,
        goneAtUs: undefined,
      },
    ]);
  });

  test('counts the second end of a Flight that was active again, and says until when the first was shown', async () => {
    const { world, clock, bird, path } = withBird();
    const flight = world.startFlight(bird.id, { fliesForMs: 60_000, endsAs: 'succeeded' });
    world.endFlight(flight.id, 'failed');
    await clock.advance(1000);
    world.reopenFlight(flight.id);
    expect(ask(world, `GET ${path}/flights?Status=active`).list).toHaveLength(1);
    await clock.advance(1000);
    world.endFlight(flight.id, 'failed');
    // The plan belonged to the first period.
    await clock.advance(60_000);
    expect(world.truth().events.map(({ key, goneAtUs }) => [key, goneAtUs])).toEqual([
      [`eu/flight/${flight.id}/failed`, TEST_START_US + 1_000_000],
      [`eu/flight/${flight.id}/failed#2`, undefined],
    ]);
    const types = ask(world, `GET ${path}/flights/${flight.id}/logs?ascending=true`).items.map(
      ({ eventType }) => eventType,
    );
    expect(types.filter((type) => type !== 4)).toEqual([1, 5, 3, 1, 5, 3]);
  });

  test('refuses to end what has ended and to reopen what is active', () => {
    const { world, bird } = withBird();
    const flight = world.startFlight(bird.id);
    expect(() => world.reopenFlight(flight.id)).toThrow('is active');
    world.endFlight(flight.id, 'cancelled');
    expect(() => world.endFlight(flight.id, 'failed')).toThrow('has ended already');
    expect(() => world.endFlight('nothing', 'failed')).toThrow('there is no Flight');
  });

  test('a planned end happens at its instant even when nobody looks', async () => {
    const { world, clock, bird } = withBird();
    world.startFlight(bird.id, { fliesForMs: 2500, endsAs: 'cancelled' });
    await clock.advance(60_000);
    expect(world.truth().events[0]).toMatchObject({
      type: 'flight.cancelled',
      occurredAtUs: TEST_START_US + 2_500_000,
    });
  });

  test('a Flight that is shown late shows its end with it', async () => {
    const { world, clock, bird, path } = withBird({ lateShare: 1, lateMinMs: 5000, lateMaxMs: 5000 });
    world.startFlight(bird.id, { fliesForMs: 1000, endsAs: 'failed' });
    await clock.advance(4999);
    expect(ask(world, `GET ${path}/flights`).list).toEqual([]);
    expect(world.truth().events).toEqual([]);
    await clock.advance(1);
    expect(ask(world, `GET ${path}/flights?Status=active`).list).toEqual([]);
    expect(ask(world, `GET ${path}/flights`).list).toMatchObject([{ status: 'failed' }]);
    expect(world.truth().events[0]?.visibleAtUs).toBe(TEST_START_US + 5_000_000);
  });

  test('marks what was deleted, alone or with its Bird, and omits what nobody could see', async () => {
    const { world, clock, bird, path } = withBird();
    const first = world.appendBirdLog(bird.id);
    world.save(bird.id);
    const unseen = world.appendBirdLog(bird.id, { visibleAtUs: TEST_START_US + 5_000_000 });
    await clock.advance(1000);
    world.deleteEntry(first.id);
    expect(ask(world, `GET ${path}/logs`).json.totalCount).toBe(1);
    await clock.advance(1000);
    world.deleteBird(bird.id);
    await clock.advance(10_000);
    const { events } = world.truth();
    expect(events.map(({ goneAtUs }) => goneAtUs)).toEqual([
      TEST_START_US + 1_000_000,
      TEST_START_US + 2_000_000,
    ]);
    expect(events.some(({ key }) => key.includes(unseen.id))).toBe(false);
    expect(() => world.deleteEntry(first.id)).toThrow('there is no entry');
  });

  test('keys entries as they are written, and counts those without a possible key', () => {
    const { world, bird, path } = withBird();
    const plain = world.appendBirdLog(bird.id, { fields: { eventType: 'Saved' } });
    world.appendBirdLog(bird.id, { raw: { id: 4711, eventType: 'Archived', extra: true } });
    world.appendBirdLog(bird.id, { raw: { createdAt: '2026-07-02T11:00:00.1234567Z' } });
    for (const raw of [
      { id: null },
      { id: ' ' },
      { createdAt: 'soon' },
      { createdAt: undefined },
      null,
      'text',
      [1],
    ]) {
      world.appendBirdLog(bird.id, { raw });
    }
    const truth = world.truth();
    expect(truth.malformed).toBe(7);
    expect(truth.events).toHaveLength(3);
    expect(truth.events.slice(0, 2)).toMatchObject([
      { key: `eu/bird_log/${plain.id}` },
      { key: 'eu/bird_log/4711' },
    ]);
    expect(truth.events[1]?.type).toBe('bird_log.Archived');
    expect(truth.events[2]?.occurredAtUs).toBe(TEST_START_US - 3_600_000_000 + 123_456);
    const { items } = ask(world, `GET ${path}/logs?ascending=true`);
    expect(items).toHaveLength(10);
    expect(items[1]).toMatchObject({
      id: 4711,
      eventType: 'Archived',
      extra: true,
      workflowId: Number(bird.id),
    });
    expect(items[6]).not.toHaveProperty('createdAt');
    expect(items.slice(7)).toEqual([null, 'text', [1]]);
  });

  test('omits what was deleted, or had no key, before anybody could see it', async () => {
    const { world, clock, bird, path } = withBird();
    const visibleAtUs = TEST_START_US + 5_000_000;
    world.deleteEntry(world.appendBirdLog(bird.id, { visibleAtUs }).id);
    world.appendBirdLog(bird.id, { visibleAtUs, raw: null });
    expect(world.truth()).toMatchObject({ events: [], malformed: 0 });
    await clock.advance(5000);
    expect(ask(world, `GET ${path}/logs`).items).toEqual([null]);
    expect(world.truth()).toMatchObject({ events: [], malformed: 1 });
  });

  test('has every Bird with its state', () => {
    const { world, bird, nest } = withBird();
    world.suspend(bird.id);
    expect(world.truth().birds).toEqual([
      {
        birdId: bird.id,
        nestId: nest.id,
        name: 'Translate blog',
        status: 'suspended',
        deletedAtUs: undefined,
      },
    ]);
  });
});

describe('formats that nobody promised', () => {
  test('numbers come as text, and ids of Nests and Birds as numbers', () => {
    const { world, bird, nest, path } = withBird({ numbersAsText: 1 });
    world.eventError(bird.id);
    expect(ask(world, `GET ${path}`).json).toMatchObject({ id: Number(bird.id), nestId: Number(nest.id) });
    expect(ask(world, `GET ${path}/logs`).items[0]).toMatchObject({
      workspaceId: nest.id,
      workflowId: bird.id,
    });
  });

  test('fields that may be null are null, or missing; extra keys are added', () => {
    const { world, bird, path } = withBird({ nullFields: 1, extraKeys: 1 });
    world.eventError(bird.id);
    expect(ask(world, `GET ${path}/logs`).items[0]).toMatchObject({
      workspaceId: null,
      message: null,
      revision: 3,
    });
    expect(ask(world, 'GET /notifications').json.items).toBeNull();
    Object.assign(world.behaviours, { nullFields: 0, missingFields: 1 });
    expect(ask(world, `GET ${path}/logs`).items[0]).not.toHaveProperty('message');
    expect(ask(world, `GET ${path}/logs`).items[0]).toHaveProperty('createdAt');
  });

  test('the share is kept, and an entry looks the same at every reading', () => {
    const { world, bird, path } = withBird({ unknownEnums: 0.3 });
    for (let at = 0; at < 500; at += 1) world.save(bird.id);
    const types = () => ask(world, `GET ${path}/logs?pageSize=500`).items.map(({ eventType }) => eventType);
    const unknown = types().filter((type) => type !== 'Saved');
    expect(new Set(unknown)).toEqual(new Set(['FlowArchived']));
    expect(unknown.length).toBeGreaterThan(110);
    expect(unknown.length).toBeLessThan(190);
    expect(types()).toEqual(types());
    const told = world.truth().events.filter(({ type }) => type === 'bird_log.FlowArchived');
    expect(told).toHaveLength(unknown.length);
  });

  test('what comes again under the id of another looks like that one', () => {
    const { world, bird, path } = withBird({ unknownEnums: 0.5 });
    const looks = () => ask(world, `GET ${path}/logs?pageSize=500`).items;
    for (let at = 0; at < 20; at += 1) world.save(bird.id);
    for (const { id } of looks())
      world.appendBirdLog(bird.id, { fields: { eventType: 'Saved' }, raw: { id } });
    const types = Map.groupBy(looks(), ({ id }) => id);
    expect(
      [...types.values()].map((same) => [same.length, new Set(same.map((one) => one.eventType)).size]),
    ).toEqual(Array(20).fill([2, 1]));
  });
});
