/** Reports of the month that are mailed, with the whole daemon. */
import { expect, onTestFinished, test } from 'vitest';
import { createDigests } from '../../src/alerting/send-digests.ts';
import { viewOf } from '../../src/channels/message/digest-view.ts';
import { reportCsv } from '../../src/domain/digest/report-figures.ts';
import type { DigestNotification } from '../../src/domain/grouping/notification.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { NOTHING_CONFIGURED } from '../alerting/desk.ts';
import { email } from '../channels/sample-notifications.ts';
import { changed, changedStore } from '../store/changed-transaction.ts';
import { createVirtualClock, TEST_START_US } from '../virtual-clock.ts';
import { createStage } from './stage.ts';

const EU = { region: 'eu', verifiedUntilUs: 0 };

const NESTS = Array.from({ length: 20 }, (_, at) => `Customer ${at + 1}!`);

async function reported(report: object, minutes = 70) {
  const stage = await createStage({
    regions: ['eu'],
    objectives: [
      {
        ...{ name: 'customers', match: [], forEach: 'nest', success: 0.75 },
        ...{ countsDeadlines: false, overMs: 28 * 86_400_000, leastFailures: 5 },
      },
    ],
    digests: [
      {
        ...{
          name: 'monthly',
          cron: '0 * * * *',
          timezone: 'Europe/Amsterdam',
          receiver: 'ops',
          skipEmpty: false,
        },
        report: { isForEachNest: true, isToMembers: true, isCountsOnly: true, ...report },
      },
    ],
    before(world) {
      for (const [at, name] of NESTS.entries()) {
        const members = at === 19 ? [] : [world.addUser({ email: `m${at + 1}@customer.example` }).id];
        const nest = world.addNest({ name, members });
        world.addBird(nest.id, { name: `Sync for ${name}`, triggerType: 'manual' });
      }
    },
  });
  const world = stage.eu;
  await stage.minutesPass(2);
  for (const [at, { id }] of [...world.birds.values()].entries()) {
    for (let flight = 0; flight <= at % 4; flight += 1) {
      const endsAs = flight % 2 === 1 ? 'failed' : 'succeeded';
      world.startFlight(id, { endsAs, fliesForMs: 1_000 + flight, errorMessages: `Secret of ${NESTS[at]}` });
    }
  }
  await stage.minutesPass(minutes);
  return { stage, world };
}

test('the members of each Nest get its own month, as the service counts it, and not a word of another [long]', async () => {
  const { stage, world } = await reported({});
  expect(stage.reports).toHaveLength(19);
  for (const report of stage.reports) {
    const { digest, to, id } = report;
    const { nest, tables } = digest.report;
    const at = NESTS.indexOf(nest.nest!);
    const birdId = [...world.birds.values()][at]!.id;
    const flights = [...world.flights.values()].filter((one) => one.birdId === birdId);
    expect(tables.month![0]!.figures).toMatchObject({
      flights: flights.length,
      failed: flights.filter(({ ends }) => ends.at(-1)?.status === 'failed').length,
    });
    const failed = tables.month![0]!.figures.failed!;
    const left = Math.floor(flights.length / 4) - failed;
    expect(tables.objectives).toMatchObject([
      { text: 'customers', figures: { objective: left < 0 ? 0 : 1, allowance_left: left } },
    ]);
    const title = left < 0 ? 'not met' : 'met';
    expect(JSON.stringify(viewOf(report, ''))).toContain(`"objective ${title}"`);
    expect(to).toEqual([`m${at + 1}@customer.example`]);
    const others = NESTS.filter((_, other) => other !== at);
    const sent = [JSON.stringify(digest), JSON.stringify(viewOf(report, 'http://x.example'))];
    expect(others.filter((other) => sent[0]!.includes(other))).toEqual([]);
    // No errors, people or ids.
    expect(sent.join()).not.toMatch(/Secret|@|nest_id|bird_id|x\.example/);
    expect(reportCsv(tables)).toMatch(/^table,region,nest,bird,about,figure,value\r\n/);
    expect(id).toMatch(/^digest-/);
  }
  const suppressed = await stage.store.transaction((tx) =>
    tx.outbox.page({ state: 'suppressed', limit: 10 }),
  );
  expect(suppressed.deliveries.map(({ lastError }) => lastError)).toContain('the Nest has no active members');
});

test.each(['before', 'after'])(
  'after a crash %s the commit that queues the reports, each Nest has one, however often it starts again [long]',
  async (moment) => {
    const clock = createVirtualClock();
    const inner = await openSqliteStore({ path: ':memory:', clock });
    onTestFinished(() => inner.close());
    await inner.transaction(async (tx) => {
      const nests = NESTS.map((name, at) => ({ region: 'eu', nestId: String(at), name, present: true }));
      await tx.inventory.regionSince('eu', TEST_START_US - 3_600e6);
      await tx.inventory.putNests(nests);
      await tx.inventory.putNestMembers(
        nests.map(({ region, nestId }) => ({ region, nestId, addresses: [`m${nestId}@customer.example`] })),
      );
    });
    const own = { name: 'monthly', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false };
    const live = async (crashes: number, forMs: number) => {
      const stop = new AbortController();
      let isQueuing = false;
      let left = crashes;
      const store: Store = {
        ...inner,
        async transaction(work) {
          const value = await inner.transaction(async (tx) => {
            const done = await work(
              changed(tx, {
                outbox: {
                  enqueue(...given) {
                    isQueuing = true;
                    return tx.outbox.enqueue(...given);
                  },
                },
              }),
            );
            if (isQueuing && left > 0 && moment === 'before') throw new Error('killed');
            return done;
          });
          if (!isQueuing || left === 0) return value;
          left -= 1;
          throw new Error('killed');
        },
      };
      const ended = createDigests({
        ...{ store, clock, report: () => stop.abort(), queued: () => {}, regions: () => [EU] },
        config: {
          ...NOTHING_CONFIGURED,
          digests: [{ ...own, report: { isForEachNest: true, isToMembers: true, isCountsOnly: true } }],
          receivers: [{ name: 'ops', integrations: [email({ to: [], toNestMembers: true })] }],
        },
      }).run(stop.signal);
      await clock.advance(forMs);
      stop.abort();
      await clock.advance(1);
      await ended;
    };
    const queued = async () => {
      const { deliveries } = await inner.transaction((tx) => tx.outbox.page({ limit: 100 }));
      return deliveries.map(({ notificationId }) => notificationId);
    };
    await live(1, 3_600_000);
    expect(await queued()).toHaveLength(moment === 'before' ? 0 : NESTS.length);
    for (let life = 0; life < 2; life += 1) await live(0, 600_000);
    const ids = await queued();
    expect([ids.length, new Set(ids).size]).toEqual([NESTS.length, NESTS.length]);
  },
);

test('says since when alerts and deadlines are kept, if that is not all of its month [long]', async () => {
  const clock = createVirtualClock();
  const store = await openSqliteStore({ path: ':memory:', clock });
  onTestFinished(() => store.close());
  await store.transaction((tx) => tx.inventory.regionSince('eu', TEST_START_US - 40 * 86_400e6));
  const sent: DigestNotification[] = [];
  const stop = new AbortController();
  const running = createDigests({
    ...{ clock, report: () => {}, queued: () => {}, regions: () => [EU] },
    store: changedStore(store, () => ({
      outbox: {
        async enqueue(notification) {
          if (notification.kind === 'digest') sent.push(notification);
        },
      },
    })),
    config: {
      ...NOTHING_CONFIGURED,
      digests: ['3 7', '1 8'].map((cron) => ({
        ...{ name: cron, cron: `0 7 ${cron} *`, timezone: 'UTC', receiver: 'ops', skipEmpty: false },
        report: { isForEachNest: false, isToMembers: false, isCountsOnly: true },
      })),
    },
  }).run(stop.signal);
  await clock.advance(30 * 86_400_000);
  stop.abort();
  await clock.advance(1);
  await running;
  expect(sent.map((one) => viewOf(one, '').notices)).toEqual([
    [],
    ['Alerts and deadlines are kept from 2 Jul 2026, 07:00 UTC on.'],
  ]);
});

test('one report of all Nests has the figures and texts of the page [long]', async () => {
  const whole = { isForEachNest: false, isToMembers: false, isCountsOnly: false, minutesSaved: 30 };
  const { stage, world } = await reported(whole);
  const [report] = stage.reports;
  const flights = [...world.flights.values()];
  const succeeded = flights.filter(({ ends }) => ends.at(-1)?.status === 'succeeded').length;
  expect(report!.digest.report.tables.month![0]!.figures).toMatchObject({
    ...{ flights: flights.length, failed: flights.length - succeeded },
    hours_of_work_saved: Math.round(succeeded / 2),
  });
  const view = viewOf(report!, 'https://nestwatch.example');
  expect(view.headline).toMatch(/^\d[\d.]* % of 50 Flights succeeded in July 2026$/);
  expect(view.sections!.map(({ title }) => title)).toEqual([
    'In short',
    'Objectives',
    'Worst Nests',
    'Worst Birds',
    'Causes',
  ]);
  expect(view.links).toEqual([
    { text: 'Open the report', url: 'https://nestwatch.example/report?month=2026-07' },
  ]);
});
