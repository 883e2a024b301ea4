/** Deadlines of FlightOverdue rules, from the store to the alert. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createOverdue } from '../../src/alerting/overdue.ts';
import type { Happening } from '../../src/report.ts';
import { applyFacts } from '../../src/store/change-alerts.ts';
import type { FlightRecord } from '../../src/store/event-store.ts';
import type { BirdRecord } from '../../src/store/sql/watched/nests-and-birds.ts';
import { birdLog, flight, regionHealth, rule } from '../domain/world.ts';
import { bird, insert, nest, flight as record } from '../store/contract/sample-records.ts';
import { openMemory, runTwice, type TestStore } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US, type VirtualClock } from '../virtual-clock.ts';

/** 12:00 UTC on 2 July 2026, a Thursday, is the start; the deadline is at 12:30. */
const MINUTE_MS = 60_000;
const at = (minutes: number) => TEST_START_US + minutes * MINUTE_MS * 1000;
const NOON_THIRTY = rule('FlightOverdue', { landedBy: '30 * * * *', withinMs: 60 * MINUTE_MS });

let clock: VirtualClock;
let store: TestStore;
let readUs: number;
beforeEach(async () => {
  clock = createVirtualClock();
  store = runTwice(await openMemory(clock));
  readUs = 0;
  await store.inventory.regionSince('eu', at(-20));
});

async function world(
  flights: readonly Partial<FlightRecord>[],
  status = 'active',
  changes: Partial<BirdRecord> = {},
): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.inventory.putNests([nest('682', 'Marketing')]);
    const seen = { name: 'Translate blog', status, statusSinceUs: at(-240), ...changes };
    await tx.inventory.putBirds([bird('148890', seen)]);
    const { stream } = await tx.streams.open('eu', 'flight', '148890');
    await tx.flights.put(flights.map((one, index) => record(`f${index}`, { stream, ...one })));
  });
}

/** A Flight that started and ended at these minutes. */
const landed = (started: number, ended: number, status = 'succeeded') => ({
  ...{ startedAtUs: at(started), endedAtUs: at(ended) },
  ...{ status, open: false },
});

type OverdueRule = typeof NOON_THIRTY;

/** Contains 12:15 to 12:25. */
const LUNCH = { spec: { location: 'UTC' }, contains: (us: number) => us >= at(15) && us < at(25) };

function begin(given: OverdueRule | readonly OverdueRule[] = NOON_THIRTY) {
  const overdue = createOverdue({
    rules: [given].flat(),
    clock,
    flightsReadUs: () => readUs || undefined,
    timeIntervals: new Map([['lunch', [LUNCH]]]),
    lookbackMs: 60 * MINUTE_MS,
  });
  const outcomes: string[] = [];
  return {
    outcomes,
    /** Lets time pass, reading the Bird's Flights and looking as often as the step wants to. */
    async pass(minutes: number, isRead = true) {
      const untilMs = clock.monotonicMs() + minutes * MINUTE_MS;
      for (;;) {
        if (isRead) readUs = clock.nowUs();
        const { done, happenings, remember } = await store.transaction((tx) => overdue.judge(tx));
        remember?.();
        outcomes.push(
          ...happenings.flatMap((one: Happening) => (one.what === 'deadline' ? [one.outcome] : [])),
        );
        if (done > 0) continue;
        const nextMs = Math.min(overdue.nextMs(), untilMs);
        if (nextMs >= untilMs) break;
        await clock.advance(nextMs - clock.monotonicMs());
      }
      await clock.advance(untilMs - clock.monotonicMs());
    },
  };
}

const alerts = () => store.alerts.firing(undefined, 10);
const over = () =>
  store.alerts.page({ order: 'newest', nowUs: 0, state: 'resolved', limit: 10 }).then((one) => one.alerts);
const said = async () => (await alerts()).map(({ annotations }) => annotations.description);

test('a success in time meets it, and one of an earlier Flight does not', async () => {
  await world([landed(-40, -20), landed(5, 29.9), landed(10, 20, 'failed')]);
  const { pass, outcomes } = begin();
  await pass(40);
  expect(await said()).toEqual([]);
  expect(outcomes).toEqual(['met']);
});

test('the end of a Flight stands in for a start that the service does not give', async () => {
  const undated = (ended: number) => ({ ...landed(0, ended), startedAtUs: 0 });
  await world([undated(-31), undated(29), undated(90.1)]);
  const { pass, outcomes } = begin();
  await pass(100);
  expect(outcomes).toEqual(['met', 'late']);
});

test('without `within`, a Flight counts since the deadline before that no interval of `except` contains', async () => {
  await world([landed(12, 14)]);
  const { pass, outcomes } = begin(
    rule('FlightOverdue', { landedBy: '10,20,30 12 * * *', except: ['lunch'] }),
  );
  await pass(40);
  expect(await said()).toEqual([]);
  expect(outcomes).toEqual(['met']);
});

test('a Bird that comes to be watched later has only the deadlines after that', async () => {
  await clock.advance(32 * MINUTE_MS);
  await world([], 'active', { hasFirstStatus: true, statusSinceUs: at(32), newsSinceUs: at(-38) });
  const { pass, outcomes } = begin(rule('FlightOverdue', { landedBy: '*/10 * * * *' }));
  await pass(7);
  expect(outcomes).toEqual([]);
  // Also if it soon has another status, from which on it is not known any more when it was first seen.
  await world([], 'suspended', { statusSinceUs: at(39), newsSinceUs: at(-38) });
  await pass(2);
  expect(await said()).toEqual(['Not landed by 12:40 (UTC). It was suspended at 12:39.']);
  expect(outcomes).toEqual(['missed']);
});

test('one of a Bird that comes to be watched later is neither judged nor warned of if its `within` began unread', async () => {
  await clock.advance(75 * MINUTE_MS);
  // It may have landed at 11:05: its Flights are read from 11:14 on.
  await world([], 'active', { hasFirstStatus: true, statusSinceUs: at(75), newsSinceUs: at(14) });
  const within = { withinMs: 150 * MINUTE_MS };
  const { pass, outcomes } = begin({ ...NOON_THIRTY, ...within, warnBeforeMs: 20 * MINUTE_MS });
  await pass(20);
  expect([...outcomes, ...(await alerts())]).toEqual([]);
  await pass(60);
  expect(await said()).toContain('Not landed by 14:30 (UTC). It did not start.');
  expect(outcomes).toEqual(['missed']);
});

test('the Birds of the very first inventory are judged soon, not a minute later', async () => {
  await clock.advance(31.5 * MINUTE_MS);
  const { pass } = begin();
  await pass(0.2);
  await world([]);
  await pass(0.3);
  expect(await said()).toEqual(['Not landed by 12:30 (UTC). It did not start.']);
});

test.each([
  ['did not start', [], 'active', 'It did not start.'],
  ['is in the air', [{ startedAtUs: at(12) }], 'active', 'It is in the air since 12:12.'],
  ['was cancelled', [landed(12, 20, 'cancelled')], 'active', 'It was cancelled at 12:20.'],
  [
    'landed, but started too early',
    [landed(-40, 20)],
    'active',
    'Its Flight started at 11:20, too early to count, and landed at 12:20.',
  ],
  [
    'started too early and is in the air',
    [{ startedAtUs: at(-40) }],
    'active',
    'Its Flight started at 11:20, too early to count, and was in the air.',
  ],
  [
    'failed without a start',
    [
      { ...landed(0, 20, 'cancelled'), startedAtUs: 0 },
      { ...landed(0, -40), startedAtUs: 0 },
    ],
    'active',
    'It was cancelled at 12:20.',
  ],
  ['is in the air without a start', [{ startedAtUs: 0 }], 'active', 'It is in the air.'],
  ['is suspended', [], 'suspended', 'It was suspended at 08:00.'],
])('a Bird that %s misses it', async (_what, flights, status, sentence) => {
  await world(flights, status);
  const { pass, outcomes } = begin();
  await pass(30);
  expect(await said()).toEqual([]);
  await pass(0.3);
  expect(await said()).toEqual([`Not landed by 12:30 (UTC). ${sentence}`]);
  expect((await alerts())[0]).toMatchObject({
    startsAtUs: at(30),
    labels: { severity: 'critical', bird: 'Translate blog', nest: 'Marketing' },
    annotations: { summary: 'Translate blog has not landed by 12:30 in Marketing (EU)' },
  });
  // It is told once, also by a process that began later.
  await begin().pass(20);
  expect(await alerts()).toHaveLength(1);
  expect(outcomes).toEqual(['missed']);
});

/** What the Bird's log says. */
const logged = (type: string, minutes: number, initiator?: string) =>
  birdLog(type, minutes, { ...(initiator && { attributes: { initiator } }) }).event;

const YESTERDAY = -(20 * 60 - 2);
const ANN = 'ann@example.com';
const BOB = 'bob@example.com';
const HOSTILE = `<b>\u202e${'x'.repeat(10_000)}`;
test.each([
  ['by somebody', [logged('Suspended', YESTERDAY, ANN)], `was suspended yesterday, 16:02, by ${ANN}.`],
  ['by the service', [logged('Deactivated', -30)], 'was deactivated at 11:30.'],
  ['long ago', [logged('Suspended', -9 * 1440, ANN)], `was suspended on 23 Jun, 12:00, by ${ANN}.`],
  [
    'by somebody who is hostile',
    [logged('Suspended', -30, HOSTILE)],
    `was suspended at 11:30, by <b>${'x'.repeat(116)}….`,
  ],
  [
    'again',
    [logged('Suspended', -50, ANN), logged('Activated', -40, ANN), logged('Suspended', -30, BOB)],
    `was suspended at 11:30, by ${BOB}.`,
  ],
  ['without a word since it was switched on', [logged('Activated', -500, ANN)], 'was suspended at 08:00.'],
  ['only after the deadline', [logged('Suspended', 30.1, ANN)], 'did not start.'],
])('a Bird that was switched off %s says so', async (_what, events, why) => {
  await world([], 'suspended');
  await store.transaction((tx) => insert(tx, events, '148890'));
  await begin().pass(31);
  expect(await said()).toEqual([`Not landed by 12:30 (UTC). It ${why}`]);
});

test('a Bird that has been off since it was first seen says no more than that', async () => {
  await world([], 'suspended', { hasFirstStatus: true });
  await begin().pass(31);
  expect(await said()).toEqual(['Not landed by 12:30 (UTC). It was suspended, at least since 08:00.']);
});

test('one that usually starts says when', async () => {
  const day = 1440;
  await store.inventory.regionSince('eu', at(-9 * day));
  await world([1, 2, 3, 4].map((days) => landed(30 - 50 - days * day, 30 - 20 - days * day)));
  await begin({ ...NOON_THIRTY, landedBy: '30 12 * * *' }).pass(31);
  expect(await said()).toEqual(['Not landed by 12:30 (UTC). It did not start; it usually starts at 11:40.']);
});

test('one that is judged late says so, and why if its region could not be read', async () => {
  await world([landed(-35, -31)]);
  const { pass } = begin();
  await pass(29);
  // It is not read, as if the process had not run.
  await pass(20, false);
  await pass(10);
  expect(await said()).toEqual([
    expect.stringMatching(/^Not landed by 12:30 \(UTC\)\. It did not start\. \(Judged at 12:(49|50)\.\)$/),
  ]);
  await pass(30);
  const measure = (health: 'down' | 'up', minutes: number) =>
    store.transaction((tx) =>
      applyFacts(tx, [regionHealth(health, minutes)], [rule('RegionDown', { forMs: 0 })], clock.nowUs()),
    );
  await measure('down', 89.5);
  await pass(20, false);
  await measure('up', 109);
  await pass(1);
  expect(await said()).toEqual([
    'Not landed by 13:30 (UTC). It did not start. (Judged at 13:49, EU could not be read before.)',
  ]);
});

test('a deadline that the rule had not had yet is judged late for no fault of the region', async () => {
  await world([landed(-35, -31)]);
  await begin().pass(29);
  await begin({ ...NOON_THIRTY, landedBy: '45 * * * *' }).pass(30);
  await begin({ ...NOON_THIRTY, landedBy: '46 * * * *' }).pass(1);
  expect(await said()).toEqual(['Not landed by 12:46 (UTC). It did not start. (Judged at 12:59.)']);
});

test('waits for a reading while the region cannot be read', async () => {
  await world([landed(12, 25)]);
  const { pass, outcomes } = begin();
  await pass(29);
  await pass(20, false);
  expect([...outcomes, ...(await alerts())]).toEqual([]);
  await pass(10);
  expect(outcomes).toEqual(['met']);
});

test('is judged within a minute once the region is read again after a long outage', async () => {
  await world([]);
  const { pass } = begin();
  await pass(29);
  await pass(40, false);
  await pass(1.1);
  expect(await alerts()).toHaveLength(1);
});

test('one that was not watched from its beginning is neither judged nor warned of', async () => {
  await world([]);
  const { pass, outcomes } = begin({
    ...NOON_THIRTY,
    ...{ withinMs: 720 * MINUTE_MS, warnBeforeMs: 20 * MINUTE_MS },
  });
  await pass(45);
  expect([...outcomes, ...(await alerts())]).toEqual([]);
});

test('the next one that is missed renews it, and is counted', async () => {
  await world([]);
  const { pass, outcomes } = begin();
  await pass(200);
  expect(await alerts()).toHaveLength(1);
  expect((await alerts())[0]).toMatchObject({
    startsAtUs: at(30),
    memory: { missed: 3, deadlineUs: at(150) },
    annotations: { description: 'Not landed by 14:30 (UTC). It did not start.' },
  });
  expect(outcomes).toEqual(['missed', 'missed', 'missed']);
});

test('each rule that fits judges its own deadlines', async () => {
  await world([landed(5, 29.5)]);
  const rules = [
    { ...NOON_THIRTY, id: 'half' },
    { ...rule('FlightOverdue', { landedBy: '29 * * * *', withinMs: 60 * MINUTE_MS }), id: 'sooner' },
  ];
  const { pass, outcomes } = begin(rules);
  await pass(28);
  // Both deadlines have passed by the next reading, and what was read for the later one may not be all yet.
  await pass(2.1, false);
  await pass(10);
  expect(outcomes.toSorted()).toEqual(['late', 'met']);
  await pass(60);
  expect((await alerts()).map(({ labels }) => labels.rule)).toEqual(['half', 'sooner']);
});

const WARNED = { ...NOON_THIRTY, landedBy: '30 12 * * *', warnBeforeMs: 20 * MINUTE_MS };
/** Four days on which it started at 12:00 and took 10 minutes. */
const USUAL = [1, 2, 3, 4].map((days) => landed(-days * 1440, 10 - days * 1440));

test.each([
  ['has landed', [landed(1, 9)], undefined],
  ['has landed, and failed since', [landed(1, 4), landed(5, 9, 'failed')], undefined],
  ['would land at its usual pace', [{ startedAtUs: at(3) }], undefined],
  [
    'flies for longer than ever',
    [{ startedAtUs: at(-1) }],
    'It is in the air since 11:59; it usually takes 10 min.',
  ],
  ['should have started', [], 'It did not start; it usually starts at 12:00.'],
  ['was cancelled', [landed(3, 8, 'cancelled')], 'It was cancelled at 12:08.'],
] as [string, Partial<FlightRecord>[], string | undefined][])(
  '`warn_before`: a Bird that %s',
  async (_what, flights, warning) => {
    await store.inventory.regionSince('eu', at(-9 * 1440));
    await world([...USUAL, ...flights]);
    const { pass } = begin(WARNED);
    await pass(9.9);
    expect(await alerts()).toEqual([]);
    await pass(0.3);
    expect(await said()).toEqual(warning ? [`Not landed yet, due by 12:30 (UTC). ${warning}`] : []);
    if (!warning) return;
    expect((await alerts())[0]).toMatchObject({
      labels: { severity: 'warning' },
      annotations: {
        summary: 'Translate blog may not land by 12:30 in Marketing (EU)',
        due_by: '12:30 (UTC)',
      },
    });
    // Another process says nothing more, until the deadline.
    await begin(WARNED).pass(10);
    expect((await alerts()).map(({ labels }) => labels.severity)).toEqual(['warning']);
    await pass(10.2);
    expect((await alerts()).map(({ labels }) => labels.severity)).toEqual(['critical']);
    expect((await over()).map(({ ending }) => ending)).toEqual(['superseded']);
  },
);

test('a warning ends when a Flight lands in time, and nothing is said of it later', async () => {
  await world([{ startedAtUs: at(-1) }]);
  const { pass, outcomes } = begin(WARNED);
  await pass(15);
  expect(await alerts()).toHaveLength(1);
  const success = flight('succeeded', { started: -1, at: 14 });
  await store.transaction((tx) => applyFacts(tx, [success], [WARNED], clock.nowUs()));
  expect((await over())[0]!.annotations).toMatchObject({ resolved_by: 'landed at 12:14, in time' });
  await world([landed(-1, 14)]);
  await pass(30);
  expect([...outcomes, ...(await alerts())]).toEqual(['met']);
});

test('`tell_late` tells of one that had landed by the first look, as over', async () => {
  await world([landed(12, 30.1)]);
  const { event } = flight('succeeded', { started: 12, at: 30.1 });
  await store.transaction((tx) => insert(tx, [{ ...event, key: 'eu/flight/f0/succeeded' }], '148890'));
  await begin({ ...NOON_THIRTY, tellLate: true }).pass(40);
  expect(await alerts()).toEqual([]);
  const [told] = await over();
  expect(told).toMatchObject({
    startsAtUs: at(30),
    endsAtUs: at(30.1),
    eventsTotal: 1,
    annotations: {
      summary: 'Translate blog landed after 12:30 in Marketing (EU)',
      resolved_by: 'landed at 12:30, 6 s late',
    },
  });
});

test('`tell_late` does not tell again of the one that ended the alert about the deadline before', async () => {
  await world([]);
  const tellLate = { ...NOON_THIRTY, tellLate: true };
  const { pass, outcomes } = begin(tellLate);
  await pass(90);
  const fact = flight('succeeded', { started: 60, at: 90.05 });
  const event = { ...fact.event, key: 'eu/flight/f0/succeeded' };
  await world([landed(60, 90.05)]);
  await store.transaction(async (tx) => {
    await insert(tx, [event], '148890');
    await applyFacts(tx, [{ ...fact, event }], [tellLate], at(90.05));
  });
  await pass(10);
  expect(outcomes.slice(-2)).toEqual(['missed', 'late']);
  expect((await over()).map(({ annotations }) => annotations.resolved_by)).toEqual([
    'landed at 13:30, 1 h late',
  ]);
});

test('`tell_late` does not tell again of the one that ended the warning of the same deadline', async () => {
  await world([]);
  const both = { ...WARNED, tellLate: true };
  const { pass, outcomes } = begin(both);
  await pass(20);
  expect((await alerts()).map(({ labels }) => labels.severity)).toEqual(['warning']);
  await pass(10);
  const fact = flight('succeeded', { started: 20, at: 30.05 });
  const event = { ...fact.event, key: 'eu/flight/f0/succeeded' };
  await world([landed(20, 30.05)]);
  await store.transaction(async (tx) => {
    await insert(tx, [event], '148890');
    await applyFacts(tx, [{ ...fact, event }], [both], at(30.05));
  });
  await pass(10);
  expect(outcomes).toEqual(['late']);
  expect((await over()).map(({ labels, annotations }) => [labels.severity, annotations.resolved_by])).toEqual(
    [['warning', 'landed at 12:30, 3 s late']],
  );
});

describe.each([
  ['Europe/Amsterdam', '30 2 * * *'],
  ['Europe/Amsterdam', '0 7 * * *'],
  ['Australia/Lord_Howe', '45 1 * * *'],
])('a year in %s of deadlines at %s', (timezone, landedBy) => {
  test('has one each day, also when the clocks change, and each is judged once by processes that are killed [long]', async () => {
    await world([]);
    const yearly = { ...NOON_THIRTY, landedBy, timezone };
    const days = new Set<string>();
    const outcomes: string[] = [];
    const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone: timezone });
    for (let half = 0; half < 2 * 365; half += 1) {
      // Twice a day, at another time each day, a process begins with the same store, and soon dies.
      await clock.advance((719 + (half % 2 === 0 ? 1 : -1) * (half % 300)) * MINUTE_MS);
      const process = begin(yearly);
      await process.pass(1);
      outcomes.push(...process.outcomes);
      const [alert] = await alerts();
      if (alert) days.add(dayOf.format((alert.memory as { deadlineUs: number }).deadlineUs / 1000));
    }
    expect(outcomes).toEqual(Array.from({ length: 365 }, () => 'missed'));
    expect(days.size).toBe(365);
    expect((await alerts())[0]!.memory).toMatchObject({ missed: 365 });
  });
});

test('killed at each of 50 deadlines, before or after they are committed, each is judged and counted once [long]', async () => {
  await world([]);
  const outcomes: string[] = [];
  for (let hour = 0; hour < 50; hour += 1) {
    await clock.advance(29 * MINUTE_MS);
    const dies = begin();
    await dies.pass(1 + (hour % 3) * 0.1);
    const next = begin();
    await next.pass(1 - (hour % 3) * 0.1);
    await clock.advance(29 * MINUTE_MS);
    outcomes.push(...dies.outcomes, ...next.outcomes);
  }
  expect(outcomes).toEqual(Array.from({ length: 50 }, () => 'missed'));
  expect(await alerts()).toHaveLength(1);
  expect((await alerts())[0]!.memory).toMatchObject({ missed: 50 });
});
