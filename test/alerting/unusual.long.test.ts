/** FlightSlow and FlightsUnusual, from committed Flights to the alert. */

import { beforeEach, describe, expect, test } from 'vitest';
import { createOverdue } from '../../src/alerting/overdue.ts';
import { createDigests } from '../../src/alerting/send-digests.ts';
import type { Fact } from '../../src/domain/alert/fact.ts';
import type { Rule } from '../../src/domain/alert/rule.ts';
import type { Digest } from '../../src/domain/digest/digest.ts';
import { tick } from '../../src/domain/evaluate/decide.ts';
import { DEFAULT_RULES } from '../../src/domain/kinds/kinds.ts';
import { createTimeInterval } from '../../src/domain/muting/muting.ts';
import { createCommit } from '../../src/intake/commit.ts';
import { applyFacts } from '../../src/store/change-alerts.ts';
import { unusualFlights } from '../../src/store/read-history.ts';
import type { Transaction } from '../../src/store/store.ts';
import { regionHealth, rule } from '../domain/world.ts';
import { changedStore } from '../store/changed-transaction.ts';
import { bird, event, nest } from '../store/contract/sample-records.ts';
import { openMemory, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';
import { NOTHING_CONFIGURED } from './desk.ts';

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const DAY_US = 24 * HOUR_US;

/** The story begins on Thursday, 2 July 2026, at noon. */
const THURSDAY_US = TEST_START_US - 12 * HOUR_US;

let clock: VirtualClock;
let store: TestStore;
let rules: readonly Rule[];
let overdue: ReturnType<typeof createOverdue>;
let stream: number;
let flown: number;
/** The days inside the time interval. */
let holidays: readonly number[];
beforeEach(async () => {
  clock = createVirtualClock();
  store = await openMemory(clock);
  flown = 0;
  holidays = [];
  await store.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', THURSDAY_US - 29 * DAY_US);
    await tx.inventory.putNests([nest('682', 'Marketing')]);
    const known = { name: 'Translate blog', triggerType: 'event', statusSinceUs: THURSDAY_US - 29 * DAY_US };
    await tx.inventory.putBirds([bird('148890', known)]);
    stream = (await tx.streams.open('eu', 'flight', '148890')).stream;
  });
});

function begin(...asked: readonly Rule[]): void {
  rules = [...asked, ...DEFAULT_RULES];
  const days = holidays.map((day) =>
    createTimeInterval({ location: 'UTC', daysOfMonth: [{ from: day, to: day }] }),
  );
  const timeIntervals = new Map([['holidays', days]]);
  overdue = createOverdue({ rules, clock, flightsReadUs: () => clock.nowUs(), timeIntervals, lookbackMs: 0 });
}

/** Commits Flights as intake does; each succeeds after so many seconds. */
async function fly(startsUs: readonly number[], seconds = 30): Promise<void> {
  const commit = createCommit({ store, rules, forward: [], clock, report: () => {}, changed: () => {} });
  const flights = startsUs.map((startedAtUs) => {
    flown += 1;
    return { flightId: `f-${flown}`, startedAtUs, endedAtUs: startedAtUs + seconds * 1_000_000 };
  });
  await commit({
    region: 'eu',
    stream: { stream, feed: 'flight' },
    flights: flights.map((one) => ({ ...one, stream, status: 'succeeded', open: false, ends: 1 })),
    events: flights.map(({ flightId, startedAtUs, endedAtUs }) => ({
      historic: false,
      event: event(`${flightId}/succeeded`, {
        ...{ feed: 'flight', type: 'flight.succeeded', message: '' },
        ...{ occurredAtUs: endedAtUs, observedAtUs: clock.nowUs() },
        attributes: { flight_id: flightId, started_at_us: startedAtUs, duration_seconds: seconds },
      }),
    })),
  });
}

/** So many starts in a day or another time, evenly. */
function spread(count: number, fromUs: number, lengthUs = DAY_US): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor(fromUs + ((index + 0.5) * lengthUs) / count));
}

/** The four Thursdays before have so many Flights each. */
async function thursdays(...counts: readonly number[]): Promise<void> {
  for (const [index, count] of counts.entries()) {
    await fly(spread(count, THURSDAY_US - (counts.length - index) * 7 * DAY_US));
  }
}

/** That the region is so since this hour of Thursday. */
async function tellHealth(health: 'up' | 'down', hour: number): Promise<void> {
  const fact = { ...regionHealth(health, 0), sinceUs: THURSDAY_US + hour * HOUR_US } as Fact;
  await store.transaction((tx) => applyFacts(tx, [fact], rules, clock.nowUs()));
}

/** Lets time pass, looking as often as the step wants to. */
async function passUntil(untilUs: number): Promise<void> {
  for (;;) {
    const { done, remember } = await store.transaction((tx) => overdue.judge(tx));
    remember?.();
    if (done > 0) continue;
    const waitMs = Math.min(overdue.nextMs() - clock.monotonicMs(), (untilUs - clock.nowUs()) / 1000);
    if (waitMs <= 0) return;
    await clock.advance(waitMs);
  }
}

const list = (state: 'firing' | 'resolved') =>
  store.alerts.page({ order: 'newest', nowUs: 0, state, limit: 10 }).then((one) => one.alerts);
const said = async () =>
  (await list('firing')).map(({ labels, annotations }) => `${labels.severity}: ${annotations.description}`);
const ended = async () => (await list('resolved')).map(({ annotations }) => annotations.resolved_by);

describe('FlightSlow', () => {
  /** Flights five minutes apart, the last of which lands now. */
  async function flyInARow(count: number, seconds: number, apart = 5): Promise<void> {
    for (let one = 0; one < count; one += 1) {
      await passUntil(clock.nowUs() + apart * MINUTE_US);
      await fly([clock.nowUs() - seconds * 1_000_000], seconds);
    }
    await passUntil(clock.nowUs() + 10_000_000);
  }

  test('fires at the third slow Flight, and ends with the first that is not [long]', async () => {
    begin(rule('FlightSlow'));
    await flyInARow(40, 60);
    await flyInARow(2, 240);
    expect(await said()).toEqual([]);
    await flyInARow(1, 240);
    expect(await said()).toEqual([
      'warning: Takes 4 min, usually up to 1 min (last 3 Flights; slower since 2 Jul 2026, 15:21 UTC).',
    ]);
    expect((await list('firing'))[0]!.annotations.summary).toBe(
      'Translate blog takes 4 min, usually up to 1 min in Marketing (EU)',
    );
    await flyInARow(1, 200);
    expect(await said()).toHaveLength(1);
    await flyInARow(1, 100);
    expect(await ended()).toEqual(['a Flight took 1.7 min']);
  });

  test.each([
    ['two slow ones, then a usual one', [240, 240, 60, 240, 240]],
    ['three that are slow by less than a minute and a half', [140, 140, 140]],
  ])('does not fire after %s [long]', async (_what, seconds) => {
    begin(rule('FlightSlow', { atLeastMs: 90_000 }));
    await flyInARow(40, 60);
    for (const one of seconds) await flyInARow(1, one);
    expect(await said()).toEqual([]);
  });

  test('does not fire while fewer than 30 Flights show what is usual [long]', async () => {
    begin(rule('FlightSlow'));
    await flyInARow(29, 60);
    await flyInARow(5, 900);
    expect(await said()).toEqual([]);
  });

  test('finds slow Flights of which many landed while it could not look [long]', async () => {
    begin(rule('FlightSlow'));
    await flyInARow(40, 60);
    await passUntil(clock.nowUs() + 5 * HOUR_US);
    await fly([clock.nowUs() - 4.5 * HOUR_US], 200);
    await fly(spread(20, clock.nowUs() - 4 * HOUR_US, 4 * HOUR_US - HOUR_US / 2), 240);
    await passUntil(clock.nowUs() + 10_000_000);
    expect(await said()).toEqual([expect.stringContaining('(last 21 Flights; slower since')]);
  });

  test('ends after a week, and what was slow is usual until a Flight is quick again [long]', async () => {
    const asked = rule('FlightSlow');
    begin(asked);
    await flyInARow(40, 60);
    await flyInARow(3, 240);
    const [alert] = await list('firing');
    expect(alert!.dueAtUs).toBe(alert!.startsAtUs + 7 * DAY_US);
    await passUntil(alert!.dueAtUs!);
    await store.transaction(async (tx) => {
      const decision = tick(await tx.alerts.due(clock.nowUs(), 10), rules, clock.nowUs());
      await tx.alerts.put(decision.alerts);
    });
    expect(await ended()).toEqual(['this is usual now']);
    await flyInARow(4, 250);
    expect(await said()).toEqual([]);
    await flyInARow(3, 800, 15);
    expect(await said()).toEqual([expect.stringContaining('Takes 13 min')]);
    await flyInARow(1, 60);
    expect(await ended()).toEqual(['a Flight took 1 min']);
  });
});

describe('FlightsUnusual', () => {
  test('too few are told when the day is over, and end after the next usual day [long]', async () => {
    begin(rule('FlightsUnusual'));
    await thursdays(180, 200, 220, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    await passUntil(THURSDAY_US + DAY_US + 9_000_000);
    expect(await said()).toEqual([]);
    await passUntil(THURSDAY_US + DAY_US + 20_000_000);
    expect(await said()).toEqual([
      'warning: Started 3 Flights on Thursday; Thursdays usually have 180 to 220.',
    ]);
    expect((await list('firing'))[0]).toMatchObject({
      startsAtUs: THURSDAY_US + DAY_US,
      annotations: { summary: 'Translate blog started 3 Flights on Thursday in Marketing (EU)' },
    });
    // Nothing shows what is usual on the days until the next Thursday.
    await fly(spread(150, THURSDAY_US + 5 * DAY_US));
    await passUntil(THURSDAY_US + 7 * DAY_US + HOUR_US);
    expect(await said()).toHaveLength(1);
    await fly(spread(190, THURSDAY_US + 7 * DAY_US));
    await passUntil(THURSDAY_US + 8 * DAY_US + HOUR_US);
    expect(await said()).toEqual([]);
    expect(await ended()).toEqual(['it started 190 Flights on Thursday']);
    expect((await list('resolved'))[0]!.ending).toBe('over');
  });

  test('nothing at all does not become usual by lasting, and ends when something starts again [long]', async () => {
    begin(rule('FlightsUnusual'));
    await thursdays(200, 200, 200, 200);
    await passUntil(THURSDAY_US + DAY_US + HOUR_US);
    expect(await said()).toEqual(['warning: Started 0 Flights on Thursday; Thursdays usually have 200.']);
    for (const weeks of [1, 2, 3]) {
      await passUntil(THURSDAY_US + (7 * weeks + 1) * DAY_US + HOUR_US);
      expect(await list('firing')).toHaveLength(1);
    }
    await fly(spread(200, THURSDAY_US + 28 * DAY_US));
    await passUntil(THURSDAY_US + 29 * DAY_US + HOUR_US);
    const [{ annotations, ending } = {}] = await list('resolved');
    expect([annotations?.resolved_by, ending]).toEqual([
      'it started 200 Flights on Thursday; too little shows what is usual on Thursdays',
      'quiet',
    ]);
  });

  test('a day inside `except` is not judged [long]', async () => {
    holidays = [2];
    begin(rule('FlightsUnusual', { except: ['holidays'] }));
    await thursdays(180, 200, 220, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    await passUntil(THURSDAY_US + DAY_US + HOUR_US);
    expect(await said()).toEqual([]);
  });

  test('too many are told as soon as they are, and a runaway is critical [long]', async () => {
    begin(rule('FlightsUnusual'));
    await thursdays(40, 40, 40, 40);
    await fly(spread(120, THURSDAY_US, 12 * HOUR_US));
    await passUntil(THURSDAY_US + 12 * HOUR_US + MINUTE_US);
    expect(await said()).toEqual([]);
    await fly([clock.nowUs() - 1_000_000]);
    await passUntil(clock.nowUs() + 6_000_000);
    expect(await said()).toEqual([
      'warning: Runaway? Started 121 Flights since midnight (UTC); Thursdays have at most 40.',
    ]);
    await fly(spread(280, clock.nowUs() - HOUR_US, HOUR_US));
    await passUntil(clock.nowUs() + 6_000_000);
    expect(await said()).toEqual([
      'critical: Runaway? Started 401 Flights since midnight (UTC); Thursdays have at most 40.',
    ]);
    // Friday is over: nothing shows what is usual then.
    await passUntil(THURSDAY_US + 2 * DAY_US + HOUR_US);
    expect(await said()).toEqual([]);
    const [{ annotations, ending } = {}] = await list('resolved');
    expect([annotations?.resolved_by, ending]).toEqual([
      'it started 0 Flights on Friday; too little shows what is usual on Fridays',
      'quiet',
    ]);
  });

  test('too many after too few, and too few after a runaway, are told by themselves [long]', async () => {
    begin(rule('FlightsUnusual', { per: '1h', atLeast: 2, atMost: 10 }));
    await fly(spread(1, THURSDAY_US + 11 * HOUR_US, HOUR_US));
    await passUntil(THURSDAY_US + 12 * HOUR_US + MINUTE_US);
    await fly(spread(11, clock.nowUs() - 30_000_000, 30_000_000));
    await passUntil(clock.nowUs() + 6_000_000);
    const few = 'warning: Started 1 Flight on Thursday from 11:00 to 12:00 (UTC); at least 2 are expected.';
    const runaway = (many: number) =>
      `Runaway? Started ${many} Flights since 12:00 (UTC); at most 10 are allowed.`;
    expect((await said()).toSorted()).toEqual([`warning: ${runaway(11)}`, few].toSorted());
    expect(new Set((await list('firing')).map(({ labels }) => labels.unusual))).toEqual(
      new Set(['fewer', 'more']),
    );
    await fly(spread(90, clock.nowUs() - 30_000_000, 30_000_000));
    await passUntil(clock.nowUs() + 6_000_000);
    expect((await said()).toSorted()).toEqual([`critical: ${runaway(101)}`, few].toSorted());
    await passUntil(THURSDAY_US + 14 * HOUR_US + MINUTE_US);
    const none = 'warning: Started 0 Flights on Thursday from 13:00 to 14:00 (UTC); at least 2 are expected.';
    expect((await said()).toSorted()).toEqual([`critical: ${runaway(101)}`, none].toSorted());
    await fly(spread(2, THURSDAY_US + 14 * HOUR_US, HOUR_US / 2));
    await passUntil(THURSDAY_US + 15 * HOUR_US + MINUTE_US);
    expect(await said()).toEqual([]);
  });

  test('a Bird of five a day is never judged [long]', async () => {
    begin(rule('FlightsUnusual'));
    await thursdays(5, 5, 5, 5);
    await fly(spread(30, THURSDAY_US, 12 * HOUR_US));
    await passUntil(THURSDAY_US + 2 * DAY_US);
    expect(await said()).toEqual([]);
  });

  test('a day on which the region was down is neither judged nor usual [long]', async () => {
    begin(rule('FlightsUnusual'));
    await thursdays(200, 200, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    await tellHealth('down', 11);
    await passUntil(THURSDAY_US + 18 * HOUR_US);
    expect(await said()).toHaveLength(1);
    await tellHealth('up', 18);
    await passUntil(THURSDAY_US + DAY_US + HOUR_US);
    expect((await said()).filter((text) => text.includes('Started'))).toEqual([]);
    // A week later the three days before are those before the outage.
    await fly(spread(4, THURSDAY_US + 7 * DAY_US));
    await passUntil(THURSDAY_US + 8 * DAY_US + HOUR_US);
    expect(await said()).toEqual(['warning: Started 4 Flights on Thursday; Thursdays usually have 200.']);
  });

  test('hours are judged by a zone, and bounds may be fixed [long]', async () => {
    begin(rule('FlightsUnusual', { per: '1h', timezone: 'Asia/Kolkata', atLeast: 2, atMost: 10 }));
    await fly(spread(2, THURSDAY_US + 11.5 * HOUR_US, HOUR_US));
    await passUntil(THURSDAY_US + 12.5 * HOUR_US + MINUTE_US);
    expect(await said()).toEqual([]);
    await fly([clock.nowUs() - 1_000_000]);
    await passUntil(THURSDAY_US + 13.5 * HOUR_US + MINUTE_US);
    expect(await said()).toEqual([
      'warning: Started 1 Flight on Thursday from 18:00 to 19:00 (Kolkata); at least 2 are expected.',
    ]);
    await fly(spread(11, clock.nowUs() - 30_000_000, 30_000_000));
    await passUntil(clock.nowUs() + 6_000_000);
    expect(await said()).toContain(
      'warning: Runaway? Started 11 Flights since 19:00 (Kolkata); at most 10 are allowed.',
    );
  });

  test('a Bird is not judged for the hours before it came to be watched [long]', async () => {
    begin(rule('FlightsUnusual', { per: '1h', atLeast: 2 }));
    const changes = { statusSinceUs: clock.nowUs() + 30 * MINUTE_US, newsSinceUs: clock.nowUs() - HOUR_US };
    await store.inventory.putBirds([
      bird('7', { name: 'Newcomer', triggerType: 'event', hasFirstStatus: true, ...changes }),
    ]);
    const ofNewcomer = async () => (await list('firing')).filter(({ labels }) => labels.bird === 'Newcomer');
    await passUntil(THURSDAY_US + 13 * HOUR_US + MINUTE_US);
    expect(await ofNewcomer()).toEqual([]);
    await passUntil(THURSDAY_US + 14 * HOUR_US + MINUTE_US);
    expect(await ofNewcomer()).toHaveLength(1);
  });

  test('each period is judged once, also by a process that begins later [long]', async () => {
    const asked = rule('FlightsUnusual');
    begin(asked);
    await thursdays(200, 200, 200, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    await passUntil(THURSDAY_US + DAY_US + HOUR_US);
    begin(asked);
    await passUntil(THURSDAY_US + DAY_US + 2 * HOUR_US);
    expect(await list('firing')).toHaveLength(1);
    expect((await list('firing'))[0]!.lastSeq).toBe(0);
  });
});

describe('without a rule', () => {
  const seen = (fromUs: number, asked: readonly Rule[] = []) =>
    store.transaction((tx) =>
      unusualFlights(
        tx,
        { region: 'eu', birdId: '148890' },
        { rules: [...asked, ...DEFAULT_RULES], timeIntervals: new Map(), timezone: 'UTC' },
        fromUs,
        clock.nowUs(),
      ),
    );

  test('the page of the Bird says what is unusual, by the defaults or by its rule', async () => {
    begin();
    await thursdays(200, 200, 200, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US), 10);
    expect(await seen(clock.nowUs() - DAY_US)).toEqual([]);
    await clock.advance(13 * 3_600_000);
    const fewer = { sort: 'fewer', text: 'Started 3 Flights on Thursday; Thursdays usually have 200.' };
    expect(await seen(clock.nowUs() - DAY_US)).toEqual([fewer]);
    const asked = rule('FlightsUnusual', { atLeast: 5, timezone: 'Asia/Kolkata' });
    expect(await seen(clock.nowUs() - DAY_US, [asked])).toEqual([
      { sort: 'fewer', text: 'Started 3 Flights on Thursday; at least 5 are expected.' },
    ]);
    await fly(spread(3, clock.nowUs() - HOUR_US, HOUR_US / 2), 600);
    expect(await seen(clock.nowUs() - DAY_US)).toEqual([
      { sort: 'slow', text: expect.stringMatching(/^Takes 10 min, usually up to 30 s \(last 3 Flights/) },
      fewer,
    ]);
    expect(await list('firing')).toEqual([]);
  });

  test('the page says why a day was not judged', async () => {
    begin();
    await thursdays(200, 200, 200, 200);
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    await tellHealth('down', 6);
    await clock.advance(13 * 3_600_000);
    expect(await seen(clock.nowUs() - DAY_US)).toEqual([
      {
        sort: 'unjudged',
        text: 'Started 3 Flights on Thursday; Thursdays usually have 200. It is not judged: EU could not be read since 2 Jul 2026, 06:00 UTC.',
      },
    ]);
  });

  test('the digest lists it [long]', async () => {
    begin();
    await thursdays(200, 200, 200, 200);
    await fly(spread(200, THURSDAY_US - DAY_US));
    await fly(spread(3, THURSDAY_US, 10 * HOUR_US));
    const stop = new AbortController();
    const digests: Digest[] = [];
    const enqueue: Transaction['outbox']['enqueue'] = async (notification) => {
      if (notification.kind === 'digest' && !('report' in notification.digest))
        digests.push(notification.digest);
    };
    const running = createDigests({
      ...{ clock, report: () => {}, queued: () => {}, regions: () => [] },
      store: changedStore(store, () => ({ outbox: { enqueue } })),
      config: {
        ...{ ...NOTHING_CONFIGURED, rules },
        digests: [{ name: 'd', cron: '0 7 * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
      },
    }).run(stop.signal);
    await clock.advance(20 * 3_600_000);
    await expect.poll(() => digests.length).toBe(1);
    stop.abort();
    await clock.advance(60_000);
    await running;
    const place = { region: 'eu', nest: 'Marketing', bird: 'Translate blog' };
    const text = 'Started 3 Flights on Thursday; Thursdays usually have 200.';
    expect(digests[0]).toMatchObject({ unusual: [{ ...place, sort: 'fewer', text }], unusualTotal: 1 });
  });
});
