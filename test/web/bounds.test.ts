import { describe, expect, test } from 'vitest';
import { createMatcher } from '../../src/domain/matchers/matcher.ts';
import { LIMITS } from '../../src/limits.ts';
import type { Happening } from '../../src/report.ts';
import { kept, select } from '../../src/web/bounded-work.ts';
import { countProcessorMs } from '../processor-time.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { serve } from './served.ts';

const DAY_US = 86_400_000_000;

/** A silence for the API, which ends in a day. */
function silence(nowUs: number, value: string, isRegex = false, comment = 'why') {
  return {
    matchers: [{ name: 'bird', value, isRegex, isEqual: true }],
    endsAt: new Date((nowUs + DAY_US) / 1000).toISOString(),
    createdBy: 'ann',
    comment,
  };
}

async function withSilences(count: number, value: (at: number) => string, endsAtUs = DAY_US) {
  const served = await serve();
  const nowUs = served.clock.nowUs();
  await served.store.transaction((tx) =>
    tx.silences.put(
      Array.from({ length: count }, (_, at) => ({
        id: `s${String(at).padStart(6, '0')}`,
        matchers: [createMatcher('bird', '=~', value(at))],
        startsAtUs: nowUs - 2 * DAY_US,
        endsAtUs: nowUs + endsAtUs + at,
        updatedAtUs: nowUs,
        createdBy: 'ann',
        comment: '',
        recurrence: null,
        alertId: null,
        alertStartsAtUs: null,
      })),
    ),
  );
  const post = (body: unknown) => served.post<string>('/api/v2/silences', body);
  const reached = () => served.reported.flatMap((one) => (one.what === 'limit_reached' ? [one.limit] : []));
  return { ...served, nowUs, post, reached };
}

describe('silences', () => {
  const { most } = LIMITS.silences;

  test('may be as many as their limit, and then no more until one ends [long]', async () => {
    const { post, ask, nowUs, reached } = await withSilences(most - 1, (at) => `x${at}`);
    expect((await post(silence(nowUs, 'the last'))).status).toBe(200);
    const { status, json } = await post(silence(nowUs, 'one more'));
    expect([status, json]).toEqual([400, expect.stringContaining(`no more than ${most} items`)]);
    expect(reached()).toEqual(['silences']);
    expect((await ask('/api/v2/silence/s000000', {}, 'DELETE')).status).toBe(200);
    expect((await post(silence(nowUs, 'now there is room'))).status).toBe(200);
  });

  test('are shown on the page up to fifty, and counted beyond [long]', async () => {
    for (const [count, more] of [
      [50, false],
      [51, true],
    ] as const) {
      const { ask } = await withSilences(count, (at) => `x${at}`);
      const { body } = await ask('/');
      expect(new Set(body.match(/bird=~&quot;x\d+&quot;/g)).size).toBe(50);
      expect(body.includes('and 1 more')).toBe(more);
    }
  });

  test('that are expired make room for newer ones', async () => {
    const { post, store, nowUs } = await withSilences(most + 5, (at) => `x${at}`, -DAY_US);
    expect((await post(silence(nowUs, 'new'))).status).toBe(200);
    const left = await store.transaction((tx) => tx.silences.list());
    expect(left).toHaveLength(most + 1);
    expect(left[0]!.id).toBe('s000005');
  });

  test('together have a limited size [long]', async () => {
    // Ten with almost 5,000 instructions each.
    const { post, nowUs, reached } = await withSilences(10, (at) => `${'a{990}'.repeat(5)}${at}`);
    const { status, json } = await post(silence(nowUs, 'a{900}', true));
    expect([status, json]).toEqual([400, expect.stringContaining('instructions')]);
    expect(reached()).toEqual(['silences_instructions']);
    expect((await post(silence(nowUs, 'a{20}', true))).status).toBe(200);
  });

  test('each have a limited length', async () => {
    const { post, nowUs } = await withSilences(0, String);
    const matchers = (length: number) =>
      Array.from({ length: 10 }, () => ({
        name: 'bird',
        value: 'x'.repeat(length),
        isRegex: false,
        isEqual: true,
      }));
    const room = LIMITS.silence_characters.most - 'annwhy'.length;
    const each = Math.floor(room / 10) - 'bird'.length;
    expect(each).toBeGreaterThan(1_900);
    for (const [length, expected] of [
      [each - 1, 200],
      [each, 200],
      [each + 1, 400],
    ] as const) {
      const { status } = await post({ ...silence(nowUs, ''), matchers: matchers(length) });
      expect([length, status]).toEqual([length, expected]);
    }
  });

  test('with recurrences that hardly ever open delay nothing [long]', async () => {
    const { store, nowUs, ask } = await withSilences(0, String);
    await store.transaction((tx) =>
      tx.silences.put(
        Array.from({ length: most }, (_, at) => ({
          id: `r${at}`,
          matchers: [createMatcher('bird', '=', 'x')],
          startsAtUs: nowUs,
          endsAtUs: nowUs + DAY_US,
          updatedAtUs: nowUs,
          createdBy: 'ann',
          comment: '',
          recurrence: { cron: `${at % 60} ${at % 24} 29 2 *`, timezone: 'UTC', durationMs: 7 * 86_400_000 },
          alertId: null,
          alertStartsAtUs: null,
        })),
      ),
    );
    const processorMs = countProcessorMs();
    expect((await ask('/')).status).toBe(200);
    expect(processorMs()).toBeLessThan(2_000);
  });
});

describe('a preview', () => {
  test.each([
    ['cron=0-99999999 * * * *&window=1h', 'must be within 0-59'],
    [`matchers=${encodeURIComponent('bird!~"(|.){0,1000}"')}`, 'too large'],
    [
      `matchers=${encodeURIComponent(
        Array(LIMITS.matchers.most + 1)
          .fill('a="b"')
          .join('\n'),
      )}`,
      'more than 100',
    ],
    [
      `matchers=${encodeURIComponent(Array.from({ length: 90 }, (_, at) => `a=~"x{999}${at}"`).join('\n'))}`,
      'too large together',
    ],
  ])('of %s says immediately what is wrong', async (query, problem) => {
    const { ask } = await serve();
    const processorMs = countProcessorMs();
    const { status, body } = await ask(`/silence?${query}`);
    expect(status).toBe(200);
    expect(body).toContain(problem);
    expect(processorMs()).toBeLessThan(1_000);
  });
});

describe('filters', () => {
  const filters = (texts: readonly string[]) =>
    `/api/v2/alerts?${new URLSearchParams(texts.map((text) => ['filter', text]))}`;

  test('may be as many as their limit', async () => {
    const { ask } = await serve();
    const { most } = LIMITS.matchers;
    for (const [count, expected] of [
      [most - 1, 200],
      [most, 200],
      [most + 1, 400],
    ] as const) {
      expect((await ask(filters(Array(count).fill('a="b"')))).status).toBe(expected);
    }
  });

  test('together have a limited size', async () => {
    const { ask } = await serve();
    const five = Array.from({ length: 5 }, (_, at) => `a=~"x{990}${at}"`);
    expect((await ask(filters(five))).status).toBe(200);
    expect((await ask(filters([...five, 'a=~"y{100}"']))).status).toBe(400);
  });
});

describe('matching alerts with what somebody sent', () => {
  function trial(msEach: number) {
    let nowMs = 0;
    const reported: Happening[] = [];
    const clock = { nowUs: () => 0, monotonicMs: () => nowMs, setTimer: () => () => {} };
    const fits = (item: number) => {
      nowMs += msEach;
      return item % 2 === 0;
    };
    return { fits, reported, options: { clock, report: (one: Happening) => reported.push(one) } };
  }
  const items = Array.from({ length: 100 }, (_, at) => at);
  const { most } = LIMITS.matching_ms;

  test.each([most / 100 - 1, most / 100])(
    'returns those that match while it takes %s ms for each',
    async (msEach) => {
      const { fits, options, reported } = trial(msEach);
      expect(await select(items, fits, options)).toEqual(items.filter((item) => item % 2 === 0));
      expect(reported).toEqual([]);
    },
  );

  test('ends beyond its limit, and says so', async () => {
    const { fits, options, reported } = trial(most / 100 + 1);
    await expect(select(items, fits, options)).rejects.toMatchObject({ code: 'usage' });
    expect(reported).toEqual([{ what: 'limit_reached', limit: 'matching_ms' }]);
  });

  test('lets other work continue meanwhile', async () => {
    const { fits, options } = trial(10);
    let turns = 0;
    const other = setInterval(() => {
      turns += 1;
    }, 0);
    const took = new Promise((resolve) => setImmediate(resolve));
    await select(items, fits, options);
    await took;
    await new Promise((resolve) => setTimeout(resolve, 5));
    clearInterval(other);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('a reading that all who ask share', () => {
  test('that fails is not repeated sooner than another, and the value before stays', async () => {
    const clock = createVirtualClock();
    let reads = 0;
    let isFailing = false;
    const read = kept(clock, 60_000, async () => {
      reads += 1;
      if (isFailing) throw new Error('away');
      return reads;
    });
    expect(await read()).toBe(1);
    isFailing = true;
    await clock.advance(60_000);
    for (const _ of [1, 2, 3]) expect(await read()).toBe(1);
    expect(reads).toBe(2);
    isFailing = false;
    await clock.advance(60_000);
    expect(await read()).toBe(3);
  });

  test('that fails late takes nothing from a newer one', async () => {
    const clock = createVirtualClock();
    const waiting: PromiseWithResolvers<number>[] = [];
    const read = kept(clock, 60_000, () => {
      const one = Promise.withResolvers<number>();
      waiting.push(one);
      return one.promise;
    });
    const first = read();
    await clock.advance(60_000);
    const second = read();
    waiting[0]!.reject(new Error('away'));
    await expect(first).rejects.toThrow('away');
    const third = read();
    waiting[1]!.resolve(2);
    expect([await second, await third, waiting.length]).toEqual([2, 2, 2]);
  });
});
