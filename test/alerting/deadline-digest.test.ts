import { expect, test } from 'vitest';
import { createDigests } from '../../src/alerting/send-digests.ts';
import { digestView } from '../../src/channels/message/digest-view.ts';
import { readMonthReport } from '../../src/store/month-report.ts';
import { email } from '../channels/sample-notifications.ts';
import { rule } from '../domain/world.ts';
import { bird, flight, nest } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';
import { NOTHING_CONFIGURED } from './desk.ts';
import { openMadeDigests } from './made-digests.ts';

const HOUR_US = 3_600_000_000;

test('a digest says how each Bird met the deadlines of its period, the worst first', async () => {
  const { clock, inner, made, store } = await openMadeDigests();
  const lands = { Punctual: [-5, -5, -5], Late: [-5, 24, -5], Missing: [-5], Idle: [] };
  await inner.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', TEST_START_US - 48 * HOUR_US);
    await tx.inventory.putNests([nest('7', 'Prod')]);
    for (const [name, minutes] of Object.entries(lands)) {
      await tx.inventory.putBirds([bird(name, { nestId: '7', name, statusSinceUs: 1 })]);
      const { stream } = await tx.streams.open('eu', 'flight', name);
      await tx.flights.put(
        minutes.map((late, index) => {
          const endedAtUs = TEST_START_US - (2 - index) * HOUR_US + late * 60_000_000;
          const ended = { status: 'succeeded', open: false, ends: 1, endedAtUs };
          return flight(`${name}${index}`, { stream, startedAtUs: endedAtUs - 60_000_000, ...ended });
        }),
      );
      // The Bird that is idle had no deadline in the period that was judged.
      const deadlineUs = name === 'Idle' ? TEST_START_US - 30 * HOUR_US : TEST_START_US;
      await tx.overdue.judgeBirds([{ region: 'eu', birdId: name, nextUs: 0, deadlineUs, countedUs: 0 }]);
    }
    await tx.digests.put({ name: 'daily', lastUs: TEST_START_US - 3 * HOUR_US + 1, lastEvent: 0 });
  });
  const stop = new AbortController();
  const rules = [rule('FlightOverdue', { landedBy: '0 * * * *' })];
  const daily = { name: 'daily', cron: '1 12 * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: true };
  const ended = createDigests({
    ...{ store, clock, report: () => {}, queued: () => {}, regions: () => [] },
    config: {
      ...NOTHING_CONFIGURED,
      digests: [daily],
      receivers: [{ name: 'ops', integrations: [email({ to: ['ops@example.com'] })] }],
      rules,
    },
  }).run(stop.signal);
  await clock.advance(61_000);
  await expect.poll(() => made).toHaveLength(1);
  stop.abort();
  await clock.advance(60_000);
  await ended;
  const month = await readMonthReport(inner, {
    ...{ regions: ['eu'], nestId: '7', month: undefined, zone: 'UTC', nowUs: clock.nowUs() },
    config: { ...NOTHING_CONFIGURED, rules },
  });
  // 37 of each Bird in the month up to noon of its second day, and seven of the one that is idle since.
  expect(month.tables.month[0]!.figures).toMatchObject({ deadlines: 118, deadlines_met: 6 });
  const { sections = [] } = digestView(made[0]!, 'http://watch.example.com');
  expect(sections.find(({ title }) => title === 'Deadlines')).toEqual({
    title: 'Deadlines',
    more: 0,
    rows: [
      { lead: '1 of 3 met', what: 'EU · Prod / Missing', note: '2 missed' },
      { lead: '2 of 3 met', what: 'EU · Prod / Late', note: '1 late (24 min)' },
      { lead: '3 of 3 met', what: 'EU · Prod / Punctual', note: '' },
    ],
  });
});

test('a deadline that is judged after a digest counts once, in the next one', async () => {
  const { clock, inner, made, store } = await openMadeDigests();
  const judge = (name: string, hours: number) =>
    inner.overdue.judgeBirds([
      { region: 'eu', birdId: name, nextUs: 0, deadlineUs: TEST_START_US + hours * HOUR_US, countedUs: 0 },
    ]);
  await inner.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', TEST_START_US - 48 * HOUR_US);
    await tx.inventory.putNests([nest('7', 'Prod')]);
    for (const name of ['Judged', 'Unread', 'Gone'])
      await tx.inventory.putBirds([bird(name, { nestId: '7', name, statusSinceUs: 1 })]);
  });
  for (const name of ['Judged', 'Unread', 'Gone']) await judge(name, 0);
  const stop = new AbortController();
  const ended = createDigests({
    ...{ store, clock, report: () => {}, queued: () => {}, regions: () => [] },
    config: {
      ...NOTHING_CONFIGURED,
      digests: [{ name: 'd', cron: '30 */4 * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
      receivers: [{ name: 'ops', integrations: [email({ to: ['ops@example.com'] })] }],
      rules: [rule('FlightOverdue', { landedBy: '0 * * * *' })],
    },
  }).run(stop.signal);
  const counted: string[][] = [];
  for (const [judged, unread] of [
    [0, 0],
    [4, 2],
    [8, 2],
    [12, 12],
    [16, 16],
  ] as const) {
    await judge('Judged', judged);
    await judge('Unread', unread);
    await clock.advance((judged === 0 ? 31 : 240) * 60_000);
    await expect.poll(() => made).toHaveLength(judged / 4 + 1);
    const { deadlines = [] } = made.at(-1)!.digest as {
      deadlines?: readonly { bird: string; missed: number }[];
    };
    counted.push(deadlines.map(({ bird: name, missed }) => `${name} ${missed}`).toSorted());
  }
  stop.abort();
  await clock.advance(60_000);
  await ended;
  expect(counted.slice(1)).toEqual([
    ['Judged 4', 'Unread 2'],
    ['Judged 4'],
    ['Judged 4', 'Unread 10'],
    ['Judged 4', 'Unread 4'],
  ]);
});

/**
 * A month, read on 2 July 2026 at 12:00, of a Bird that since 1 June, 06:00, landed a minute before each deadline but those
 * that it misses.
 */
async function monthOf(
  landedBy: string,
  everyUs: number,
  days: number,
  misses: (us: number) => boolean,
  month = '2026-06',
) {
  const store = await openMemory(createVirtualClock());
  const keptMs = days * 24 * (HOUR_US / 1000);
  const landings: number[] = [];
  for (let us = Date.UTC(2026, 5, 1, 6) * 1000; us < TEST_START_US; us += everyUs)
    landings.push(us - 60_000_000);
  await store.transaction(async (tx) => {
    await tx.inventory.regionSince('eu', Date.UTC(2026, 4, 1) * 1000);
    await tx.inventory.putNests([nest('7', 'Prod')]);
    await tx.inventory.putBirds([bird('1', { nestId: '7', statusSinceUs: 1 })]);
    const { stream } = await tx.streams.open('eu', 'flight', '1');
    await tx.streams.advanceCursor(stream, TEST_START_US);
    const landed = landings
      .filter((us) => !misses(us))
      .map((endedAtUs) => {
        const ended = { status: 'succeeded', open: false, ends: 1, endedAtUs };
        return flight(`${endedAtUs}`, { stream, startedAtUs: endedAtUs - 60_000_000, ...ended });
      });
    await tx.flights.put(landed);
    await tx.overdue.judgeBirds([
      { region: 'eu', birdId: '1', nextUs: 0, deadlineUs: landings.at(-1)! + 60_000_000, countedUs: 0 },
    ]);
    while ((await tx.upkeep.prune(TEST_START_US - keptMs * 1000, 500)) === 500);
  });
  const { tables } = await readMonthReport(store, {
    ...{ regions: ['eu'], nestId: undefined, month, zone: 'UTC', nowUs: TEST_START_US },
    config: {
      ...NOTHING_CONFIGURED,
      rules: [rule('FlightOverdue', { landedBy })],
      store: { retentionMs: keptMs },
    },
  });
  return tables.month[0]!.figures;
}

test('a month that is over has no deadlines whose Flights are deleted meanwhile', async () => {
  // Of the day 24 hours before the first that is known, too little is known.
  expect(await monthOf('0 6 * * *', 24 * HOUR_US, 10, () => false)).toMatchObject({
    deadlines: 7,
    deadlines_met: 7,
  });
});

test('a month has all deadlines of one each twenty minutes [long]', async () => {
  const isEarly = (us: number) => us < Date.UTC(2026, 5, 10, 23, 50) * 1000;
  const figures = await monthOf('*/20 * * * *', HOUR_US / 3, 60, isEarly);
  expect(figures).toMatchObject({ deadlines: 30 * 72, deadlines_met: 20 * 72 });
});

test('a deadline at midnight belongs to the day and the month that begin with it', async () => {
  const of = (month: string) => monthOf('0 0 * * *', 24 * HOUR_US, 60, () => false, month);
  // It had not landed yet by the first one.
  expect(await of('2026-06')).toMatchObject({ deadlines: 30, deadlines_met: 29 });
  expect(await of('2026-07')).toMatchObject({ deadlines: 2, deadlines_met: 2 });
});
