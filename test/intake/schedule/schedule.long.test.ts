import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Polled, Schedule, type ScheduleOptions } from '../../../src/intake/schedule/schedule.ts';
import { heldBoundMs, Measured, squareRootBoundMs } from '../../bench/delay-measure.ts';
import { schedulePolicy, uniformPolicy } from '../../bench/delay-policies.ts';
import { createDelayWorld, SHAPES } from '../../bench/delay-world.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NEVER = { waitMs: Number.POSITIVE_INFINITY };
const QUIET: Polled = { requests: 1, newEntries: 0, complete: true };

function scheduleOf(options: Partial<ScheduleOptions> = {}): Schedule {
  return new Schedule({
    minIntervalMs: 10 * SECOND,
    intervalMs: 30 * SECOND,
    maxIntervalMs: 5 * MINUTE,
    allowedPerSecond: () => 50,
    ...options,
  });
}

/** Adds Birds of these names, or so many that are called by their numbers. */
function addBirds(schedule: Schedule, birds: number | readonly string[], nowMs = 0): readonly string[] {
  const names = typeof birds === 'number' ? numbered(birds) : birds;
  for (const name of names) schedule.add({ name, feed: 'flight' }, nowMs);
  return names;
}

const numbered = (count: number, what = '') => Array.from({ length: count }, (_, at) => `${what}${at}`);

/** One request after another at a fixed rate; `polled` returns what each poll was like. */
function serve(
  schedule: Schedule,
  { fromMs = 0, untilMs, perSecond }: { fromMs?: number; untilMs: number; perSecond: number },
  polled: (name: string, nowMs: number) => Polled = () => QUIET,
): { name: string; atMs: number }[] {
  const polls: { name: string; atMs: number }[] = [];
  for (let nowMs = fromMs; nowMs < untilMs; ) {
    const turn = schedule.take(nowMs);
    if ('waitMs' in turn) {
      expect(turn.waitMs).toBeGreaterThan(0);
      nowMs += Math.max(turn.waitMs, SECOND / perSecond);
      continue;
    }
    const result = polled(turn.name, nowMs);
    polls.push({ name: turn.name, atMs: nowMs });
    nowMs += ((result.requests ?? 1) * SECOND) / perSecond;
    schedule.done(turn.name, nowMs, result);
  }
  return polls;
}

/** A schedule with one Bird. */
function withBird(): Schedule {
  const schedule = scheduleOf();
  addBirds(schedule, ['a']);
  return schedule;
}

const timesOf = (polls: readonly { name: string; atMs: number }[], name: string) =>
  polls.filter((poll) => poll.name === name).map(({ atMs }) => atMs);

function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((atMs, at) => atMs - times[at]!);
}

describe('a feed that is excluded from a turn', () => {
  const feeds = scheduleOf();
  feeds.add({ name: 'log', feed: 'bird_log' }, 0);
  feeds.add({ name: 'retried', feed: 'bird_log' }, 0);
  feeds.add({ name: 'flights', feed: 'flight' }, 0);
  const names = (nowMs: number, except?: string, schedule = feeds) => {
    const taken: string[] = [];
    for (;;) {
      const turn = schedule.take(nowMs, except);
      if ('waitMs' in turn) return [...taken, turn.waitMs];
      taken.push(turn.name);
    }
  };

  test('has none, whether its streams are fresh, timed or waiting, and the others wait for their own', () => {
    expect(names(0, 'bird_log')).toEqual(['flights', Number.POSITIVE_INFINITY]);
    expect(names(0)).toEqual(['log', 'retried', Number.POSITIVE_INFINITY]);
    feeds.done('retried', 100, { delayMs: 400 });
    feeds.done('log', 100, QUIET);
    feeds.done('flights', 100, QUIET);
    // It need not be looked at again before a second has passed.
    expect(names(600, 'bird_log')).toEqual([1_000]);
    expect(names(600)).toEqual(['retried', 29_400]);
    expect(names(40_000, 'bird_log')).toEqual(['flights', Number.POSITIVE_INFINITY]);
    expect(names(40_000)).toEqual(['log', Number.POSITIVE_INFINITY]);
  });
});

describe('a stream of a Bird', () => {
  test('is due at once, and again an interval after its poll began', () => {
    const schedule = withBird();
    expect(schedule.take(1_000)).toEqual({ name: 'a' });
    schedule.done('a', 4_000, QUIET);
    expect(schedule.take(4_000)).toEqual({ waitMs: 27_000 });
    expect(schedule.take(31_000)).toEqual({ name: 'a' });
  });

  test('is not returned a second time while its poll runs', () => {
    const schedule = withBird();
    schedule.take(0);
    expect(schedule.take(50 * MINUTE)).toEqual(NEVER);
  });

  test('added again while its poll runs is fresh, whatever that poll results in', () => {
    const schedule = withBird();
    schedule.take(0);
    schedule.remove('a');
    addBirds(schedule, ['a'], 1_000);
    schedule.done('a', 1_000, { delayMs: MINUTE });
    expect(schedule.take(1_000)).toEqual({ name: 'a' });
  });

  test.each<[string, number, number]>([
    ['sooner than the interval, after a failure', 5_000, 5_500],
    ['at once, when there was more than one poll reads', 0, 500],
    ['later than the interval, after many failures', 200_000, 200_500],
  ])('is polled again %s', (_, delayMs, dueMs) => {
    const schedule = withBird();
    schedule.take(0);
    schedule.done('a', 500, { delayMs });
    if (delayMs > 0) expect(schedule.take(500)).toEqual({ waitMs: delayMs });
    expect(schedule.take(dueMs)).toEqual({ name: 'a' });
  });

  test('that is not to be polled again stays so, whatever is hinted', () => {
    const schedule = withBird();
    schedule.take(0);
    schedule.hint('a', 0);
    schedule.done('a', 0, { ...QUIET, delayMs: Number.POSITIVE_INFINITY });
    schedule.hint('a', 0);
    expect(schedule.take(HOUR)).toEqual(NEVER);
  });
});

describe('a hint', () => {
  function polledOnce(): Schedule {
    const schedule = withBird();
    schedule.take(0);
    return schedule;
  }

  test('brings a stream forward, but not closer to its last poll than the minimum', () => {
    const schedule = polledOnce();
    schedule.done('a', 1_000, QUIET);
    schedule.hint('a', 2_000);
    expect(schedule.take(2_000)).toEqual({ waitMs: 8_000 });
    expect(schedule.take(10_000)).toEqual({ name: 'a' });
  });

  test('during the poll is kept for after it', () => {
    const schedule = polledOnce();
    schedule.hint('a', 3_000);
    schedule.done('a', 4_000, QUIET);
    expect(schedule.take(4_000)).toEqual({ waitMs: 6_000 });
  });

  test.each(['during a poll', 'after it'])('that came %s holds for one poll only', (when) => {
    const schedule = polledOnce();
    if (when === 'during a poll') schedule.hint('a', 500);
    schedule.done('a', 1_000, QUIET);
    if (when === 'after it') schedule.hint('a', 2_000);
    schedule.take(10_000);
    schedule.done('a', 10_000, QUIET);
    expect(schedule.take(10_000)).toEqual({ waitMs: 30_000 });
  });

  test('brings a retry forward, and does not postpone one', () => {
    const schedule = polledOnce();
    schedule.done('a', 1_000, { delayMs: 60_000 });
    schedule.hint('a', 20_000);
    schedule.hint('a', 21_000);
    expect(schedule.take(20_000)).toEqual({ name: 'a' });
  });

  test('about a stream that is unknown, fresh or regular does what it can', () => {
    const schedule = scheduleOf();
    schedule.hint('unknown', 0);
    addBirds(schedule, ['fresh']);
    schedule.hint('fresh', 0);
    expect(schedule.take(0)).toEqual({ name: 'fresh' });
    schedule.add({ name: 'inventory', intervalMs: 5 * MINUTE, share: 0.25 }, 0);
    expect(schedule.take(0)).toEqual({ name: 'inventory' });
    schedule.done('inventory', 0, { requests: 3 });
    schedule.hint('inventory', 1_000);
    expect(schedule.take(1_000)).toEqual({ waitMs: 9_000 });
    expect(schedule.take(10_000)).toEqual({ name: 'inventory' });
  });

  test('is followed soon, even if all others want their turns for their expected entries', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    addBirds(schedule, 100);
    serve(schedule, { untilMs: 150 * SECOND, perSecond: 1 });
    schedule.hint('99', 150 * SECOND);
    const polls = serve(schedule, { fromMs: 150 * SECOND, untilMs: 160 * SECOND, perSecond: 1 });
    expect(timesOf(polls, '99')).toHaveLength(1);
  });

  test('about every stream, again and again, does not keep others from their longest interval [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 2 });
    const hot = numbered(60, 'hot');
    const quiet = numbered(240, 'quiet');
    addBirds(schedule, [...hot, ...quiet]);
    const polls = serve(schedule, { untilMs: HOUR, perSecond: 2 }, (name, nowMs) => {
      if (name.startsWith('hot')) schedule.hint(name, nowMs);
      return QUIET;
    });
    const gaps = quiet.map((name) => gapsOf(timesOf(polls, name)));
    expect(Math.min(...gaps.map((each) => each.length))).toBeGreaterThanOrEqual(11);
    expect(Math.max(...gaps.flat())).toBeLessThanOrEqual(5 * MINUTE);
    expect(gapsOf(timesOf(polls, 'hot7')).length).toBeGreaterThan(gapsOf(timesOf(polls, 'quiet7')).length);
  });
});

test('a feed whose entries count little waits up to the longest interval, and after one that counts less long [long]', () => {
  const schedule = scheduleOf({ allowedPerSecond: () => 4 });
  const birds = numbered(150);
  for (const bird of birds) {
    schedule.add({ name: `flights/${bird}`, feed: 'flight' }, 0);
    schedule.add({ name: `logs/${bird}`, feed: 'bird_log' }, 0);
  }
  const polledMs = new Map<string, number>();
  const failedMs = 20 * MINUTE;
  const polls = serve(schedule, { untilMs: HOUR, perSecond: 4 }, (name, nowMs) => {
    const sinceMs = polledMs.get(name) ?? 0;
    polledMs.set(name, nowMs);
    const perHour = name.startsWith('flights') ? 12 : 1 / 20;
    const hasFailed = name === 'logs/7' && sinceMs < failedMs && nowMs >= failedMs;
    return { ...QUIET, newEntries: hasFailed ? 1 : (perHour * (nowMs - sinceMs)) / HOUR };
  });
  const gapsIn = (name: string) => gapsOf(timesOf(polls, name));
  const mean = (gaps: readonly number[]) => gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  for (const bird of birds) expect(Math.max(...gapsIn(`logs/${bird}`))).toBeLessThanOrEqual(5 * MINUTE);
  expect(mean(gapsIn('logs/3'))).toBeGreaterThan(4 * MINUTE);
  // In turn with the logs it would be 75 s.
  expect(mean(gapsIn('flights/3'))).toBeLessThan(46 * SECOND);
  const after = timesOf(polls, 'logs/7').filter((atMs) => atMs >= failedMs);
  expect(after[1]! - after[0]!).toBeLessThan(0.8 * mean(gapsIn('logs/3')));
});

describe('a regular stream', () => {
  test('is polled at its own interval, which may change', () => {
    const schedule = scheduleOf();
    schedule.add({ name: 'notifications', intervalMs: 30 * SECOND, share: 0.25 }, 0);
    expect(schedule.take(0)).toEqual({ name: 'notifications' });
    schedule.done('notifications', 2_000, { requests: 1 });
    expect(schedule.take(2_000)).toEqual({ waitMs: 28_000 });
    schedule.add({ name: 'notifications', intervalMs: 60 * SECOND, share: 0.25 }, 2_000);
    expect(schedule.take(30_000)).toEqual({ name: 'notifications' });
    schedule.done('notifications', 30_000, { requests: 1 });
    expect(schedule.take(30_000)).toEqual({ waitMs: 60_000 });
  });

  test('that is overdue longest comes first', () => {
    const schedule = scheduleOf();
    for (const [at, name] of ['inventory', 'notifications', 'audit'].entries()) {
      schedule.add({ name, intervalMs: [2, 1, 3][at]! * MINUTE, share: 0.25 }, 0);
    }
    const takeAll = (nowMs: number) => {
      const names: string[] = [];
      for (let turn = schedule.take(nowMs); 'name' in turn; turn = schedule.take(nowMs)) {
        names.push(turn.name);
      }
      return names;
    };
    expect(takeAll(0)).toEqual(['inventory', 'notifications', 'audit']);
    for (const name of ['inventory', 'notifications', 'audit']) schedule.done(name, 0, { requests: 1 });
    // The requests of Birds bring all of them back within their shares.
    addBirds(schedule, ['a', 'b', 'c', 'd', 'e']);
    takeAll(0);
    expect(takeAll(4 * MINUTE)).toEqual(['notifications', 'inventory', 'audit']);
  });

  test('that costs many requests neither starves the Birds nor is starved by them [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    addBirds(schedule, 200);
    schedule.add({ name: 'inventory', intervalMs: MINUTE, share: 0.25 }, 0);
    const polls = serve(schedule, { untilMs: 4 * HOUR, perSecond: 1 }, (name) =>
      name === 'inventory' ? { requests: 101 } : QUIET,
    );
    const inventory = timesOf(polls, 'inventory');
    const share = (inventory.length * 101) / (4 * 3600);
    expect(share).toBeGreaterThan(0.22);
    expect(share).toBeLessThan(0.28);
  });

  test('is still polled each interval while Birds want more than the rate allows [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    addBirds(schedule, 2_000);
    schedule.add({ name: 'notifications', intervalMs: 30 * SECOND, share: 0.25 }, 0);
    const polls = serve(schedule, { untilMs: HOUR, perSecond: 1 });
    expect(Math.max(...gapsOf(timesOf(polls, 'notifications')))).toBeLessThanOrEqual(31 * SECOND);
  });
});

describe('the choice between Birds', () => {
  test('if the rate allows the interval for all, every stream has it, and no further request is sent [long]', () => {
    const schedule = scheduleOf();
    addBirds(schedule, 100);
    const polls = serve(schedule, { untilMs: HOUR, perSecond: 50 }, (name) => ({
      ...QUIET,
      newEntries: name === '7' ? 5 : 0,
    }));
    for (const name of ['7', '8']) {
      const gaps = gapsOf(timesOf(polls, name));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30 * SECOND);
      expect(Math.max(...gaps)).toBeLessThan(33 * SECOND);
    }
  });

  test('otherwise streams are polled in proportion to the square root of their rates [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1, maxIntervalMs: HOUR });
    addBirds(schedule, 60);
    // Nothing happens in most of them, and every second of the others has three times as much.
    const isBusy = (name: string) => Number(name) < 20;
    const perPoll = (name: string) => (isBusy(name) ? (Number(name) % 2 === 0 ? 90 : 30) / 60 : 0);
    const lastMs = new Map<string, number>();
    const carried = new Map<string, number>();
    const polls = serve(schedule, { untilMs: 8 * HOUR, perSecond: 1 }, (name, nowMs) => {
      const minutes = (nowMs - (lastMs.get(name) ?? nowMs)) / MINUTE;
      lastMs.set(name, nowMs);
      const exact = (carried.get(name) ?? 0) + minutes * perPoll(name);
      carried.set(name, exact % 1);
      return { ...QUIET, newEntries: Math.floor(exact) };
    });
    const late = polls.filter(({ name, atMs }) => atMs > 4 * HOUR && isBusy(name));
    const ratio =
      late.filter(({ name }) => Number(name) % 2 === 0).length /
      late.filter(({ name }) => Number(name) % 2 === 1).length;
    expect(ratio).toBeGreaterThan(1.6);
    expect(ratio).toBeLessThan(1.87);
  });

  test('but none waits longer than a round if it would make the p99 of the others longer [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1, maxIntervalMs: HOUR });
    const names = addBirds(schedule, 60);
    // By the square root alone, those with a quarter of the entries would wait for 90 s, and every third entry there
    // for a minute.
    let turn = 0;
    const polls = serve(schedule, { untilMs: 8 * HOUR, perSecond: 1 }, (name) => {
      turn += 1;
      return { ...QUIET, newEntries: Number(name) % 2 === 0 || turn % 3 === 0 ? 1 : 0 };
    });
    const gaps = names.flatMap((name) => gapsOf(timesOf(polls, name).filter((atMs) => atMs > 4 * HOUR)));
    gaps.sort((one, other) => one - other);
    expect(gaps[Math.floor(0.9 * gaps.length)]).toBeLessThanOrEqual(70 * SECOND);
  });

  test.each([
    // By the square root alone it would be 1.4, and a fifth of the entries there would be late.
    ['a third', 2, 0.95, 1.3],
    ['next to nothing', 200, 5, 100],
  ] as const)(
    'a feed with %s of the entries waits as long as it may without being late [long]',
    (_, times, least, most) => {
      const schedule = scheduleOf({ allowedPerSecond: () => 2, maxIntervalMs: HOUR });
      const names = numbered(80);
      for (const [feed, per] of [
        ['flight', 'a'],
        ['bird_log', 'b'],
      ] as const) {
        for (const name of names) schedule.add({ name: `${per}${name}`, feed }, 0);
      }
      let count = 0;
      const polls = serve(schedule, { untilMs: 4 * HOUR, perSecond: 2 }, (name) => {
        count += 1;
        const isNew = name.startsWith('a') ? count % 4 === 0 : count % (4 * times) === 0;
        return { ...QUIET, newEntries: isNew ? 1 : 0 };
      });
      const late = polls.filter(({ atMs }) => atMs > HOUR);
      const ofFeed = (per: string) => late.filter(({ name }) => name.startsWith(per)).length;
      expect(ofFeed('a') / ofFeed('b')).toBeGreaterThan(least);
      expect(ofFeed('a') / ofFeed('b')).toBeLessThan(most);
    },
  );

  test('a stream known from an earlier life is polled first by what that has seen', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    const seen = (entries: number) => ({ entries, coveredMs: HOUR });
    for (let at = 0; at < 60; at += 1) schedule.add({ name: `quiet${at}`, feed: 'flight', seen: seen(0) }, 0);
    schedule.add({ name: 'busy', feed: 'flight', seen: seen(30) }, 0);
    expect(schedule.take(1_000)).toEqual({ name: 'busy' });
    schedule.done('busy', 2_000, QUIET);
    const polls = serve(schedule, { fromMs: 2_000, untilMs: MINUTE, perSecond: 1 });
    expect(timesOf(polls, 'busy').length).toBeGreaterThan(1);
  });

  test('a first poll teaches the rate if it is known how long a time it covered', () => {
    const polled = (historyMs: number | undefined) => {
      const schedule = scheduleOf({ allowedPerSecond: () => 1 });
      addBirds(schedule, 60);
      let isFirst = true;
      const polls = serve(schedule, { untilMs: 4 * MINUTE, perSecond: 1 }, (name) => {
        const newEntries = name === '7' && isFirst ? 40 : 0;
        if (name === '7') isFirst = false;
        return { ...QUIET, newEntries, historyMs };
      });
      return timesOf(polls, '7').length;
    };
    expect(polled(HOUR)).toBeGreaterThan(polled(undefined));
  });

  test('a new Bird is polled at once, and then like an average one of its feed [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1, maxIntervalMs: HOUR });
    addBirds(schedule, 60);
    const news = (name: string): Polled => ({ ...QUIET, newEntries: name === '0' ? 3 : 0 });
    serve(schedule, { untilMs: 3 * HOUR, perSecond: 1 }, news);
    schedule.add({ name: 'new', feed: 'flight', newsMs: 5 * MINUTE }, 3 * HOUR);
    const polls = serve(schedule, { fromMs: 3 * HOUR, untilMs: 3 * HOUR + 10 * MINUTE, perSecond: 1 }, news);
    expect(polls[0]).toEqual({ name: 'new', atMs: 3 * HOUR });
    const [busy, fresh, quiet] = ['0', 'new', '5'].map((name) => timesOf(polls, name).length);
    expect(fresh).toBeGreaterThan(quiet!);
    expect(fresh).toBeLessThan(busy!);
  });
});

describe('a long backlog of a regular stream', () => {
  /** The pages left to read if Birds whose polls bring much take all the requests they can get. */
  function pagesLeft(birds: number, perSecond: number, untilMs: number) {
    const schedule = scheduleOf({
      minIntervalMs: SECOND,
      intervalMs: SECOND,
      allowedPerSecond: () => perSecond,
    });
    const names = addBirds(schedule, birds);
    schedule.add({ name: 'notifications', intervalMs: SECOND, share: 0.25 }, 0);
    let left = 2_000;
    const lastMs = new Map<string, number>();
    const lags: (string | undefined)[] = [];
    const polls = serve(schedule, { untilMs, perSecond }, (name, nowMs) => {
      lags.push(schedule.lag(nowMs)?.name);
      if (name !== 'notifications') {
        const newEntries = Math.round((nowMs - (lastMs.get(name) ?? nowMs)) / 300);
        lastMs.set(name, nowMs);
        return { requests: 3, newEntries, complete: true };
      }
      const requests = Math.min(left, 20) || 1;
      left -= Math.min(left, 20);
      return { requests, newEntries: 400, complete: left === 0, ...(left > 0 && { delayMs: 0 }) };
    });
    return { left, polls, names, lags };
  }

  test('gets half of the requests, and leaves Birds the other half', () => {
    const { left, polls, names } = pagesLeft(12, 20, 3 * MINUTE);
    // With only its own share, 1,100 would be left.
    expect(left).toBeLessThan(250);
    const gaps = names.flatMap((name) => gapsOf(timesOf(polls, name)));
    // A round over all of them takes 1.8 s; with half of the requests twice as long.
    expect(Math.max(...gaps)).toBeLessThan(5 * SECOND);
  });

  test('keeps no Bird from its longest interval [long]', () => {
    const { left, polls, names } = pagesLeft(1_200, 20, 30 * MINUTE);
    expect(left).toBe(0);
    const gaps = names.flatMap((name) => gapsOf(timesOf(polls, name)));
    expect(Math.max(...gaps)).toBeLessThan(7 * MINUTE);
  });

  test('is a lag as long as it is not read to its end, however many of its polls succeed', () => {
    const { lags } = pagesLeft(12, 1, 11 * MINUTE);
    expect(lags[0]).toBeUndefined();
    expect(lags.at(-1)).toBe('notifications');
  });
});

describe('the longest interval', () => {
  test('is kept for streams without any entries, beside busy ones [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 2 });
    const names = addBirds(schedule, 500);
    const polls = serve(schedule, { untilMs: 3 * HOUR, perSecond: 2 }, (name) => ({
      ...QUIET,
      newEntries: Number(name) < 50 ? 4 : 0,
    }));
    const late = polls.filter(({ atMs }) => atMs > HOUR);
    const gaps = names.map((name) => Math.max(...gapsOf(timesOf(late, name))));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5 * MINUTE);
    expect(Math.max(...gapsOf(timesOf(late, '3')))).toBeLessThan(MINUTE * 4);
  });

  test('is kept by streams that were polled all at once, when the rate falls afterwards [long]', () => {
    let perSecond = 50;
    const schedule = scheduleOf({ allowedPerSecond: () => perSecond });
    // Removed streams take no part.
    addBirds(schedule, numbered(2_000, 'gone'));
    for (let at = 0; at < 2_000; at += 1) schedule.remove(`gone${at}`);
    const names = addBirds(schedule, 300);
    const news = (name: string): Polled => ({ ...QUIET, newEntries: Number(name) < 150 ? 50 : 0 });
    const before = serve(schedule, { untilMs: 10 * MINUTE, perSecond }, news);
    perSecond = 1.1;
    const after = serve(schedule, { fromMs: 10 * MINUTE, untilMs: HOUR, perSecond }, news);
    const gaps = names.flatMap((name) => gapsOf(timesOf([...before, ...after], name)));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5 * MINUTE);
  });

  test('holds while the rate allows it, and nobody is polled below the minimum, whatever happens [long]', () => {
    const scenario = fc.record({
      streams: fc.integer({ min: 1, max: 120 }),
      minS: fc.integer({ min: 1, max: 20 }),
      aimS: fc.integer({ min: 0, max: 60 }),
      maxS: fc.integer({ min: 60, max: 400 }),
      /** The share of the rate that one poll of each stream every `maxS` takes. */
      load: fc.double({ min: 0.05, max: 0.9, noNaN: true }),
      hot: fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 30, size: 'max' }),
    });
    fc.assert(
      fc.property(scenario, ({ streams, minS, aimS, maxS, load, hot }) => {
        const perSecond = streams / maxS / load;
        const minIntervalMs = minS * SECOND;
        const maxIntervalMs = (maxS + minS) * SECOND;
        const schedule = new Schedule({
          minIntervalMs,
          intervalMs: Math.min((minS + aimS) * SECOND, maxIntervalMs),
          maxIntervalMs,
          allowedPerSecond: () => perSecond,
        });
        const names = addBirds(schedule, streams);
        const turnMs = SECOND / perSecond;
        const polls = serve(schedule, { untilMs: 6 * (maxIntervalMs + turnMs), perSecond }, (name) => ({
          ...QUIET,
          newEntries: hot[Number(name) % hot.length]!,
        }));
        const least = Math.min(minIntervalMs, 0.9 * maxIntervalMs);
        for (const name of names) {
          const gaps = gapsOf(timesOf(polls, name));
          expect(gaps.length).toBeGreaterThan(3);
          expect(Math.min(...gaps)).toBeGreaterThanOrEqual(least - 0.001);
          expect(Math.max(...gaps)).toBeLessThanOrEqual(maxIntervalMs + turnMs);
        }
      }),
      {
        numRuns: 60,
        // One stream, whose turns are nearly as long as its aim.
        examples: [[{ streams: 1, minS: 1, aimS: 45, maxS: 60, load: 0.7625, hot: [0] }]],
      },
    );
  });

  test('if the rate cannot keep it, the schedule says so with the rate that could [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    const names = addBirds(schedule, 600);
    schedule.add({ name: 'notifications', intervalMs: 30 * SECOND, share: 0.25 }, 0);
    expect(schedule.lag(0)).toBeUndefined();
    serve(schedule, { untilMs: 3 * HOUR, perSecond: 1 });
    const lag = schedule.lag(3 * HOUR)!;
    expect(lag.oldestMs).toBeGreaterThan(10 * MINUTE);
    expect(lag.oldestMs).toBeLessThan(16 * MINUTE);
    expect(lag.streams).toBeGreaterThan(200);
    expect(schedule.neededPerSecond()).toBeCloseTo(600 / 300 + 1 / 30, 5);

    for (const name of names.slice(0, 450)) schedule.remove(name);
    expect(schedule.neededPerSecond()).toBeCloseTo(150 / 300 + 1 / 30, 5);
    serve(schedule, { fromMs: 3 * HOUR, untilMs: 4 * HOUR, perSecond: 1 });
    expect(schedule.lag(4 * HOUR)).toBeUndefined();
  });

  test('is also missed by streams that were never polled, whose polls fail, or whose poll does not end', () => {
    const schedule = withBird();
    const lags = () => [schedule.lag(5 * MINUTE), schedule.lag(6 * MINUTE)];
    const missed = [undefined, { name: 'a', oldestMs: 6 * MINUTE, isBehind: false, streams: 1 }];
    expect(lags()).toEqual(missed);
    schedule.take(MINUTE);
    expect(lags()).toEqual(missed);
    schedule.done('a', MINUTE, { delayMs: MINUTE });
    expect(lags()).toEqual(missed);
    schedule.take(4 * MINUTE);
    schedule.done('a', 4 * MINUTE, QUIET);
    expect(lags()).toEqual([undefined, undefined]);
  });

  test('is not missed by what is deleted, nor by a regular stream that may lag', () => {
    const schedule = withBird();
    schedule.add({ name: 'audit', intervalMs: MINUTE, share: 0.1, mayLag: true }, 0);
    schedule.add({ name: 'inventory', intervalMs: 8 * MINUTE, share: 0.1 }, 0);
    for (const atMs of [0, 4 * MINUTE, 8 * MINUTE, 12 * MINUTE]) {
      while ('name' in schedule.take(atMs)) {
        for (const name of ['audit', 'inventory']) schedule.done(name, atMs);
        schedule.done('a', atMs, { delayMs: MINUTE, isGone: true });
      }
      expect(schedule.lag(atMs)).toBeUndefined();
    }
    // Twice its own interval.
    expect(schedule.lag(16 * MINUTE)).toBeUndefined();
    expect(schedule.lag(16 * MINUTE + 1)).toMatchObject({ name: 'inventory', streams: 1 });
  });

  test('where it cannot be kept, a part of the rate still goes to where entries are expected [long]', () => {
    const schedule = scheduleOf({ allowedPerSecond: () => 1 });
    addBirds(schedule, 600);
    const polls = serve(schedule, { untilMs: 8 * HOUR, perSecond: 1 }, (name) => ({
      ...QUIET,
      newEntries: name === '3' ? 30 : 0,
    }));
    const late = polls.filter(({ atMs }) => atMs > 4 * HOUR);
    expect(timesOf(late, '3').length).toBeGreaterThan(3 * timesOf(late, '4').length);
  });
});

describe('the delay of entries', () => {
  const limits = { minIntervalMs: 5_000, intervalMs: 30_000, maxIntervalMs: 10 * MINUTE };

  test('of skewed Birds is at most 0.6 of uniform polling and 1.15 of the least with its p99, which is nearly kept [long]', async () => {
    const [birds, requestsPerSecond] = [1_000, 10];
    const run = { requestsPerSecond, fromMs: 4 * HOUR, toMs: 6 * HOUR };
    const world = () => createDelayWorld({ shape: 'skewed', birds, meanPerHour: 6 });
    const ours = new Measured()
      .add(world(), schedulePolicy(world(), requestsPerSecond, limits), run)
      .delays();
    const uniform = new Measured().add(world(), uniformPolicy(birds), run).delays();
    expect(ours.meanMs / uniform.meanMs).toBeLessThanOrEqual(0.6);
    const held = { leastMs: 5_000, mostMs: 10 * MINUTE, lateMs: uniform.p99Ms };
    expect(ours.meanMs / heldBoundMs(world().perHour, requestsPerSecond, held)).toBeLessThanOrEqual(1.15);
    expect(ours.p99Ms / uniform.p99Ms).toBeLessThanOrEqual(1.1);
    expect(ours.longestGapMs).toBeLessThanOrEqual(10 * MINUTE);
    expect(ours.shortestGapMs).toBeGreaterThanOrEqual(5_000);
  });

  test('of equal Birds is that of uniform polling [long]', async () => {
    const run = { requestsPerSecond: 4, fromMs: 6 * HOUR, toMs: 12 * HOUR };
    const world = () => createDelayWorld({ shape: 'equal', birds: 200, meanPerHour: 6 });
    const ours = new Measured().add(world(), schedulePolicy(world(), 4, limits), run).delays();
    expect(ours.meanMs / squareRootBoundMs(world().perHour, 4)).toBeLessThanOrEqual(1.05);
  });

  test.each(SHAPES)(
    'in the first ten minutes of %s Birds is at most 0.82 of uniform polling, and no Bird starves [long]',
    (shape) => {
      const feeds = { flight: 1, bird_log: 0.05 };
      const run = { requestsPerSecond: 4, fromMs: 0, toMs: 10 * MINUTE };
      const [ours, uniform] = [new Measured(), new Measured()];
      for (let seed = 1; seed <= 5; seed += 1) {
        const world = () => createDelayWorld({ shape, birds: 150, feeds, meanPerHour: 6, seed });
        ours.add(world(), schedulePolicy(world(), 4, { ...limits, maxIntervalMs: 5 * MINUTE }), run);
        uniform.add(world(), uniformPolicy(300), run);
      }
      expect(ours.delays().meanMs / uniform.delays().meanMs).toBeLessThanOrEqual(0.82);
      const hasQuietBirds = ['skewed', 'bursty', 'waking'].includes(shape);
      if (hasQuietBirds) expect(ours.delays().p99Ms).toBeLessThanOrEqual(uniform.delays().p99Ms);
      expect(ours.delays().longestGapMs).toBeLessThanOrEqual(5 * MINUTE);
    },
  );
});
