import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NestwatchError } from '../../../src/errors.ts';
import { formatInstant } from '../../../src/time/instant.ts';
import { changedStore } from '../../store/changed-transaction.ts';
import { bird } from '../../store/contract/sample-records.ts';
import { TEST_START_US } from '../../virtual-clock.ts';
import { type FlightStage, HOUR_US, OVERLAP_US, openFlightStage, SECOND_US } from './flight-stage.ts';

let stage: FlightStage;

beforeEach(async () => {
  stage = await openFlightStage();
});
afterEach(() => stage.close());

/** The Bird as an earlier life would have stored it. */
function recordOfBird() {
  const { id, nestId, name, status, triggerType } = stage.bird;
  return bird(id, { nestId, name, status, triggerType });
}

/** Whether each reported event is history. */
const history = () =>
  stage.happenings.flatMap((one) =>
    one.what === 'events' ? one.events.map(({ historic }) => historic) : [],
  );

/** How many logs were asked for. */
const logsAsked = () => stage.asked.filter((one) => one === 'log').length;

const FAILED = { status: 'failed', errorMessages: 'No quota', durationSeconds: 5 };
const SUCCEEDED = { status: 'succeeded', durationSeconds: 5 };
/** Without a reason. */
const UNEXPLAINED = { status: 'failed', durationSeconds: 9 };

/** A line of a Flight's log, as the service writes it. */
function line(eventType: number | string, secondsAgo: number, given: object = {}) {
  const createdAt = formatInstant(stage.clock.nowUs() - secondsAgo * SECOND_US);
  return { id: `${eventType}-${secondsAgo}-${JSON.stringify(given).length}`, createdAt, eventType, ...given };
}

describe('a Flight', () => {
  test('is reported when it ends, once, with the instant given by start and duration', async () => {
    stage.show('a', 20);
    expect(await stage.poll()).toEqual([]);
    expect([stage.watch.openCount(), stage.watch.mayRest(false)]).toEqual([1, false]);
    await stage.pass(30);
    stage.ends('a', { status: 'succeeded', durationSeconds: 25 });
    const { fresh } = await stage.watch.poll();
    expect(fresh.map(({ type, occurredAtUs }) => [type, occurredAtUs])).toEqual([
      ['flight.succeeded', TEST_START_US + 5 * SECOND_US],
    ]);
    expect(await stage.poll()).toEqual([]);
  });

  test('whose record was deleted by retention is not reported again in a later life', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    await stage.pass(30);
    stage.ends('a', { status: 'succeeded', durationSeconds: 25 });
    expect(await stage.poll()).toEqual(['flight.succeeded a']);
    await stage.store.upkeep.prune(stage.clock.nowUs(), 100);
    stage.newLife();
    expect(await stage.poll()).toEqual([]);
  });

  test('without a known start is not reported again in a later life, whatever retention deleted', async () => {
    await stage.store.inventory.putBirds([recordOfBird()]);
    stage.show('undated', null, { status: 'succeeded' });
    expect(await stage.poll()).toEqual(['flight.succeeded undated']);
    for (const seconds of [1, 40 * 86_400]) {
      await stage.pass(seconds);
      await stage.store.upkeep.prune(stage.clock.nowUs(), 100);
      stage.newLife();
      expect(await stage.poll()).toEqual([]);
    }
  });

  test('that is active again for a minute and ends again is reported again', async () => {
    stage.show('a', 20, { status: 'succeeded', durationSeconds: 10 });
    await stage.watch.poll();
    stage.ends('a', { status: 'active', durationSeconds: null });
    expect(await stage.poll()).toEqual([]);
    await stage.pass(60);
    expect(await stage.poll()).toEqual([]);
    stage.ends('a', { status: 'cancelled', durationSeconds: 75 });
    const { fresh } = await stage.watch.poll();
    expect(fresh.map(({ key }) => stage.named(key))).toEqual(['eu/flight/a/cancelled#2']);
  });

  test('whose end only some of the answers show in the first minute is reported once', async () => {
    stage.show('a', 20, { status: 'active' });
    await stage.poll();
    const types: string[] = [];
    for (let times = 0; times < 5; times += 1) {
      stage.ends('a', { status: 'failed', durationSeconds: 20, errorMessages: 'No quota' });
      types.push(...(await stage.poll()));
      await stage.pass(10);
      stage.ends('a', { status: 'active', durationSeconds: null });
      types.push(...(await stage.poll()));
      await stage.pass(10);
    }
    expect(types).toEqual(['flight.failed a']);
    expect(stage.watch.openCount()).toBe(0);
  });

  test('that an hourly look back shows as active right after its end is not believed to be', async () => {
    stage.show('a', 5);
    await stage.poll();
    await stage.pass(3_570);
    stage.show('later', 6, SUCCEEDED);
    stage.ends('a', FAILED);
    await stage.poll();
    stage.ends('a', { status: 'active', durationSeconds: null });
    const open: number[] = [];
    for (const seconds of [30, 3_600]) {
      await stage.pass(seconds);
      await stage.poll();
      open.push(stage.watch.openCount());
    }
    expect(open).toEqual([0, 1]);
  });

  test('of an unknown status is reported once, at its start, and still watched', async () => {
    stage.show('a', 20, { status: 'paused' });
    const { fresh } = await stage.watch.poll();
    expect(fresh.map(({ type, occurredAtUs }) => [type, occurredAtUs])).toEqual([
      ['flight.paused', TEST_START_US - 20 * SECOND_US],
    ]);
    expect(stage.watch.openCount()).toBe(1);
    expect(await stage.poll()).toEqual([]);
  });

  test('without a status is watched and not reported', async () => {
    stage.show('a', 20, { status: '' });
    expect(await stage.poll()).toEqual([]);
    expect(stage.watch.openCount()).toBe(1);
  });

  test.each([
    ['failed', 'of late'],
    ['failed', ''],
    ['succeeded', ''],
  ])('that %s (message %j) is reported once if an answer omits its status', async (status, errorMessages) => {
    stage.show('a', 20);
    await stage.poll();
    const reported: string[] = [];
    for (const now of [
      { status: '' },
      { status, errorMessages },
      { status: '' },
      { status, errorMessages },
    ]) {
      stage.ends('a', now);
      await stage.pass(40);
      reported.push(...(await stage.poll()));
    }
    expect([reported, stage.watch.openCount()]).toEqual([[`flight.${status} a`], 0]);
  });

  test('that no longer exists is no longer watched a minute later, until it comes back', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    stage.vanishes('a');
    await stage.watch.poll();
    await stage.pass(59);
    await stage.watch.poll();
    expect(stage.watch.openCount()).toBe(1);
    await stage.pass(1);
    await stage.watch.poll();
    expect(stage.watch.openCount()).toBe(0);
    stage.comesBack('a');
    await stage.watch.poll();
    expect(stage.watch.openCount()).toBe(1);
  });

  test('that is not readable is set aside', async () => {
    stage.show('malformed', 20);
    await stage.watch.poll();
    expect(stage.happenings).toContainEqual(
      expect.objectContaining({ what: 'quarantined', reason: 'no usable id' }),
    );
  });
});

describe('a failed Flight', () => {
  test('is reported with the step of its log and the instant of its end there', async () => {
    await stage.pass(60);
    stage.answers.log = [
      line(1, 20),
      line(5, 9, { isRetried: true, message: 'tried again' }),
      line(5, 9, { isSkipped: true, message: 'passed over' }),
      { id: 'malformed' },
      line(5, 10, { message: 'Segment limit', stepId: 'translate' }),
      line(3, 8),
    ];
    stage.show('a', 20, UNEXPLAINED);
    const [event] = (await stage.watch.poll()).fresh;
    expect(event).toMatchObject({
      message: 'Segment limit',
      occurredAtUs: stage.clock.nowUs() - 8 * SECOND_US,
      attributes: { step_id: 'translate' },
    });
  });

  test('never ends before it began, even if our clock is behind and the service does not give its time', async () => {
    await stage.pass(60);
    stage.answers.tellsTime = false;
    stage.show('a', -144, FAILED);
    const [event] = (await stage.watch.poll()).fresh;
    expect(event?.occurredAtUs).toBe(stage.clock.nowUs() + 144 * SECOND_US);
  });

  test('whose log has a future instant ended when it was seen', async () => {
    await stage.pass(60);
    stage.answers.log = [line(2, -7_200)];
    stage.show('a', 20, { status: 'failed', errorMessages: 'No quota', durationSeconds: 9_000 });
    const [event] = (await stage.watch.poll()).fresh;
    expect(event?.occurredAtUs).toBe(stage.clock.nowUs());
  });

  test('without a reason waits for it for a minute', async () => {
    await stage.pass(60);
    stage.show('a', 20, UNEXPLAINED);
    expect(await stage.watch.poll()).toMatchObject({ again: true, fresh: [] });
    stage.show('b', 20, UNEXPLAINED);
    await stage.pass(50);
    expect(await stage.watch.poll()).toMatchObject({ again: true, fresh: [] });
    stage.ends('a', { errorMessages: 'No quota' });
    const { again, fresh } = await stage.watch.poll();
    expect([again, fresh.map(({ message }) => message)]).toEqual([true, ['No quota']]);
    await stage.pass(59);
    expect(await stage.watch.poll()).toMatchObject({ again: true, fresh: [] });
    await stage.pass(1);
    expect((await stage.watch.poll()).fresh.map(({ key, message }) => [stage.named(key), message])).toEqual([
      ['eu/flight/b/failed', ''],
    ]);
    expect(await stage.watch.poll()).toMatchObject({ again: false, fresh: [] });
  });

  test('keeps waiting in a new life, but not once time has gone backwards', async () => {
    await stage.pass(60);
    stage.show('a', 20, UNEXPLAINED);
    await stage.watch.poll();
    await stage.pass(40);
    stage.newLife();
    expect(await stage.watch.poll()).toMatchObject({ again: true, fresh: [] });
    await stage.pass(20);
    stage.newLife();
    expect(await stage.poll()).toEqual(['flight.failed a']);
    stage.show('b', 20, UNEXPLAINED);
    await stage.watch.poll();
    stage.answers.aheadUs = -HOUR_US;
    expect(await stage.poll()).toEqual(['flight.failed b']);
  });

  test('without a reason is reported before the success of a Flight that started later', async () => {
    await stage.pass(60);
    stage.show('a', 20, UNEXPLAINED);
    expect(await stage.poll()).toEqual([]);
    stage.show('earlier', 25, SUCCEEDED);
    stage.show('no start', null, { status: 'succeeded' });
    expect(await stage.poll()).toEqual(['flight.succeeded no start', 'flight.succeeded earlier']);
    expect(await stage.poll()).toEqual([]);
    stage.show('b', 10, SUCCEEDED);
    stage.world.behaviours.flightsOrder = 'newest_first';
    expect(await stage.poll()).toEqual(['flight.failed a', 'flight.succeeded b']);
  });

  test('that waits for its reason is reported even if it cannot be read any more', async () => {
    await stage.pass(60);
    stage.show('undated', null);
    expect(await stage.poll()).toEqual([]);
    stage.ends('undated', { status: 'failed' });
    stage.show('gone', 20, UNEXPLAINED);
    stage.show('unreadable', 20, UNEXPLAINED);
    expect(await stage.poll()).toEqual([]);
    stage.vanishes('gone');
    stage.vanishes('undated');
    stage.answers.unlisted = stage.answers.unreadable = new Set(['unreadable']);
    for (let count = 0; count < 5; count += 1) {
      await stage.pass(10);
      expect(await stage.poll()).toEqual([]);
    }
    await stage.pass(10);
    const { fresh } = await stage.watch.poll();
    const seenUs = TEST_START_US + 61 * SECOND_US;
    expect(fresh.map(({ key, occurredAtUs }) => [stage.named(key).split('/')[2], occurredAtUs])).toEqual([
      ['undated', stage.clock.nowUs()],
      ['gone', seenUs],
      ['unreadable', seenUs],
    ]);
    expect(stage.watch.openCount()).toBe(0);
  });

  test.each(['unavailable', 'rate_limited', 'cancelled'] as const)(
    'that waits for its reason is reported at the end of the wait even if its Bird cannot be read: %s',
    async (code) => {
      await stage.pass(60);
      stage.show('a', 20, UNEXPLAINED);
      stage.show('b', 20);
      expect(await stage.poll()).toEqual([]);
      // The wait is measured on the service's stage.clock.
      stage.clock.stepWall(3 * 3_600_000);
      stage.answers.aheadUs = -3 * HOUR_US;
      await stage.watch.poll();
      const before = stage.asked.length;
      stage.answers.trouble = { list: new NestwatchError(code, 'no answer') };
      const events = () => stage.happenings.filter(({ what }) => what === 'events').length;
      await stage.pass(59);
      await expect(stage.watch.poll()).rejects.toThrow('no answer');
      expect(events()).toBe(0);
      await stage.pass(1);
      await expect(stage.watch.poll()).rejects.toThrow('no answer');
      expect(events()).toBe(1);
      await expect(stage.watch.poll()).rejects.toThrow('no answer');
      expect(stage.asked.slice(before)).toEqual(['list', 'list', 'list']);
      stage.answers.trouble = {};
      expect(await stage.poll()).toEqual([]);
    },
  );

  test('that waits for its reason is reported at once if its Bird is deleted, even in a new life', async () => {
    await stage.pass(60);
    stage.show('a', 20, UNEXPLAINED);
    expect(await stage.poll()).toEqual([]);
    stage.newLife();
    stage.answers.trouble = { list: new NestwatchError('not_found', 'no such Bird') };
    await expect(stage.watch.poll()).rejects.toThrow('no such Bird');
    expect(stage.happenings).toContainEqual(
      expect.objectContaining({ events: [expect.objectContaining({ type: 'flight.failed' })] }),
    );
    expect(stage.watch.openCount()).toBe(0);
    await stage.emptyStore();
    stage.newLife();
    stage.takeCommits();
    await expect(stage.watch.poll()).rejects.toThrow('no such Bird');
    expect(stage.takeCommits()).toBe(0);
  });

  test('without a message has its log read even if the rate leaves no room, up to some in a poll', async () => {
    stage.answers.hasSlack = false;
    await stage.pass(60);
    stage.answers.log = [line(5, 10, { message: 'Segment limit' })];
    for (let at = 0; at < 50; at += 1) stage.show(`${at}`, 20 + at, UNEXPLAINED);
    const reported: number[] = [];
    for (let again = true; again; await stage.pass(10)) {
      stage.takeAsked();
      const polled = await stage.watch.poll();
      again = polled.again;
      reported.push(polled.fresh.filter(({ message }) => message === 'Segment limit').length);
      expect(logsAsked()).toBeLessThanOrEqual(20);
    }
    expect(reported).toEqual([20, 20, 10]);
  });

  test('without a message has its log read once, and once more at the end, if the rate leaves no room', async () => {
    stage.answers.hasSlack = false;
    await stage.pass(60);
    stage.show('a', 20, UNEXPLAINED);
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(await stage.poll()).toEqual([]);
      await stage.pass(10);
    }
    expect(logsAsked()).toBe(1);
    stage.answers.log = [line(5, 10, { message: 'Segment limit' })];
    expect((await stage.watch.poll()).fresh.map(({ message }) => message)).toEqual(['Segment limit']);
    expect(logsAsked()).toBe(2);
  });

  test('has its step read even if the rate leaves no room: one per poll, and not in trouble', async () => {
    stage.answers.hasSlack = false;
    stage.answers.log = [line(5, 10, { message: 'No quota', stepId: '2' })];
    await stage.pass(60);
    for (const name of ['a', 'b', 'c']) {
      stage.show(name, 20, { status: 'failed', errorMessages: 'No quota', durationSeconds: 9 });
    }
    const stepsOf = async () => (await stage.watch.poll()).fresh.map(({ attributes }) => attributes.step_id);
    expect((await stepsOf()).toSorted()).toEqual(['2', undefined, undefined]);
    for (const trouble of [{ pausedMs: 1 }, { health: 'down' as const, pausedMs: 0 }]) {
      Object.assign(stage.answers, trouble);
      await stage.pass(10);
      stage.show(JSON.stringify(trouble), 5, { ...FAILED, durationSeconds: 1 });
      expect(await stepsOf()).toEqual([undefined]);
    }
    expect(logsAsked()).toBe(1);
  });

  test('is reported without its log if that cannot be read', async () => {
    stage.answers.trouble = { log: new NestwatchError('unavailable', 'the service answered 503') };
    stage.show('b', 5, FAILED);
    expect(await stage.poll()).toEqual(['flight.failed b']);
    stage.answers.trouble = { log: new TypeError('a bug') };
    stage.show('c', 5, FAILED);
    await expect(stage.watch.poll()).rejects.toThrow('a bug');
  });

  test('waits neither for the logs of others after one that hung, nor for the end of a long pause', async () => {
    await stage.pass(60);
    stage.answers.trouble = { log: new NestwatchError('timeout', 'no answer within 15000 ms') };
    for (const name of ['a', 'b']) stage.show(name, 20, FAILED);
    expect((await stage.poll()).toSorted()).toEqual(['flight.failed a', 'flight.failed b']);
    expect(logsAsked()).toBe(1);
    stage.answers.trouble = {};
    stage.answers.pausedMs = 600_000;
    stage.show('c', 20, FAILED);
    stage.show('d', 20, UNEXPLAINED);
    expect(await stage.poll()).toEqual(['flight.failed c']);
    expect(logsAsked()).toBe(1);
    stage.answers.pausedMs = 10_000;
    stage.answers.log = [line(5, 10, { message: 'Segment limit' })];
    expect((await stage.watch.poll()).fresh.map(({ message }) => message)).toEqual(['Segment limit']);
  });

  test('from before the watch is history, by its end, its log or its start, and its log is read only if needed', async () => {
    stage.answers.log = [line(3, 600)];
    stage.show('by its end', 1_800, { status: 'failed', durationSeconds: 60 });
    stage.show('by its log', 1_800, { status: 'failed', durationSeconds: null });
    stage.show('by its start', 1_800, { status: 'cancelled', durationSeconds: -1 });
    stage.show('no start at all', null, { status: 'succeeded' });
    await stage.watch.poll();
    expect(logsAsked()).toBe(1);
    expect(history()).toEqual([true, true, true, true]);
  });

  test('from before the watch is history by its end even if its status was missing at first', async () => {
    stage.show('before', 900, { status: '' });
    stage.show('since', 900, { status: '' });
    await stage.poll();
    await stage.pass(60);
    stage.ends('before', { status: 'failed', errorMessages: 'No quota', durationSeconds: 600 });
    stage.ends('since', { status: 'failed', errorMessages: 'No quota', durationSeconds: 930 });
    expect(await stage.poll()).toEqual(['flight.failed before', 'flight.failed since']);
    expect(history()).toEqual([true, false]);
  });

  test('without any instant is news if only later ones were requested', async () => {
    await stage.pass(300);
    stage.show('dated', 10, SUCCEEDED);
    await stage.watch.poll();
    await stage.pass(30);
    stage.show('undated', null, { status: 'failed', errorMessages: 'No quota' });
    await stage.watch.poll();
    stage.show('silent', null, { status: 'failed' });
    expect(await stage.poll()).toEqual([]);
    await stage.pass(61);
    expect(await stage.poll()).toEqual(['flight.failed silent']);
    await stage.pass(3_600);
    // An hourly rescan also asks for older ones.
    stage.show('old', null, { status: 'failed', errorMessages: 'No quota' });
    await stage.watch.poll();
    expect(history()).toEqual([false, false, false, true]);
  });

  test('from before the watch is news if its log says that it ended since', async () => {
    await stage.pass(60);
    stage.answers.log = [line(3, 20)];
    stage.show('a', 300, { status: 'failed', errorMessages: 'No quota', durationSeconds: null });
    await stage.watch.poll();
    expect(history()).toEqual([false]);
  });

  test('without any start is news by its log alone, which is read even if the rate leaves no room', async () => {
    await stage.pass(60);
    stage.answers.hasSlack = false;
    stage.answers.log = [line(3, 20)];
    stage.show('a', null, { status: 'failed', errorMessages: 'No quota', durationSeconds: null });
    await stage.watch.poll();
    expect(history()).toEqual([false]);
  });
});

describe('a poll', () => {
  test('that finds nothing new writes nothing, and counts what it knows', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    const before = stage.happenings.length;
    stage.takeCommits();
    expect(await stage.watch.poll()).toMatchObject({ again: false, fresh: [], requests: 1 });
    expect(stage.takeCommits()).toBe(0);
    expect(stage.happenings.slice(before)).toEqual([
      { what: 'duplicates', region: 'eu', feed: 'flight', count: 1 },
    ]);
  });

  test('requests one or two open Flights that the list lacks by their ids, more of them by their status', async () => {
    for (const id of ['a', 'b', 'c']) stage.show(id, 20);
    await stage.watch.poll();
    stage.answers.unlisted = new Set(['a', 'b']);
    stage.takeAsked();
    await stage.watch.poll();
    expect(stage.asked).toEqual(['list', 'get', 'get']);
    stage.answers.unlisted = new Set([...stage.answers.unlisted, 'c']);
    stage.takeAsked();
    await stage.watch.poll();
    expect(stage.asked).toEqual(['list', 'list active', 'get', 'get', 'get']);
  });

  test('that is held up between its lists passes over nothing that started meanwhile', async () => {
    for (const id of ['a', 'b', 'c']) stage.show(id, 5);
    await stage.poll();
    await stage.pass(25 * 3_600);
    stage.show('recent', 6, SUCCEEDED);
    await stage.poll();
    await stage.pass(3_600);
    const { searchFlights } = stage.client;
    stage.client.searchFlights = async (nestId, birdId, filter) => {
      if (filter?.status === 'active') {
        await stage.pass(60);
        stage.show('meanwhile', 50, FAILED);
        await stage.pass(240);
        stage.show('active', 1);
      }
      return searchFlights(nestId, birdId, filter);
    };
    const beganUs = stage.clock.nowUs();
    expect(await stage.poll()).toEqual([]);
    stage.client.searchFlights = searchFlights;
    expect(stage.watch.openCount()).toBe(4);
    const verifiedUs = stage.watch.verifiedUs();
    expect([await stage.poll(), verifiedUs < beganUs]).toEqual([['flight.failed meanwhile'], true]);
  });

  test('where requests are scarce requests them after a pause only, and until then has not read all Flights', async () => {
    for (const id of ['a', 'b']) stage.show(id, 20);
    await stage.watch.poll();
    stage.answers.unlisted = new Set(['a']);
    stage.answers.openPauseMs = 30_000;
    const readUs: number[] = [];
    stage.takeAsked();
    for (let at = 0; at < 4; at += 1) {
      await stage.watch.poll();
      readUs.push(stage.watch.readUs());
      await stage.pass(12);
    }
    expect(stage.asked).toEqual(['list', 'get', 'list', 'list', 'list', 'get']);
    expect([readUs[1], readUs[2]]).toEqual([readUs[0], readUs[0]]);
    expect(readUs[3]! - readUs[0]!).toBe(36_000_000);
  });

  test('requests one that waits for its reason without a pause', async () => {
    stage.answers.openPauseMs = 30_000;
    await stage.pass(60);
    stage.show('a', 20);
    stage.show('waits', 20, UNEXPLAINED);
    await stage.watch.poll();
    stage.answers.unlisted = new Set(['a', 'waits']);
    stage.takeAsked();
    for (let at = 0; at < 2; at += 1) await stage.watch.poll();
    expect(stage.asked.filter((one) => one === 'get')).toHaveLength(4);
  });

  test('requests all at once if it is the first, even if the rate leaves no room', async () => {
    stage.answers.hasSlack = false;
    stage.show('old', 2 * 86_400);
    stage.show('new', 60);
    expect(await stage.poll()).toEqual([]);
    expect(stage.takeAsked()).toEqual(['list']);
    expect(stage.watch.openCount()).toBe(2);
    await stage.pass(30);
    stage.ends('old', { status: 'failed', durationSeconds: 2 * 86_400, errorMessages: 'Segment limit' });
    expect(await stage.poll()).toEqual(['flight.failed old']);
    stage.newLife();
    stage.takeAsked();
    await stage.poll();
    expect(stage.asked).toEqual(['list']);
  });

  test('requests what is active or failed, if all at once may be cut off', async () => {
    for (let at = 0; at < 30; at += 1)
      stage.show(`${at}`, 60 + at, { status: 'succeeded', durationSeconds: 1 });
    stage.show('old', 2 * 86_400);
    await stage.poll();
    expect(stage.asked.slice(0, 1)).toEqual(['list']);
    expect(stage.asked.slice(-2)).toEqual(['list active', 'list failed']);
    expect(stage.watch.openCount()).toBe(1);
  });

  test('requests them in a new life if the first one had failed', async () => {
    stage.show('old', 2 * 86_400);
    stage.answers.trouble = { list: new NestwatchError('cancelled', 'stopped') };
    await expect(stage.poll()).rejects.toThrow('stopped');
    stage.answers.trouble = {};
    stage.newLife();
    await stage.poll();
    expect(stage.watch.openCount()).toBe(1);
  });

  test('fails with the region, but not with one Flight that the service cannot show', async () => {
    stage.show('a', 20);
    stage.show('b', 20);
    await stage.watch.poll();
    stage.answers.unlisted = new Set(['a', 'b']);
    for (const code of ['rate_limited', 'cancelled'] as const) {
      stage.answers.trouble = { get: new NestwatchError(code, code) };
      await expect(stage.watch.poll()).rejects.toThrow(code);
    }
    stage.answers.trouble = { get: new TypeError('a bug') };
    await expect(stage.watch.poll()).rejects.toThrow('a bug');
    stage.answers.trouble = {};
    stage.answers.unreadable = new Set(['a']);
    stage.answers.health = 'down';
    await expect(stage.watch.poll()).rejects.toThrow('500');
    stage.answers.health = 'up';
    stage.ends('b', { status: 'cancelled' });
    expect(await stage.poll()).toEqual(['flight.cancelled b']);
    expect(stage.watch.openCount()).toBe(1);
  });

  test('requests a Flight that the service cannot show less and less often, until it can [long]', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    stage.answers.unlisted = stage.answers.unreadable = new Set(['a']);
    const askedAt: number[] = [];
    for (let seconds = 0; seconds < 12_000; seconds += 30) {
      stage.takeAsked();
      await stage.watch.poll();
      if (stage.asked.includes('get')) askedAt.push(seconds);
      await stage.pass(30);
    }
    expect(askedAt).toEqual([0, 30, 90, 210, 450, 930, 1_890, 3_810, 7_410, 11_010]);
    stage.answers.unreadable = new Set();
    stage.ends('a', { status: 'cancelled' });
    await stage.pass(3_600);
    expect(await stage.poll()).toEqual(['flight.cancelled a']);
  });

  test('considers a Flight deleted only after two answers in a row that say so', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    for (let count = 0; count < 3; count += 1) {
      stage.vanishes('a');
      await stage.watch.poll();
      stage.comesBack('a');
      await stage.pass(60);
      await stage.watch.poll();
    }
    stage.answers.unlisted = new Set([...stage.answers.unlisted, 'a']);
    stage.vanishes('a');
    await stage.watch.poll();
    stage.comesBack('a');
    stage.ends('a', { status: 'cancelled' });
    await stage.pass(60);
    expect(await stage.poll()).toEqual(['flight.cancelled a']);
  });

  test('begins no earlier than the first reading did, even for an open Flight', async () => {
    stage.show('before', 3_700);
    stage.show('known', 3_000);
    await stage.watch.poll();
    stage.takeAsked();
    await stage.watch.poll();
    expect(stage.asked).toEqual(['list', 'get']);
  });

  test('may leave out an unpublished Bird once its Flights were read to the end, and not before', async () => {
    stage.show('a', 20);
    await stage.watch.poll();
    expect(stage.watch.mayRest(true)).toBe(false);
    stage.ends('a', { status: 'succeeded', durationSeconds: 25 });
    await stage.pass(60);
    expect([stage.watch.mayRest(true), stage.watch.mayRest(false)]).toEqual([false, false]);
    // A rescan that comes too soon may have missed one that is shown late.
    await stage.watch.poll();
    expect(stage.watch.mayRest(false)).toBe(false);
    await stage.pass(3_700);
    await stage.watch.poll();
    expect(stage.watch.mayRest(false)).toBe(true);
    await stage.pass(24 * 3_600);
    expect(stage.watch.mayRest(false)).toBe(false);
  });

  test('begins a little before open Flights of the last quarter of an hour', async () => {
    stage.show('old', 3_500);
    stage.show('young', 200);
    stage.show('new', 0);
    await stage.watch.poll();
    expect(stage.watch.cursorUs()).toBe(stage.clock.nowUs());
    stage.takeAsked();
    await stage.watch.poll();
    expect(stage.asked).toEqual(['list', 'get']);
  });

  test('of a new life continues with what the store knows', async () => {
    stage.show('a', 20);
    stage.show('b', 30, SUCCEEDED);
    stage.show('long ago', 3_000);
    await stage.watch.poll();
    stage.newLife();
    stage.takeAsked();
    expect(await stage.poll()).toEqual([]);
    expect([stage.asked, stage.watch.openCount()]).toEqual([['list', 'get'], 2]);
  });

  test.each(['succeeded', 'failed'])(
    'sees one end that %s, even if the service gives the start only then',
    async (status) => {
      stage.show('queued', 20, { isDated: false });
      await stage.poll();
      await stage.pass(30);
      stage.ends('queued', { status, errorMessages: 'why' });
      stage.dated('queued');
      const seen: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        seen.push(...(await stage.poll()));
        await stage.pass(30);
      }
      expect(seen).toEqual([`flight.${status} queued`]);
    },
  );

  test.each([
    ['succeeded', {}],
    ['failed', {}],
    ['failed', { errorMessages: 'why' }],
  ])(
    'reports once a Flight that %s %o when it started, even if the service says it only then',
    async (...end) => {
      const [status, said] = end;
      stage.show('queued', 20, { isDated: false });
      await stage.poll();
      await stage.pass(30);
      stage.ends('queued', { status, ...said });
      stage.dated('queued');
      for (let round = 0; round < 3; round += 1) await stage.poll();
      const starts = stage.facts.filter(({ fact }) => fact === 'flight_started');
      expect(starts).toMatchObject([{ startedAtUs: expect.any(Number) }]);
      expect(stage.lateUs).toEqual([]);
    },
  );

  test('forgets ended Flights of long ago, which the store still has', async () => {
    const lookedUp: string[] = [];
    const noting = changedStore({ ...stage.store }, (tx) => ({
      flights: {
        find(stream, flightIds) {
          lookedUp.push(...flightIds.map(stage.nameOf));
          return tx.flights.find(stream, flightIds);
        },
      },
    }));
    stage.store.transaction = noting.transaction;
    stage.show('a', 20, SUCCEEDED);
    await stage.watch.poll();
    await stage.pass(1_200);
    for (let round = 0; round < 3; round += 1) {
      await stage.pass(1_200);
      stage.show(`later ${round}`, 0, { status: 'succeeded', durationSeconds: 0 });
      expect(await stage.watch.poll()).toMatchObject({ fresh: [{ type: 'flight.succeeded' }] });
    }
    // The hourly rescan read it once more.
    expect(lookedUp).toEqual(['a', 'later 0', 'a', 'later 1', 'later 2']);
    const started = stage.facts.flatMap((fact) =>
      fact.fact === 'flight_started' ? [stage.nameOf(fact.flightId)] : [],
    );
    expect(started).toEqual(['a', 'later 0', 'later 1', 'later 2']);
  });
});

describe('a Flight that comes late', () => {
  test('is counted for the overlap by the time since it started', async () => {
    stage.show('a', 1);
    await stage.watch.poll();
    await stage.pass(30);
    stage.show('b', 50);
    stage.show('c', 1);
    await stage.watch.poll();
    // The service's clock has whole seconds, including the one that has begun.
    expect(stage.lateUs).toEqual([51 * SECOND_US]);
    expect(stage.facts.flatMap((fact) => (fact.fact === 'flight_started' ? fact.historic : []))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('is not counted for the overlap after a pause, in which it may have come at any time', async () => {
    stage.show('a', 1);
    await stage.watch.poll();
    await stage.pass(700);
    stage.show('b', 705);
    await stage.watch.poll();
    expect(stage.lateUs).toEqual([]);
  });

  test('beyond the overlap is recovered by a rescan, and doubles the overlap', async () => {
    stage.show('a', 1);
    await stage.watch.poll();
    for (let minute = 0; minute < 59; minute += 1) {
      await stage.pass(60);
      stage.show(`${minute}`, 0, { status: 'succeeded', durationSeconds: 0 });
      await stage.watch.poll();
    }
    stage.show('missed', 1_000, { status: 'cancelled', durationSeconds: 5 });
    for (let poll = 0; poll < 3; poll += 1) {
      await stage.pass(60);
      await stage.watch.poll();
    }
    expect(stage.happenings).toContainEqual({ what: 'recovered', region: 'eu', feed: 'flight', count: 1 });
    expect(stage.lateUs).toEqual([OVERLAP_US]);
    expect(stage.watch.verifiedUs()).toBeGreaterThan(TEST_START_US);
  });

  test('by more than a day is found by the daily reading of all failed or active Flights', async () => {
    stage.show('a', 1);
    await stage.watch.poll();
    await stage.pass(3_600);
    stage.show('failed', 3_000, FAILED);
    stage.show('newer', 0);
    stage.answers.unlisted = new Set([...stage.answers.unlisted, 'failed']);
    for (let hours = 0; hours < 52; hours += 1) {
      await stage.watch.poll();
      await stage.pass(3_600);
      if (hours === 30) stage.answers.unlisted = new Set();
    }
    expect(stage.asked).toContain('list failed');
    expect(stage.happenings).toContainEqual({ what: 'recovered', region: 'eu', feed: 'flight', count: 1 });
  });
});

describe('a Flight that started before what a first start reads', () => {
  const started = 3 * 3_600;

  test('and fails before its Bird is first polled, is found by that poll', async () => {
    await stage.pass(60);
    const durationSeconds = started - 30;
    stage.show('missed', started, { status: 'failed', errorMessages: 'No quota', durationSeconds });
    stage.show('over', started, FAILED);
    stage.show('undated', started, { status: 'failed', errorMessages: 'No quota' });
    expect(await stage.poll()).toEqual(['flight.failed missed']);
    expect(history()).toEqual([false]);
    expect(stage.facts.filter(({ fact }) => fact === 'flight_started')).toHaveLength(1);
  });

  test('and whose end the service does not state, is found by its log: of the last few, if many failed', async () => {
    await stage.pass(60);
    stage.answers.hasSlack = false;
    stage.answers.log = [line(3, 20), line(5, 21, { message: 'No quota' })];
    for (let at = 0; at < 7; at += 1) stage.show(`${at}`, started + at * 60, { status: 'failed' });
    expect((await stage.poll()).sort()).toEqual(['0', '1', '2', '3', '4'].map((id) => `flight.failed ${id}`));
    expect(stage.takeAsked().filter((one) => one === 'log')).toHaveLength(5);
    stage.newLife();
    expect(await stage.poll()).toEqual([]);
    expect(stage.asked).not.toContain('log');
  });

  test('is history if its log says that it had ended before the watch, or says nothing', async () => {
    await stage.pass(60);
    stage.show('a', started, { status: 'failed' });
    stage.answers.log = [line(3, 90)];
    expect(await stage.poll()).toEqual([]);
    expect([stage.facts.filter(({ fact }) => fact === 'flight_started'), stage.asked]).toEqual([
      [],
      ['list', 'log'],
    ]);
  });

  test('is news if it was active at the first reading', async () => {
    stage.show('a', started);
    await stage.watch.poll();
    await stage.pass(30);
    stage.ends('a', { status: 'failed', errorMessages: 'No quota', durationSeconds: started + 10 });
    expect(await stage.poll()).toEqual(['flight.failed a']);
  });
});

describe('a Bird at rest', () => {
  const daysAgo = (days: number) => stage.clock.nowUs() - days * 24 * HOUR_US;

  test('is known since when: its first poll looks for its last Flight, once [long]', async () => {
    stage.show('failed', 9 * 86_400, FAILED);
    stage.show('last', 2 * 86_400, SUCCEEDED);
    stage.show('first', 300 * 86_400, SUCCEEDED);
    expect(await stage.poll()).toEqual([]);
    expect(stage.takeAsked()).toEqual(['list']);
    expect(stage.watch.cursorUs()).toBe(daysAgo(2));
    await stage.poll();
    expect(stage.asked).toEqual(['list']);
    stage.newLife();
    expect(await stage.poll()).toEqual([]);
    expect([stage.watch.cursorUs(), stage.watch.openCount()]).toEqual([daysAgo(2), 0]);
  });

  test('is known since when even if the answer may be cut off, if it shows the last one [long]', async () => {
    for (let day = 1; day <= 40; day += 1) stage.show(`${day}`, day * 86_400, SUCCEEDED);
    await stage.poll();
    expect(stage.asked).toEqual(['list', 'list', 'list active', 'list', 'list failed']);
    expect(stage.watch.cursorUs()).toBe(daysAgo(1));
  });
});

describe('Flights too dense for an answer', () => {
  const failed = { status: 'failed', errorMessages: 'No quota', durationSeconds: 0 };
  /** Starts this many of them, spread evenly over this time. */
  function burst(name: string, count: number, withinUs: number): void {
    for (let at = 0; at < count; at += 1)
      stage.show(`${name}${at}`, 600 - (at * withinUs) / count / SECOND_US, failed);
  }
  const gaps = () => stage.facts.flatMap((fact) => (fact.fact === 'feed_gap' ? [fact.missing] : []));
  const missing = () => stage.happenings.filter(({ what }) => what === 'missing').length;

  beforeEach(async () => {
    // Later, so that a burst is not history and rescans look at it.
    await stage.pass(900);
  });

  test('within a second are still read, whether too large or cut off [long]', async () => {
    stage.answers.receivable = 25;
    burst('large', 200, SECOND_US);
    const { fresh, requests } = await stage.watch.poll();
    expect([fresh.length, gaps()]).toEqual([200, [0]]);
    expect(requests).toBeLessThan(320);
    stage.answers.receivable = Number.POSITIVE_INFINITY;
    stage.world.behaviours.flightsCap = 25;
    stage.show('known', 0, failed);
    await stage.pass(3_600);
    burst('cut', 200, SECOND_US);
    expect((await stage.watch.poll()).fresh).toHaveLength(201);
    expect([gaps(), missing()]).toEqual([[0], 0]);
  });

  test('too large however short the window is are given up after some dozens of requests, until they can be read', async () => {
    burst('any', 30, 200 * SECOND_US);
    stage.answers.receivable = -1;
    const { fresh, requests } = await stage.watch.poll();
    expect(fresh).toEqual([]);
    expect(requests).toBeLessThan(100);
    expect([gaps(), missing()]).toEqual([[1], 1]);
    stage.answers.receivable = Number.POSITIVE_INFINITY;
    // Among all that is active or failed as well, which is read once a day.
    await stage.pass(86_400);
    expect(await stage.poll()).toHaveLength(30);
    expect(gaps()).toEqual([1, 0]);
  });

  test('at one moment are reported as missing if no answer holds them; later ones are reported, nothing is proven [long]', async () => {
    stage.answers.receivable = 25;
    burst('large', 30, 0);
    stage.show('later', 10, failed);
    expect(await stage.poll()).toEqual(['flight.failed later']);
    const burstUs = stage.clock.nowUs() - 600 * SECOND_US;
    expect([gaps(), missing()]).toEqual([[1], 1]);
    for (let hours = 0; hours < 3; hours += 1) {
      await stage.pass(3_600);
      await stage.watch.poll();
      expect(stage.watch.verifiedUs()).toBeLessThanOrEqual(burstUs);
    }
    expect([gaps(), missing()]).toEqual([[1], 1]);
    stage.answers.receivable = Number.POSITIVE_INFINITY;
    await stage.pass(3_600);
    expect(await stage.poll()).toHaveLength(30);
    expect(gaps()).toEqual([1, 0]);
    expect(stage.watch.verifiedUs()).toBeGreaterThan(burstUs);
  });

  test('at one moment are known to be missing in a new life, whose polls begin after them', async () => {
    await stage.store.inventory.putBirds([recordOfBird()]);
    stage.answers.receivable = 25;
    burst('large', 30, 0);
    await stage.watch.poll();
    const burstUs = stage.clock.nowUs() - 600 * SECOND_US;
    await stage.pass(1_800);
    stage.show('later', 10, failed);
    await stage.watch.poll();
    await stage.pass(26 * 3_600);
    stage.newLife();
    for (let count = 0; count < 3; count += 1) await stage.watch.poll();
    expect(stage.watch.verifiedUs()).toBeGreaterThan(0);
    expect(stage.watch.verifiedUs()).toBeLessThanOrEqual(burstUs);
    expect([gaps(), missing()]).toEqual([[1, 1], 1]);
  });

  test('at one moment are tried again by the daily reading when they are older than a day, and reported', async () => {
    stage.answers.receivable = 25;
    burst('large', 30, 0);
    await stage.watch.poll();
    await stage.pass(26 * 3_600);
    stage.show('later', 10, failed);
    expect(await stage.poll()).toEqual(['flight.failed later']);
    await stage.watch.poll();
    expect(gaps()).toEqual([1]);
    stage.answers.receivable = Number.POSITIVE_INFINITY;
    // Failed ones would be found anyway.
    for (let at = 0; at < 30; at += 1) stage.ends(`large${at}`, { status: 'succeeded' });
    await stage.pass(3_600);
    expect(await stage.poll()).toEqual([]);
    await stage.pass(24 * 3_600);
    expect(await stage.poll()).toHaveLength(30);
    expect(gaps()).toEqual([1, 0]);
    await stage.pass(3_600);
    await stage.watch.poll();
    expect(stage.watch.verifiedUs()).toBeGreaterThan(stage.clock.nowUs() - HOUR_US);
  });

  test('at one moment are no longer reported as missing when their Bird is deleted', async () => {
    stage.answers.receivable = 25;
    burst('large', 30, 0);
    await stage.watch.poll();
    stage.watch.gone();
    await stage.pass(1);
    expect(gaps()).toEqual([1, 0]);
  });

  test('at one moment are no gap if nothing shows that answers are cut off', async () => {
    burst('many', 30, 0);
    expect((await stage.watch.poll()).fresh).toHaveLength(30);
    await stage.watch.poll();
    expect(gaps()).toEqual([0]);
  });

  test('at one moment are reported as missing if answers are known to be cut off', async () => {
    stage.world.behaviours.flightsOrder = 'newest_first';
    stage.world.behaviours.flightsCap = 25;
    burst('spread', 40, 30 * SECOND_US);
    burst('dense', 30, 0);
    expect((await stage.watch.poll()).fresh.length).toBeGreaterThan(40);
    expect(gaps()).toEqual([1]);
    // Answers longer than the cut one show that the limit is gone.
    stage.world.behaviours.flightsCap = 0;
    await stage.pass(3_600);
    await stage.watch.poll();
    expect(gaps()).toEqual([1, 0]);
  });

  test.each([true, false])(
    'of a service that compares whole seconds are reported as missing (%s) [long]',
    async (exclusive) => {
      stage.world.behaviours.comparedPrecision = 'second';
      stage.answers.isExclusive = exclusive;
      stage.answers.receivable = 25;
      burst('large', 30, SECOND_US / 2);
      expect((await stage.watch.poll()).requests).toBeLessThan(250);
      expect(gaps()).toEqual([1]);
      // It is not tried again until the next rescan.
      expect((await stage.watch.poll()).requests).toBeLessThan(40);
      expect(gaps()).toEqual([1]);
    },
  );

  test('among all active ones are reported as missing as well', async () => {
    stage.answers.receivable = 25;
    for (let at = 0; at < 30; at += 1) stage.show(`${at}`, 100_000);
    await stage.watch.poll();
    expect(gaps()).toEqual([1]);
  });
});

describe('a backlog', () => {
  test('with more Flights than a poll should hold is read from its oldest end, each once [long]', async () => {
    await stage.pass(30);
    stage.show('known', 0, { status: 'succeeded', durationSeconds: 0 });
    await stage.watch.poll();
    const beforeUs = stage.watch.readUs();
    await stage.pass(7_200);
    stage.world.behaviours.flightsCap = 1_000;
    for (let at = 0; at < 5_000; at += 1)
      stage.show(`${at}`, 7_000 - at, { status: 'succeeded', durationSeconds: 0 });
    stage.show('no start at all', 7_000, { isDated: false });
    const seen: number[] = [];
    for (let more = true; more; ) {
      const polled = await stage.watch.poll();
      more = polled.more;
      seen.push(...polled.fresh.map(({ attributes }) => Number(attributes.started_at_us)));
      // Whoever asks whether a Flight is overdue must not judge by a half.
      expect(stage.watch.readUs() > beforeUs).toBe(!more);
      expect(polled.fresh.length).toBeLessThan(4_500);
      if (polled.fresh.length > 0) expect(Math.max(...seen)).toBe(stage.watch.cursorUs());
    }
    expect(new Set(seen).size).toBe(5_000);
    expect(seen).toHaveLength(5_000);
  });

  test('of a first reading is not skipped because of an active Flight at its newer end [long]', async () => {
    stage.world.behaviours.flightsCap = 1_000;
    for (let at = 0; at < 5_000; at += 1)
      stage.show(`${at}`, 3_550 - at / 2, { status: 'succeeded', durationSeconds: 0 });
    stage.show('active', 1);
    const seen = new Set<string>();
    for (let more = true; more; ) {
      const polled = await stage.watch.poll();
      more = polled.more;
      for (const { key } of polled.fresh) seen.add(key);
    }
    expect(seen.size).toBe(5_000);
  });
});

const advanceCursor = (us: number) =>
  stage.store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', stage.bird.id);
    await tx.streams.advanceCursor(stream, us);
  });

test('a Bird for which the store has only the cursor is read from there', async () => {
  await advanceCursor(TEST_START_US - 60 * SECOND_US);
  stage.show('before', 600, { status: 'succeeded', durationSeconds: 1 });
  stage.show('after', 30, { status: 'succeeded', durationSeconds: 1 });
  expect(await stage.poll()).toEqual(['flight.succeeded after']);
});

test("a cursor ahead of the service's clock is corrected at once", async () => {
  stage.show('before', 600, { status: 'succeeded', durationSeconds: 1 });
  expect(await stage.poll()).toEqual(['flight.succeeded before']);
  await advanceCursor(TEST_START_US + 40 * 365 * 24 * HOUR_US);
  stage.newLife();
  stage.show('after', 30, { status: 'failed', durationSeconds: 1 });
  expect(await stage.poll()).toEqual(['flight.failed after']);
  expect(stage.watch.cursorUs()).toBe(TEST_START_US - 30 * SECOND_US);
});

test('a single answer with a wrong time does not move the cursor back', async () => {
  stage.show('known', 30, { status: 'succeeded', durationSeconds: 1 });
  await stage.poll();
  let answered = 0;
  const aheadUs = () => (answered++ === 0 ? -HOUR_US : 0);
  Object.defineProperty(stage.answers, 'aheadUs', { get: aheadUs });
  const { historyMs } = await stage.watch.poll();
  expect([answered, historyMs]).toEqual([2, undefined]);
  expect(stage.watch.cursorUs()).toBe(TEST_START_US - 30 * SECOND_US);
});

test('a Bird that is deleted during a poll shares its row with no other until the poll has ended', async () => {
  await stage.watch.poll();
  const lastPoll = stage.watch.poll();
  stage.watch.gone();
  const other = stage.watchOf('other');
  await lastPoll;
  expect([stage.watch.verifiedUs() > 0, other.verifiedUs()]).toEqual([true, 0]);
  expect([other.row, stage.watchOf('third').row]).toEqual([1, stage.watch.row]);
});
