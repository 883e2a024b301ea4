import { describe, expect, test } from 'vitest';
import { IMPAIRMENT_REASONS, type ImpairmentReason, impairmentKey } from '../../src/health/impairment.ts';
import { type HealthSnapshot, isDiskLow, judgeHealth, NOTHING_KEPT } from '../../src/health/judge-health.ts';
import type { RegionSnapshot } from '../../src/region-progress.ts';
import { aRegion, aReplica, aWell, MINUTE_US, NOW_US } from './well.ts';

const MIB = 1024 ** 2;
const storeRefuses = (why: 'full' | 'fails' | 'away', message: string) =>
  aWell({ store: { space: undefined, refusal: { why, message, sinceUs: 1 } } });
const inRegion = (change: Partial<RegionSnapshot>) => aWell({ regions: [aRegion(change)] });
const routed = (isAnybodyNotified: boolean, isForwarded: boolean, path: string, to: string) =>
  aWell({ route: { isAnybodyNotified, isForwarded, routes: [{ path, receiver: to }] } });
const kept = (change: Partial<HealthSnapshot['kept']>) => aWell({ kept: { ...NOTHING_KEPT, ...change } });
const failing = {
  receiver: 'pager',
  integration: 'webhook',
  name: 'webhook',
  among: 1,
  position: 0,
  failures: 3,
  sinceUs: NOW_US - 5 * MINUTE_US,
  lastError: 'it answered 503',
};
const REFUSED = { mistakes: 2, first: 'n.yaml:3:1: a: b', sinceUs: NOW_US };
const notFound = {
  what: 'Nests',
  said: 'searchNests of eu: the service answered 404',
  address: 'https://eu.example/wrong',
  sinceUs: NOW_US - MINUTE_US,
  isAll: true,
} as const;
const late = { feed: 'flight', streams: 12, overdue: 2, oldestReadUs: NOW_US - 14 * MINUTE_US } as const;

const told = (severity: string, beats: boolean) => (snapshot: HealthSnapshot, summary: string) => ({
  snapshot,
  severity,
  beats,
  summary,
});
const [critical, warning, info] = [told('critical', false), told('warning', true), told('info', true)];

/** What is known, and what is said of it: mostly, only what is critical ends the heartbeat. */
const CASES: Readonly<Record<ImpairmentReason, readonly ReturnType<typeof critical>[]>> = {
  store_failing: [
    critical(
      storeRefuses('full', 'm'),
      'The store has no space left to grow: nothing new can be kept or sent.',
    ),
    critical(
      storeRefuses('fails', 'The store x is damaged.'),
      'The store fails, so nothing new can be kept or sent: The store x is damaged.',
    ),
    critical(
      storeRefuses('away', 'It cannot be reached.'),
      'The store does not answer or refuses access, so nothing new can be kept or sent: It cannot be reached.',
    ),
  ],
  disk_low: [
    warning(
      aWell({ store: { space: { used: 10 * MIB, free: 90 * MIB, whole: 1000 * MIB }, refusal: undefined } }),
      'Only 90 MiB are free on the disk of the store, which takes 10 MiB.',
    ),
  ],
  config_refused: [
    warning(
      aWell({ refusedConfig: { mistakes: 1, first: 'n.yaml:3:1: rout: unknown key', sinceUs: NOW_US } }),
      'The configuration file has a mistake at n.yaml:3:1: rout: unknown key',
    ),
    warning(
      aWell({ unreadSecrets: new Map([['regions.eu.token_file', '/run/t is not a regular file']]) }),
      'The file of regions.eu.token_file cannot be used, so the secret that was last read stays in use: /run/t is not a regular file.',
    ),
    warning(
      aWell({ refusedConfig: REFUSED }),
      'The configuration file has 2 mistakes, the first at n.yaml:3:1: a: b',
    ),
    warning(
      aWell({
        refusedConfig: REFUSED,
        replicas: [aReplica(), aReplica({ name: 'host-b', refused: REFUSED })],
      }),
      'The configuration file of replica host-b has 2 mistakes, the first at n.yaml:3:1: a: b',
    ),
    warning(
      aWell({
        replicas: [aReplica({ name: 'host-b\u200b<b>', refused: REFUSED }), aReplica({ refused: REFUSED })],
      }),
      'The configuration file of replicas host-a, host-b<b> has 2 mistakes, the first at n.yaml:3:1: a: b',
    ),
  ],
  configs_differ: [
    warning(
      aWell({
        replicas: [
          aReplica(),
          aReplica({ name: 'host-b', config: { digest: 'c2', sinceUs: NOW_US - 15 * MINUTE_US } }),
          aReplica({ name: 'host-c' }),
        ],
      }),
      'Replicas host-a, host-c use another configuration than replica host-b, which read its file last. What is watched and who is notified depends on which replica does the work.',
    ),
  ],
  inventory_failing: [
    critical(
      inRegion({ started: false, birds: 0, firstPass: { streams: 2, read: 0 }, unlisted: notFound }),
      'The Nests of EU cannot be listed, so nothing of it is watched: searchNests of eu: the service answered 404.',
    ),
    critical(
      inRegion({ started: false, unlisted: { ...notFound, what: 'Birds', said: 'Birds of 1 of 1 Nests …' } }),
      'The Birds of EU cannot be listed, so only previously known Birds are watched: Birds of 1 of 1 Nests …',
    ),
    critical(
      inRegion({ unlisted: notFound }),
      'The Nests of EU cannot be listed, so nothing of it is watched: searchNests of eu: the service answered 404.',
    ),
    warning(
      inRegion({ unlisted: { ...notFound, isAll: false } }),
      'The Nests of EU cannot be listed, so only previously known Birds are watched: searchNests of eu: the service answered 404.',
    ),
  ],
  no_birds: [
    critical(
      inRegion({ birds: 0, nests: 0, include: ['Prdo*'] }),
      'No Bird is watched in EU: of its 9 Nests none matches nests.include ("Prdo*") without being excluded.',
    ),
    critical(inRegion({ birds: 0, nests: 3 }), 'No Bird is watched in EU: its 3 Nests have no Birds.'),
    critical(inRegion({ birds: 0, nests: 1 }), 'No Bird is watched in EU: its only Nest has no Birds.'),
    critical(
      inRegion({ birds: 0, nests: 0, excludedNests: 0 }),
      'No Bird is watched in EU: it lists no Nest.',
    ),
  ],
  first_pass: [
    info(
      inRegion({ beganUs: NOW_US - 10 * MINUTE_US, firstPass: { streams: 24, read: 8 } }),
      'The first reading of EU since the start is under way: 8 of 24 streams read, done at about 2 Jul 2026, 12:20 UTC.',
    ),
    told('info', false)(
      inRegion({ started: false, firstPass: { streams: 2, read: 0 } }),
      'The first reading of EU since the start is under way: its Nests and Birds are being listed.',
    ),
  ],
  streams_overdue: [
    warning(
      inRegion({ reads: [late] }),
      'The Flights of 2 of 12 Birds in EU were not read in time: the oldest reading is 14 min old.',
    ),
    critical(
      inRegion({ reads: [{ ...late, overdue: 6, oldestReadUs: 0 }] }),
      'The Flights of 6 of 12 Birds in EU were not read in time: some were never read.',
    ),
    critical(
      inRegion({ reads: [{ ...late, feed: 'inventory', streams: 1, overdue: 1 }] }),
      'The inventory in EU was not read in time: the oldest reading is 14 min old.',
    ),
  ],
  feed_unproven: [
    warning(
      inRegion({ proofs: [{ feed: 'bird_log', verifiedUntilUs: NOW_US - 61 * MINUTE_US }] }),
      'The Bird logs of EU are not proven to be complete since 2 Jul 2026, 10:59 UTC.',
    ),
    warning(
      inRegion({ proofs: [{ feed: 'flight', verifiedUntilUs: NOW_US - 121 * MINUTE_US }] }),
      'The Flights of EU are not proven to be complete since 2 Jul 2026, 09:59 UTC.',
    ),
    warning(
      inRegion({ proofs: [{ feed: 'flight', verifiedUntilUs: 0 }] }),
      'The Flights of EU are not proven to be complete at all yet.',
    ),
    info(
      inRegion({ beganUs: NOW_US - 29 * MINUTE_US, proofs: [{ feed: 'flight', verifiedUntilUs: 0 }] }),
      'All of EU has been read since the start; audits are still proving that it is complete.',
    ),
  ],
  region_down: [
    critical(
      inRegion({ health: { health: 'down', reason: '503 \u202eon getBird', sinceUs: NOW_US - 7e6 } }),
      'EU does not answer: 503 on getBird.',
    ),
  ],
  region_unauthorized: [
    critical(
      inRegion({ health: { health: 'unauthorized', reason: 'the token was refused (401)', sinceUs: 1 } }),
      'EU refuses the token: the token was refused (401).',
    ),
  ],
  nobody_notified: [
    critical(
      routed(false, false, 'route', 'a'),
      'Nobody is notified of alerts: no route leads to a receiver that can notify anybody.',
    ),
    warning(
      routed(true, false, 'route.routes[1]', 'later'),
      'Alerts of route.routes[1] go to receiver later, which notifies nobody.',
    ),
    warning(routed(false, true, 'route', 'a'), 'Alerts of route go to receiver a, which notifies nobody.'),
  ],
  receivers_failing: [
    warning(
      kept({ failing: [failing, { ...failing, name: 'slack', position: 2, sinceUs: NOW_US }] }),
      'Receiver pager accepts nothing through slack, nor through webhook, 3 attempts in a row: it answered 503',
    ),
    critical(
      kept({ failing: [failing], isNobodyReached: true }),
      'Receiver pager accepts nothing through webhook, 3 attempts in a row: it answered 503',
    ),
  ],
  deliveries_dead: [
    warning(
      kept({ dead: [{ receiver: 'ops', count: 2 }] }),
      '2 notifications to receiver ops were given up in the last seven days.',
    ),
  ],
  quarantine_growing: [
    warning(
      kept({ quarantined: [{ region: 'eu', feed: 'bird_log', count: 1, sinceUs: NOW_US - MINUTE_US }] }),
      '1 entry of EU (bird_log) could not be parsed in the last hour, so nobody is notified of its content.',
    ),
  ],
  clock_wrong: [
    warning(inRegion({ clockAheadUs: 61e6 }), "This machine's clock is 61 s behind that of EU."),
    warning(inRegion({ clockAheadUs: -3600e6 }), "This machine's clock is 60 min ahead of that of EU."),
    warning(
      { ...inRegion({ clockAheadUs: 61e6 }), replicas: [aReplica()] },
      "The clock of the store's server is 61 s behind that of EU.",
    ),
  ],
  faults_set_aside: [
    warning(
      kept({ faults: { count: 2, first: 'silence s1: Error: broken', sinceUs: NOW_US - MINUTE_US } }),
      '2 things failed and were set aside; everything else continues: silence s1: Error: broken',
    ),
  ],
};

describe('the health answer', () => {
  const second = { ...failing, name: 'webhook 2 (b.example)', among: 3 };
  const third = { ...failing, name: 'slack', position: 2, sinceUs: NOW_US, among: 3 };
  test.each([
    ['one of three', [second], 'receiver pager accepts nothing through webhook 2 (b.example)'],
    ['two of three', [second, third], 'receiver pager accepts nothing through 2 of its 3 integrations'],
    [
      'all',
      [
        { ...second, among: 2 },
        { ...third, among: 2 },
      ],
      'receiver pager accepts nothing',
    ],
  ])('says how much of a receiver fails: %s', (_, all, title) => {
    expect(judgeHealth(kept({ failing: all })).map((one) => one.title)).toEqual([title]);
  });

  test('sends whoever tests browsers to the page, which alone knows them', () => {
    const [one] = judgeHealth(kept({ failing: [{ ...failing, name: 'browser' }] }));
    expect(one!.action).toContain('on the page of deliveries');
  });

  test('is empty if all is well, up to each limit', () => {
    expect(judgeHealth(aWell())).toEqual([]);
    const bounds = inRegion({
      clockAheadUs: -60e6,
      proofs: [
        { feed: 'bird_log', verifiedUntilUs: NOW_US - 60 * MINUTE_US },
        { feed: 'flight', verifiedUntilUs: NOW_US - 120 * MINUTE_US },
      ],
    });
    expect(judgeHealth(bounds)).toEqual([]);
  });

  test.each(IMPAIRMENT_REASONS)('says %s', (reason) => {
    for (const { snapshot, severity, beats, summary } of CASES[reason]) {
      const found = judgeHealth(snapshot);
      expect(found).toMatchObject([{ reason, severity, stopsHeartbeat: !beats, summary }]);
      const [one] = found;
      expect(one!.action).toMatch(/^[A-Z].*\S$/);
      expect(one!.title.length).toBeGreaterThan(5);
      expect(one!.sinceUs).toBeGreaterThan(0);
    }
  });

  test('dates the first reading of a region that no replica has shown yet from now on, and not from 1970', () => {
    const firstPass = { streams: 0, read: 0 };
    const [found] = judgeHealth(inRegion({ started: false, beganUs: 0, firstPass }));
    expect(found).toMatchObject({ reason: 'first_pass', sinceUs: NOW_US });
  });

  test('names the gravest first', () => {
    const all = judgeHealth({
      ...aWell(),
      regions: [
        aRegion({ firstPass: { streams: 2, read: 1 }, clockAheadUs: 90e6 }),
        aRegion({ region: 'us', health: { health: 'down', reason: 'no answer', sinceUs: NOW_US } }),
      ],
    });
    expect(all.map(({ reason, region }) => `${region} ${reason}`)).toEqual([
      'us region_down',
      'eu clock_wrong',
      'eu first_pass',
    ]);
  });

  test('names each replica that refuses for another reason, with the first beginning among those with the same', () => {
    const refused = { mistakes: 1, first: 'n.yaml:9:1: c: d', sinceUs: NOW_US - MINUTE_US };
    const all = judgeHealth(
      aWell({
        replicas: [
          aReplica({ refused: REFUSED }),
          aReplica({ name: 'host-b', refused }),
          aReplica({ name: 'host-c', refused: { ...REFUSED, sinceUs: NOW_US + 91 } }),
        ],
      }),
    );
    expect(all.map(({ replica, sinceUs }) => [replica, sinceUs])).toEqual([
      ['host-a, host-c', NOW_US],
      ['host-b', refused.sinceUs],
    ]);
    expect(all[0]!.title).toBe('the new configuration is not in force at replicas host-a, host-c');
    expect(new Set(all.map(impairmentKey)).size).toBe(2);
  });

  test.each([
    ['that are read one after the other', { config: { digest: 'c2', sinceUs: NOW_US - 14 * MINUTE_US } }],
    ['of another version', { version: '2', config: { digest: 'c2', sinceUs: 1 } }],
    ['of a version that says nothing of it', { config: { digest: '', sinceUs: 0 } }],
    ['that are alike', { config: { digest: 'c1', sinceUs: 1 } }],
  ])('finds nothing in configurations %s', (_, change) => {
    const all = judgeHealth(aWell({ replicas: [aReplica(), aReplica({ name: 'host-b', ...change })] }));
    expect(all).toEqual([]);
  });

  test('says nothing else about a replica that refuses its file', () => {
    const refusing = aReplica({ name: 'host-b', refused: REFUSED, config: { digest: 'c0', sinceUs: 1 } });
    const all = judgeHealth(aWell({ replicas: [aReplica(), refusing] }));
    expect(all.map(({ reason }) => reason)).toEqual(['config_refused']);
  });

  test('finds that no Bird is watched if all Nests are excluded, even if their Birds are still known', () => {
    const reasons = (change: Partial<RegionSnapshot>) =>
      judgeHealth(inRegion(change)).map(({ reason }) => reason);
    expect(reasons({ nests: 0, excludedNests: 9, birds: 12 })).toEqual(['no_birds']);
    // A list without any Nest may be incomplete.
    expect(reasons({ nests: 0, excludedNests: 0, birds: 12 })).toEqual([]);
    expect(reasons({ nests: 0, excludedNests: 0, birds: 0 })).toEqual(['no_birds']);
  });

  test('says nothing else about a region that does not answer', () => {
    const down = { health: 'down', reason: 'no answer', sinceUs: NOW_US } as const;
    const found = judgeHealth(
      inRegion({ health: down, reads: [{ ...late, overdue: 12 }], started: false, birds: 0 }),
    );
    expect(found.map(({ reason }) => reason)).toEqual(['region_down']);
  });

  test.each([
    ['a large disk', 512 * MIB, 10_000 * MIB, false],
    ['a large disk', 512 * MIB - 1, 10_000 * MIB, true],
    ['a small disk', 10 * MIB, 100 * MIB, false],
    ['a small disk', 10 * MIB - 1, 100 * MIB, true],
    ['no disk', 1, 0, false],
  ])('finds %s low with %i of %i bytes free: %s', (_, free, whole, isLow) => {
    expect(isDiskLow({ used: 1, free, whole })).toBe(isLow);
  });
});
