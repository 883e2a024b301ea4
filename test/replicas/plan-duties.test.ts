import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planDuties } from '../../src/replicas/plan-duties.ts';
import type { DutyRecord, ReplicaRecord } from '../../src/store/ownership-store.ts';

const SECOND_US = 1_000_000;
const NOW_US = 1_000_000 * SECOND_US;

const replica = (number: number, changes: Partial<ReplicaRecord> = {}): ReplicaRecord => ({
  replica: number,
  name: `r${number}`,
  version: '1.0.0',
  startedUs: NOW_US - 3_600 * SECOND_US,
  expiresUs: NOW_US + 10 * SECOND_US,
  isLeaving: false,
  clockAheadUs: 0,
  refused: undefined,
  config: { digest: '', sinceUs: 0 },
  relievedUs: 0,
  turnMs: 2,
  ...changes,
});

const duty = (name: string, owner: number, changes: Partial<DutyRecord> = {}): DutyRecord => ({
  duty: name,
  owner,
  epoch: 1,
  sinceUs: NOW_US - 3_600 * SECOND_US,
  weight: 10,
  ...changes,
});

const wanted = (names: readonly string[]) => names.map((name) => ({ duty: name }));

describe('an unowned duty', () => {
  test('is taken by the only replica, like all others', () => {
    const view = { nowUs: NOW_US, replicas: [replica(1)], duties: [] };
    expect(planDuties(1, wanted(['a', 'b', 'c']), view).take).toEqual(['a', 'b', 'c']);
  });

  test('goes to the replica with the least work, the heaviest first', () => {
    const sinceUs = NOW_US - SECOND_US;
    const duties = [
      duty('a', 1, { weight: 30 }),
      duty('b', 0, { weight: 5, sinceUs }),
      duty('c', 0, { weight: 25, sinceUs }),
      duty('d', 0, { weight: 4, sinceUs }),
    ];
    const view = { nowUs: NOW_US, replicas: [replica(1), replica(2)], duties };
    const names = wanted(['a', 'b', 'c', 'd']);
    expect(planDuties(2, names, view).take).toEqual(['c', 'b']);
    expect(planDuties(1, names, view).take).toEqual(['d']);
  });

  test('is taken by another if the replica it goes to does not take it', () => {
    const view = (seconds: number) => ({
      nowUs: NOW_US,
      replicas: [replica(1), replica(2)],
      duties: [duty('a', 1), duty('b', 0, { sinceUs: NOW_US - seconds * SECOND_US })],
    });
    expect(planDuties(1, wanted(['a', 'b']), view(14)).take).toEqual([]);
    expect(planDuties(1, wanted(['a', 'b']), view(16)).take).toEqual(['b']);
  });

  test('is left to those that reach what others reach, if there are any', () => {
    const view = (...relievedUs: readonly number[]) => ({
      nowUs: NOW_US,
      replicas: relievedUs.map((us, at) => replica(at + 1, { relievedUs: us })),
      duties: [duty('a', 2), duty('b', 2), duty('c', 2), duty('d', 0, { sinceUs: NOW_US - SECOND_US })],
    });
    const names = wanted(['a', 'b', 'c', 'd']);
    const lately = NOW_US - 3_600 * SECOND_US;
    expect(planDuties(1, names, view(lately, 0))).toEqual({ take: [], give: [], seize: [] });
    expect(planDuties(2, names, view(lately, 0)).take).toEqual(['d']);
    expect(planDuties(1, names, view(lately, lately)).take).toEqual(['d']);
    expect(planDuties(1, names, view(NOW_US - 7 * 3_600 * SECOND_US, 0)).take).toEqual(['d']);
    const owned = view(lately, 0).duties.filter(({ owner }) => owner > 0);
    expect(planDuties(2, names.slice(0, 3), { ...view(lately, 0), duties: owned }).give).toEqual([]);
    expect(planDuties(2, names.slice(0, 3), { ...view(0, 0), duties: owned }).give).not.toEqual([]);
  });

  test('is left to those with the newest configuration, if it is alerting', () => {
    const by = (digest: string, seconds: number) => ({
      config: { digest, sinceUs: NOW_US - seconds * SECOND_US },
    });
    const free = { sinceUs: NOW_US - SECOND_US };
    const view = {
      nowUs: NOW_US,
      replicas: [replica(1, by('old', 900)), replica(2, by('new', 60)), replica(3, by('old', 300))],
      duties: [duty('a', 2, { weight: 90 }), duty('alerting', 0, free), duty('b', 0, free)],
    };
    const takes = (number: number) => planDuties(number, wanted(['a', 'alerting', 'b']), view).take;
    expect([takes(1), takes(2), takes(3)]).toEqual([['b'], ['alerting'], []]);
  });

  test('is left to those for which the store is quick, and taken by them', () => {
    const view = (turnMs: number, owner: number) => ({
      nowUs: NOW_US,
      replicas: [replica(1, { turnMs }), replica(2)],
      duties: [duty('alerting', 1), duty('region a', 1), duty('region b', owner, { sinceUs: NOW_US - 2e6 })],
    });
    const names = [
      { duty: 'alerting', isFixed: true },
      { duty: 'region a' },
      { duty: 'region c', isFixed: true },
      { duty: 'region b' },
    ];
    const owned = { ...view(200, 2), duties: [...view(200, 2).duties, duty('region c', 1)] };
    const seized = (me: number, of = owned) => planDuties(me, names, of).seize.map((one) => one.duty);
    expect(seized(1)).toEqual([]);
    expect(seized(2)).toEqual(['alerting', 'region a', 'region c']);
    const three = names.filter((one) => one.duty !== 'region c');
    expect(planDuties(1, three, view(200, 0)).take).toEqual([]);
    expect(planDuties(2, three, view(200, 0)).take).toEqual(['region b']);
    // Slow for all, or only a little slower, or nothing is known about the other.
    expect(
      seized(2, { ...owned, replicas: [replica(1, { turnMs: 200 }), replica(2, { turnMs: 50 })] }),
    ).toEqual([]);
    expect(
      seized(2, { ...owned, replicas: [replica(1, { turnMs: 200 }), replica(2, { turnMs: 0 })] }),
    ).toEqual([]);
    const fresh = replica(2, { startedUs: NOW_US - 29 * SECOND_US });
    expect(seized(2, { ...owned, replicas: [replica(1, { turnMs: 200 }), fresh] })).toEqual([]);
  });

  test('is left to those that stay', () => {
    const view = {
      nowUs: NOW_US,
      replicas: [replica(1, { isLeaving: true }), replica(2)],
      duties: [duty('a', 2), duty('b', 0)],
    };
    expect(planDuties(1, wanted(['a', 'b']), view)).toEqual({ take: [], give: [], seize: [] });
    expect(planDuties(2, wanted(['a', 'b']), view).take).toEqual(['b']);
  });

  test('is left to those that live, even if nobody has removed the others yet', () => {
    const view = {
      nowUs: NOW_US,
      replicas: [replica(1, { expiresUs: NOW_US }), replica(2)],
      duties: [duty('a', 2), duty('b', 0)],
    };
    expect(planDuties(1, wanted(['a', 'b']), view)).toEqual({ take: [], give: [], seize: [] });
    expect(planDuties(2, wanted(['a', 'b']), view).take).toEqual(['b']);
  });

  test('is not taken by a replica that was removed, nor if it is not wanted', () => {
    const view = { nowUs: NOW_US, replicas: [replica(2)], duties: [duty('a', 0)] };
    expect(planDuties(1, wanted(['a']), view).take).toEqual([]);
    expect(planDuties(2, [], view).take).toEqual([]);
  });
});

describe('an owned duty', () => {
  const four = ['a', 'b', 'c', 'd'];
  const all = four.map((name) => duty(name, 1));

  test('goes to a new replica, until both have the same amount', () => {
    const view = { nowUs: NOW_US, replicas: [replica(1), replica(2)], duties: all };
    expect(planDuties(1, wanted(four), view).give).toHaveLength(2);
    expect(planDuties(2, wanted(four), view)).toEqual({ take: [], give: [], seize: [] });
  });

  test('goes to new replicas even if each is light compared with all that its owner does', () => {
    const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const replicas = [replica(1), replica(2), replica(3)];
    const duties = names.map((name) => duty(name, 1));
    expect(planDuties(1, wanted(names), { nowUs: NOW_US, replicas, duties }).give).toHaveLength(4);
  });

  test.each([
    ['one that came a moment ago', { replicas: [replica(1), replica(2, { startedUs: NOW_US - 29e6 })] }],
    ['one that leaves', { replicas: [replica(1), replica(2, { isLeaving: true })] }],
    ['anybody while something is nobody’s', { duties: [...all.slice(1), duty('a', 0)] }],
    ['anybody when it came a moment ago', { duties: all.map((one) => ({ ...one, sinceUs: NOW_US - 59e6 })) }],
  ])('does not go to %s', (_, changes) => {
    const view = { nowUs: NOW_US, replicas: [replica(1), replica(2)], duties: all, ...changes };
    expect(planDuties(1, wanted(four), view).give).toEqual([]);
  });

  test('stays if moving it would improve little, or it is fixed', () => {
    const [replicas, nowUs] = [[replica(1), replica(2)], NOW_US];
    const uneven = [duty('a', 1, { weight: 100 }), duty('b', 1, { weight: 4 }), duty('c', 2, { weight: 90 })];
    expect(planDuties(1, wanted(['a', 'b', 'c']), { nowUs, replicas, duties: uneven }).give).toEqual([]);
    const fixed = wanted(four).map((one) => ({ ...one, isFixed: true }));
    expect(planDuties(1, fixed, { nowUs, replicas, duties: all }).give).toEqual([]);
  });
});

test.each([
  ['one has none of these regions', [['a', 'b', 'c', 'd', 'e'], ['x']]],
  [
    'one has some of them',
    [
      ['a', 'b', 'c', 'd', 'e'],
      ['a', 'e'],
    ],
  ],
  [
    'each has some of its own',
    [
      ['a', 'b', 'c'],
      ['c', 'd', 'e'],
      ['a', 'e'],
    ],
  ],
])('replicas whose configurations differ leave no region unread where %s', (_, configured) => {
  const replicas = configured.map((regions, index) =>
    replica(index + 1, {
      expiresUs: Number.POSITIVE_INFINITY,
      config: { digest: `c${index}`, sinceUs: 0, regions },
    }),
  );
  const regions = ['a', 'b', 'c', 'd', 'e'];
  const wantedBy = (me: number) => wanted(configured[me - 1]!.map((region) => `region ${region}`));
  let duties = regions.map((region) => duty(`region ${region}`, 0, { sinceUs: NOW_US }));
  const unread: string[] = [];
  for (let turn = 0; turn < 300; turn += 1) {
    const nowUs = NOW_US + turn * 4 * SECOND_US;
    for (const { replica: me } of replicas) {
      const { take, give } = planDuties(me, wantedBy(me), { nowUs, replicas, duties });
      const change = (one: DutyRecord, owner: number) => ({ ...one, owner, sinceUs: nowUs });
      duties = duties.map((one) =>
        take.includes(one.duty) ? change(one, me) : give.includes(one.duty) ? change(one, 0) : one,
      );
    }
    for (const one of duties) if (one.owner === 0 && nowUs - one.sinceUs > 4e6) unread.push(one.duty);
  }
  expect(unread).toEqual([]);
  const counts = replicas.map(({ replica: me }) => duties.filter(({ owner }) => owner === me).length);
  expect(Math.max(...counts)).toBeLessThan(regions.length + (configured[1]![0] === 'x' ? 1 : 0));
});

test('any replicas with any duties come to rest evenly, and nothing moves back and forth', () => {
  const weights = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 5 }), (all, count) => {
      const names = wanted(all.map((_, index) => `d${index}`));
      const replicas = Array.from({ length: count }, (_, index) =>
        replica(index + 1, { startedUs: NOW_US, expiresUs: Number.POSITIVE_INFINITY }),
      );
      let duties = all.map((weight, index) => duty(`d${index}`, 1, { weight, sinceUs: NOW_US }));
      const moves = new Map<string, number>();
      let quietTurns = 0;
      let nowUs = NOW_US;
      for (let turn = 0; quietTurns < 40; turn += 1) {
        expect(turn).toBeLessThan(1_000);
        nowUs += 4 * SECOND_US;
        quietTurns += 1;
        for (const { replica: me } of replicas) {
          const { take, give } = planDuties(me, names, { nowUs, replicas, duties });
          if (take.length + give.length > 0) quietTurns = 0;
          for (const name of take) moves.set(name, (moves.get(name) ?? 0) + 1);
          const change = (one: DutyRecord, owner: number) => ({ ...one, owner, sinceUs: nowUs });
          duties = duties.map((one) =>
            take.includes(one.duty) ? change(one, me) : give.includes(one.duty) ? change(one, 0) : one,
          );
        }
      }
      const load = replicas.map(({ replica: me }) =>
        duties.reduce((sum, { owner, weight }) => sum + (owner === me ? weight : 0), 0),
      );
      const mean = all.reduce((sum, weight) => sum + weight, 0) / count;
      // What is left could not be improved by moving the lightest duty of the busiest replica, or is not worth a
      // move.
      expect(Math.max(...load) - Math.min(...load)).toBeLessThanOrEqual(Math.max(...all) + mean / 5);
      expect(duties.every(({ owner }) => owner > 0)).toBe(true);
      const total = [...moves.values()].reduce((sum, one) => sum + one, 0);
      expect(total).toBeLessThanOrEqual(1.2 * all.length);
      expect(Math.max(0, ...moves.values())).toBeLessThanOrEqual(3);
    }),
    { numRuns: 300 },
  );
});
