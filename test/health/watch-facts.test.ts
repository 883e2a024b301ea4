import { describe, expect, test } from 'vitest';
import { IMPAIRMENT_REASONS, IMPAIRMENTS } from '../../src/health/impairment.ts';
import { type HealthSnapshot, judgeHealth, NOTHING_KEPT } from '../../src/health/judge-health.ts';
import { createWatchFacts, type WatchFact } from '../../src/health/watch-facts.ts';
import type { RegionSnapshot } from '../../src/region-progress.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { aRegion, aWell, MINUTE_US, NOW_US } from './well.ts';

/** The answers of the store. */
const kept = { ...NOTHING_KEPT };

function looks() {
  const toFacts = createWatchFacts(createVirtualClock());
  return (change: Partial<HealthSnapshot> = {}) => {
    const snapshot = aWell({ kept, ...change });
    return toFacts(snapshot, judgeHealth(snapshot));
  };
}

const facts = (change: Partial<HealthSnapshot> = {}) => looks()(change);
const impaired = (all: readonly WatchFact[]) => all.filter(({ isImpaired }) => isImpaired);
const over = (all: readonly WatchFact[]) =>
  all.filter(({ isImpaired }) => !isImpaired).map(({ reason, region = '' }) => `${reason} ${region}`.trim());
const inRegion = (change: Partial<RegionSnapshot>) => ({ regions: [aRegion(change)] });
const low = { space: { used: 1, free: 1, whole: 1000 }, refusal: undefined };
const unproven = [{ feed: 'flight', verifiedUntilUs: NOW_US - 200 * MINUTE_US }] as const;

describe('if all is well', () => {
  test('each reason without its own alert is seen to be over, in each region if it is about regions', () => {
    const regions = [aRegion(), aRegion({ region: 'us' })];
    const ofRegions = ['inventory_failing', 'no_birds', 'feed_unproven', 'clock_wrong'];
    const reasons = IMPAIRMENT_REASONS.filter((reason) => IMPAIRMENTS[reason].alert === 'WatchImpaired');
    const expected = reasons.flatMap((reason) =>
      ofRegions.includes(reason) ? [`${reason} eu`, `${reason} us`] : [reason],
    );
    expect(over(facts({ regions })).toSorted()).toEqual(expected.toSorted());
    expect(impaired(facts({ regions }))).toEqual([]);
  });
});

describe('what impairs the watch', () => {
  test('is reported with its title, its sentences and what to do', () => {
    const refusedConfig = { mistakes: 1, first: 'n.yaml:3:1: rout: unknown key', sinceUs: NOW_US };
    expect(impaired(facts({ refusedConfig }))).toEqual([
      {
        fact: 'watch_health',
        reason: 'config_refused',
        isImpaired: true,
        severity: 'warning',
        endsByItself: false,
        title: 'The new configuration is not in force',
        sentences: [
          'The configuration file has a mistake at n.yaml:3:1: rout: unknown key',
          'The previous configuration stays in force. List all mistakes with: nestwatch check-config',
        ],
        sinceUs: NOW_US,
      },
    ]);
  });

  test('is one fact for everything with one reason', () => {
    const dead = [
      { receiver: 'ops', count: 2 },
      { receiver: 'pager', count: 1 },
    ];
    const [fact, ...others] = impaired(facts({ kept: { ...kept, dead } }));
    expect(others).toEqual([]);
    expect(fact!.title).toBe('2 notifications to ops given up');
    expect(fact!.sentences.slice(0, 2)).toEqual([
      '2 notifications to receiver ops were given up in the last seven days.',
      '1 notification to receiver pager was given up in the last seven days.',
    ]);
  });

  test.each([
    ['a region that is down', { health: { health: 'down', reason: 'no', sinceUs: 1 } }],
    ['a region that refuses the token', { health: { health: 'unauthorized', reason: 'no', sinceUs: 1 } }],
    ['a first reading', { firstPass: { streams: 4, read: 2 } }],
    ['what is read late', { reads: [{ feed: 'flight', streams: 2, overdue: 1, oldestReadUs: 1 }] }],
  ] satisfies [string, Partial<RegionSnapshot>][])('is left to its own alert: %s', (_, change) => {
    expect(impaired(facts(inRegion(change)))).toEqual([]);
  });

  test('lasts since it was first seen, even if it is found later or the clock was set back', () => {
    const look = looks();
    const sinceOf = (nowUs: number, store: HealthSnapshot['store']) =>
      impaired(look({ nowUs, store }))[0]?.sinceUs;
    expect(sinceOf(NOW_US, low)).toBe(NOW_US);
    expect(sinceOf(NOW_US + 10e6, low)).toBe(NOW_US);
    expect(sinceOf(NOW_US - 600e6, low)).toBe(NOW_US - 600e6);
    expect(sinceOf(NOW_US, { space: undefined, refusal: undefined })).toBeUndefined();
    expect(sinceOf(NOW_US, low)).toBe(NOW_US - 600e6);
    expect(sinceOf(NOW_US, aWell().store)).toBeUndefined();
    expect(sinceOf(NOW_US, low)).toBe(NOW_US);
  });

  test('has not lasted longer if our clock was set ahead', () => {
    const clock = createVirtualClock(NOW_US);
    const toFacts = createWatchFacts(clock);
    const sinceUs = () => {
      const snapshot = aWell({ kept, store: low, nowUs: clock.nowUs() });
      return impaired(toFacts(snapshot, judgeHealth(snapshot)))[0]!.sinceUs;
    };
    expect(sinceUs()).toBe(NOW_US);
    clock.stepWall(3_600_000);
    expect(sinceUs()).toBe(NOW_US + 3_600e6);
    clock.stall(10_000);
    expect(sinceUs()).toBe(NOW_US + 3_600e6);
  });

  test('usually ends by itself if proof is late', () => {
    expect(impaired(facts(inRegion({ proofs: unproven })))).toMatchObject([
      { reason: 'feed_unproven', region: 'eu', endsByItself: true, severity: 'warning' },
    ]);
  });
});

describe('what cannot be seen is neither impaired nor well', () => {
  test.each([
    ['of a region that is away', { health: { health: 'down', reason: 'no', sinceUs: 1 } }, []],
    ['of a region that was not read yet', { started: false, firstPass: { streams: 0, read: 0 } }, []],
    [
      'of proofs while all is read for the first time',
      { firstPass: { streams: 4, read: 2 } },
      ['inventory_failing eu', 'no_birds eu', 'clock_wrong eu'],
    ],
    [
      'of proofs shortly after that',
      { beganUs: NOW_US - 10 * MINUTE_US, proofs: unproven },
      ['inventory_failing eu', 'no_birds eu', 'clock_wrong eu'],
    ],
    [
      'of proofs while their feed is read late',
      { reads: [{ feed: 'flight', streams: 2, overdue: 1, oldestReadUs: 1 }], proofs: unproven },
      ['inventory_failing eu', 'no_birds eu', 'clock_wrong eu'],
    ],
  ] satisfies [string, Partial<RegionSnapshot>, string[]][])('%s', (_, change, seen) => {
    expect(
      over(facts(inRegion(change)))
        .filter((one) => one.endsWith(' eu'))
        .toSorted(),
    ).toEqual(seen.toSorted());
  });

  test('a route to nobody while nobody at all is notified, since the alert would reach nobody', () => {
    const routes = [{ path: 'route', receiver: 'lake' }];
    for (const isForwarded of [false, true]) {
      const all = facts({ route: { isAnybodyNotified: false, isForwarded, routes } });
      expect(all.filter(({ reason }) => reason === 'nobody_notified')).toEqual([]);
    }
    const some = facts({ route: { isAnybodyNotified: true, isForwarded: false, routes } });
    expect(impaired(some)).toMatchObject([{ reason: 'nobody_notified', severity: 'warning' }]);
  });

  test('the disk while its space is not known, or the store fails', () => {
    const refusal = { why: 'full' as const, message: 'm', sinceUs: NOW_US };
    expect(over(facts({ store: { space: undefined, refusal: undefined } }))).not.toContain('disk_low');
    expect(over(facts({ store: { space: aWell().store.space, refusal } }))).not.toContain('disk_low');
  });

  test('what the store contains before it answered', () => {
    const seen = over(facts({ kept: NOTHING_KEPT }));
    expect(seen).not.toContain('deliveries_dead');
    expect(seen).not.toContain('faults_set_aside');
    expect(seen).toContain('config_refused');
  });
});
