import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DutyPlan, planDuties } from '../../src/replicas/plan-duties.ts';
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
  ...changes,
});

const [A, B, C, D] = ['region a', 'region b', 'region c', 'region d'] as const;
const NOTHING = { take: [], give: [] };

const viewOf = (duties: readonly DutyRecord[], replicas = [replica(1), replica(2)]) => ({
  ...{ nowUs: NOW_US, replicas, duties },
});

/** The duties after what this replica takes and gives. */
function moved(duties: readonly DutyRecord[], me: number, { take, give }: DutyPlan, nowUs: number) {
  return duties.map((one) => {
    const owner = take.includes(one.duty) ? me : give.includes(one.duty) ? 0 : undefined;
    return owner === undefined ? one : { ...one, owner, sinceUs: nowUs };
  });
}

describe('an unowned duty', () => {
  const free = { sinceUs: NOW_US - SECOND_US };

  test('is taken by the only replica, like all others', () => {
    expect(planDuties(1, [A, B, 'alerting'], viewOf([], [replica(1)])).take).toEqual(['alerting', A, B]);
  });

  test('goes to the replica with the fewest: of regions, or else of all', () => {
    const duties = [duty(A, 1), duty(B, 0, free), duty('alerting', 2), duty('repeating', 0, free)];
    const view = viewOf(duties);
    const names = [A, B, 'alerting', 'repeating'];
    expect(planDuties(2, names, view).take).toEqual([B]);
    expect(planDuties(1, names, view).take).toEqual(['repeating']);
  });

  test('is taken by another if the replica it goes to does not take it', () => {
    const view = (seconds: number) =>
      viewOf([duty(A, 1), duty(B, 0, { sinceUs: NOW_US - seconds * SECOND_US })]);
    expect(planDuties(1, [A, B], view(14)).take).toEqual([]);
    expect(planDuties(1, [A, B], view(16)).take).toEqual([B]);
  });

  test('is left to those that reach what others reach, if there are any', () => {
    const view = (...relievedUs: readonly number[]) =>
      viewOf(
        [duty(A, 2), duty(B, 2), duty(C, 2), duty(D, 0, free)],
        relievedUs.map((us, at) => replica(at + 1, { relievedUs: us })),
      );
    const names = [A, B, C, D];
    const lately = NOW_US - 3_600 * SECOND_US;
    expect(planDuties(1, names, view(lately, 0))).toEqual(NOTHING);
    expect(planDuties(2, names, view(lately, 0)).take).toEqual([D]);
    expect(planDuties(1, names, view(lately, lately)).take).toEqual([D]);
    expect(planDuties(1, names, view(NOW_US - 7 * 3_600 * SECOND_US, 0)).take).toEqual([D]);
    const duties = view(lately, 0).duties.slice(0, 3);
    expect(planDuties(2, [A, B, C], { ...view(lately, 0), duties }).give).toEqual([]);
    expect(planDuties(2, [A, B, C], { ...view(0, 0), duties }).give).toEqual([A]);
  });

  test('is left to those with the newest configuration, if it is alerting', () => {
    const by = (digest: string, seconds: number) => ({
      config: { digest, sinceUs: NOW_US - seconds * SECOND_US },
    });
    const replicas = [replica(1, by('old', 900)), replica(2, by('new', 60)), replica(3, by('old', 300))];
    const view = viewOf([duty(A, 2), duty('alerting', 0, free), duty(B, 0, free)], replicas);
    const takes = (number: number) => planDuties(number, [A, 'alerting', B], view).take;
    expect([takes(1), takes(2), takes(3)]).toEqual([[B], ['alerting'], []]);
  });

  test.each([
    ['stay', { isLeaving: true }],
    ['live, even if nobody has removed the others yet', { expiresUs: NOW_US }],
  ])('is left to those that %s', (_, changes) => {
    const view = viewOf([duty(A, 2), duty(B, 0)], [replica(1, changes), replica(2)]);
    expect(planDuties(1, [A, B], view)).toEqual(NOTHING);
    expect(planDuties(2, [A, B], view).take).toEqual([B]);
  });

  test('is not taken by a replica that was removed, nor if it is not wanted', () => {
    const view = viewOf([duty(A, 0)], [replica(2)]);
    expect(planDuties(1, [A], view).take).toEqual([]);
    expect(planDuties(2, [], view).take).toEqual([]);
  });
});

describe('an owned duty', () => {
  const four = [A, B, C, D];
  const all = four.map((name) => duty(name, 1));

  test('goes to a new replica, one after the other, if it is a region', () => {
    const view = viewOf(all);
    expect(planDuties(1, four, view).give).toEqual([A]);
    expect(planDuties(2, four, view)).toEqual(NOTHING);
    const even = [duty(A, 1), duty(B, 1), duty(C, 2), duty('alerting', 1), duty('repeating', 1)];
    expect(planDuties(1, [A, B, C, 'alerting', 'repeating'], { ...view, duties: even })).toEqual(NOTHING);
  });

  test.each([
    ['one that came a moment ago', { replicas: [replica(1), replica(2, { startedUs: NOW_US - 29e6 })] }],
    ['one that leaves', { replicas: [replica(1), replica(2, { isLeaving: true })] }],
    ['anybody while something is nobody’s', { duties: [...all.slice(1), duty(A, 0)] }],
    ['anybody when it came a moment ago', { duties: all.map((one) => ({ ...one, sinceUs: NOW_US - 59e6 })) }],
  ])('does not go to %s', (_, changes) => {
    expect(planDuties(1, four, { ...viewOf(all), ...changes }).give).toEqual([]);
  });

  test('leaves a replica for which the store is slow if it is quick for others', () => {
    const names = [A, 'alerting', B];
    const gives = (slow: Partial<ReplicaRecord>, other: Partial<ReplicaRecord>, owner = 2) => {
      const replicas = [replica(1, slow), replica(2, other)];
      const duties = [duty(A, 1), duty('alerting', 1), duty(B, owner, free(owner))];
      return planDuties(1, names, viewOf(duties, replicas));
    };
    const free = (owner: number) => (owner === 0 ? { sinceUs: NOW_US - SECOND_US } : {});
    expect(gives({ turnMs: 200 }, {})).toEqual({ take: [], give: [A, 'alerting'] });
    expect(gives({ turnMs: 200 }, {}, 0)).toEqual(NOTHING);
    // It is only a little slower, or nothing is known of the other, or that one came a moment ago.
    expect(gives({ turnMs: 200 }, { turnMs: 50 })).toEqual(NOTHING);
    expect(gives({ turnMs: 200 }, { turnMs: 0 })).toEqual(NOTHING);
    expect(gives({ turnMs: 200 }, { startedUs: NOW_US - 29 * SECOND_US })).toEqual(NOTHING);
    // The other one does not have the region.
    const config = { digest: 'x', sinceUs: 0, regions: ['b'] };
    expect(gives({ turnMs: 200 }, { config }).give).toEqual(['alerting']);
  });
});

test.each([
  ['one has none of these regions', ['abcde', 'x']],
  ['one has some of them', ['abcde', 'ae']],
  ['each has some of its own', ['abc', 'cde', 'ae']],
])('replicas whose configurations differ leave no region unread where %s', (_, names) => {
  const configured = names.map((name) => [...name]);
  const replicas = configured.map((regions, index) =>
    replica(index + 1, {
      expiresUs: Number.POSITIVE_INFINITY,
      config: { digest: `c${index}`, sinceUs: 0, regions },
    }),
  );
  const regions = ['a', 'b', 'c', 'd', 'e'];
  const wantedBy = (me: number) => configured[me - 1]!.map((region) => `region ${region}`);
  let duties = regions.map((region) => duty(`region ${region}`, 0, { sinceUs: NOW_US }));
  const unread: string[] = [];
  for (let turn = 0; turn < 300; turn += 1) {
    const nowUs = NOW_US + turn * 4 * SECOND_US;
    for (const { replica: me } of replicas) {
      duties = moved(duties, me, planDuties(me, wantedBy(me), { nowUs, replicas, duties }), nowUs);
    }
    for (const one of duties) if (one.owner === 0 && nowUs - one.sinceUs > 4e6) unread.push(one.duty);
  }
  expect(unread).toEqual([]);
  const counts = replicas.map(({ replica: me }) => duties.filter(({ owner }) => owner === me).length);
  expect(Math.max(...counts)).toBeLessThan(regions.length + (configured[1]![0] === 'x' ? 1 : 0));
});

test('any replicas with any duties come to rest evenly, and nothing moves back and forth [long]', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 5 }), (regions, count) => {
      const names = [
        ...Array.from({ length: regions }, (_, index) => `region ${index}`),
        'alerting',
        'repeating',
      ];
      const replicas = Array.from({ length: count }, (_, index) =>
        replica(index + 1, { startedUs: NOW_US, expiresUs: Number.POSITIVE_INFINITY }),
      );
      let duties = names.map((name) => duty(name, 1, { sinceUs: NOW_US }));
      const moves = new Map<string, number>();
      let quietTurns = 0;
      let nowUs = NOW_US;
      for (let turn = 0; quietTurns < 40; turn += 1) {
        expect(turn).toBeLessThan(1_000);
        nowUs += 4 * SECOND_US;
        quietTurns += 1;
        for (const { replica: me } of replicas) {
          const plan = planDuties(me, names, { nowUs, replicas, duties });
          if (plan.take.length + plan.give.length > 0) quietTurns = 0;
          for (const name of plan.take) moves.set(name, (moves.get(name) ?? 0) + 1);
          duties = moved(duties, me, plan, nowUs);
        }
      }
      const load = replicas.map(
        ({ replica: me }) =>
          duties.filter(({ duty, owner }) => owner === me && duty.startsWith('region ')).length,
      );
      expect(Math.max(...load) - Math.min(...load)).toBeLessThanOrEqual(1);
      expect(duties.every(({ owner }) => owner > 0)).toBe(true);
      expect(Math.max(0, ...moves.values())).toBeLessThanOrEqual(1);
      expect(moves.has('alerting') || moves.has('repeating')).toBe(false);
    }),
    { numRuns: 300 },
  );
});
