import { beforeAll, describe, expect, test } from 'vitest';
import { flushGroups } from '../../src/alerting/flush-groups.ts';
import { joinGroups } from '../../src/alerting/join-groups.ts';
import { createDigests } from '../../src/alerting/send-digests.ts';
import { createMatcher, type Matcher } from '../../src/domain/matchers/matcher.ts';
import { createRecurrences, type Silence } from '../../src/domain/muting/silence.ts';
import { createSilenceEditor } from '../../src/operator/act-on-alerts.ts';
import { readAlertRecord } from '../../src/operator/alert-record.ts';
import { explain } from '../../src/operator/explain.ts';
import { silencesThatMeet } from '../../src/operator/find-silences.ts';
import { countFiring, readAlerts, readRoutedAlerts } from '../../src/operator/read-alerts.ts';
import type { Happening } from '../../src/report.ts';
import { loadMuting } from '../../src/store/load-muting.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { readEntries } from '../../src/web/pages/alerts/alerts-page.ts';
import { readPageView } from '../../src/web/pages/overview.ts';
import { NOTHING_CONFIGURED } from '../alerting/desk.ts';
import { changed, countInARow } from '../store/changed-transaction.ts';
import { silence } from '../store/contract/sample-records.ts';
import { openMemory } from '../store/test-store.ts';
import { createVirtualClock } from '../virtual-clock.ts';
import { anAlert, anAlertingConfig, anEvent, aStatus, NOW_US, putEvents } from '../web/sample.ts';

const HOUR = 3_600_000_000;
const ALERTS = 1_000;
/** The most comparisons of a text with an instruction, or with a text, between two turns of the event loop. */
const MOST_WORK = 5_000;
/** Expressions of a thousand instructions, almost as many as all silences together may have. */
const LARGE = 50;
/** This many of them may begin while other work was done, or exceed `MOST_WORK` by one. */
const MOST_LARGE = 2 * 6;

const recurrences = createRecurrences();
const base = anAlertingConfig();
const config = (groupBy: readonly string[]) => ({
  ...base,
  route: { ...base.route, groupWaitMs: 0, groupBy, routes: [] },
  regions: [{ name: 'eu' }],
});

/** A store with firing alerts of one Flight each, in one group or each in its own. */
async function openAlerts(groupBy: readonly string[]): Promise<Store> {
  const store = await openSqliteStore({ path: ':memory:', clock: createVirtualClock() });
  const event = anEvent({ id: 'f1/failed' });
  await putEvents(store, [event]);
  await store.transaction(async (tx) => {
    const { stream } = await tx.streams.open('eu', 'flight', event.birdId);
    const startedAtUs = event.occurredAtUs - HOUR;
    const ended = { open: false, ends: 1, status: 'failed', endedAtUs: event.occurredAtUs } as const;
    await tx.flights.put([{ stream, flightId: 'f1', startedAtUs, ...ended }]);
    const alerts = Array.from({ length: ALERTS }, (_, at) =>
      anAlert({
        id: `a${at}`,
        labels: { alertname: 'FlightFailed', severity: 'critical', region: 'eu', bird: `Bird ${at}` },
        eventsTotal: 1,
        lastSeq: 1,
      }),
    );
    await tx.alerts.put(alerts);
    await tx.alerts.linkEvents(alerts.map(({ id }) => ({ alertId: id, seq: 1, event })));
    for (let done = 0; done < ALERTS; done += 200) {
      await joinGroups(tx, config(groupBy), () => HOUR, new Map(), NOW_US);
    }
  });
  return store;
}

/**
 * Runs work with silences that match nothing. Resolves to how often they were compared, or their expressions looked
 * up (which compiles them the first time), and to the most of that between two pauses.
 */
async function comparisonsInARow(
  store: Store,
  silences: readonly Silence[],
  work: (tx: Transaction) => Promise<unknown>,
): Promise<{ readonly most: number; readonly all: number }> {
  const { count, pause, done } = countInARow();
  const counted = (matcher: Matcher): Matcher => ({
    ...matcher,
    get value() {
      count();
      return matcher.value;
    },
    matches() {
      count();
      return false;
    },
  });
  const present = silences.map((one) => ({ ...one, matchers: one.matchers.map(counted) }));
  const list = async () => present;
  await store.transaction((tx) => work({ ...changed(tx, { silences: { list } }), pause }));
  return done;
}

function silencesOf(count: number, op: '=' | '=~', value: string): Silence[] {
  const always = { startsAtUs: NOW_US - HOUR, endsAtUs: NOW_US + HOUR, updatedAtUs: NOW_US - HOUR };
  return Array.from({ length: count }, (_, at) =>
    silence(`s${at}`, { matchers: [createMatcher('bird', op, value)], ...always }),
  );
}

const muting = (tx: Transaction) => loadMuting(tx, base, recurrences, NOW_US);
const page = { order: 'newest', nowUs: NOW_US, limit: ALERTS } as const;
const flushed = (groupBy: readonly string[]) => (tx: Transaction) =>
  flushGroups(tx, config(groupBy), recurrences, { everyGroup: true, growth: new Map() }, NOW_US);

const ASKING: Readonly<Record<string, (tx: Transaction) => Promise<unknown>>> = {
  'all that fire are routed': async (tx) => readRoutedAlerts(tx, await muting(tx), base),
  'those that wait for a person are counted': async (tx) => countFiring(tx, await muting(tx), NOW_US),
  'a page of alerts is read': async (tx) => readAlerts(tx, await muting(tx), page),
  'a page of silenced alerts is read': async (tx) => readAlerts(tx, await muting(tx), page, true),
  async 'the causes of alerts are read'(tx) {
    const { alerts } = await tx.alerts.page(page);
    const causes = alerts.map((alert) => ({
      ...{ alertname: 'FlightFailed', severity: 'critical', cause: alert.id },
      ...{ isAcknowledged: false, region: 'eu', nestId: undefined },
      ...{ alerts: 1, firstStartsAtUs: NOW_US, lastStartsAtUs: NOW_US, latest: [alert] },
    }));
    const ofCauses = changed(tx, { alerts: { causes: async () => ({ causes }) } });
    const asked = { ...page, order: 'severest', state: 'firing', isSilenced: undefined } as const;
    const { items } = await readEntries(ofCauses, await muting(tx), asked);
    expect(items).toHaveLength(ALERTS);
  },
  'the silences of a Flight are looked for': async (tx) =>
    silencesThatMeet(tx, await muting(tx), [], { flight: 'f1' }, NOW_US),
  'the first page is read': (tx) =>
    readPageView(
      { nowUs: NOW_US, isLive: false, isOpen: false, status: aStatus(), impairments: [] },
      { store: storeOf(tx), alerting: base, muting },
    ),
  async 'a digest is made'(tx) {
    const clock = createVirtualClock();
    const daily = { name: 'd', cron: '* * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false };
    const reported: Happening[] = [];
    const digests = createDigests({
      store: storeOf(tx),
      config: { ...NOTHING_CONFIGURED, digests: [daily] },
      clock,
      report: (one) => reported.push(one),
      queued: () => {},
      regions: () => [],
    });
    const stop = new AbortController();
    const ended = digests.run(stop.signal);
    await clock.advance(60_000);
    stop.abort();
    await ended;
    expect(reported).toMatchObject([{ what: 'notified', alerts: ALERTS }]);
  },
};

/** A store all of whose transactions are this one. */
function storeOf(tx: Transaction): Store {
  return { transaction: (work) => work(tx), space: () => undefined, close: async () => {} };
}

describe('a long transaction lets other work continue among many silences', () => {
  let together: Store;
  let apart: Store;
  beforeAll(async () => {
    together = await openAlerts(['alertname']);
    apart = await openAlerts(['bird']);
  });

  const flushes = [
    ['one group of all alerts is flushed', () => together, flushed(['alertname'])],
    ['a group for each alert is flushed', () => apart, flushed(['bird'])],
  ] as const;
  const asked = Object.entries(ASKING).map(([name, work]) => [name, () => together, work] as const);

  test.each([...asked, ...flushes])('when %s [long]', async (_, store, work) => {
    const some = await comparisonsInARow(store(), silencesOf(100, '=', 'x'), rolledBack(work));
    // Each of the alerts was compared with each silence.
    expect(some.all).toBeGreaterThanOrEqual(100 * 100);
    expect(some.most).toBeLessThanOrEqual(MOST_WORK);
    const medium = await comparisonsInARow(store(), silencesOf(4, '=~', 'a{990}'), rolledBack(work));
    expect(medium.all).toBeGreaterThanOrEqual(100 * 4);
    expect(medium.most).toBeLessThanOrEqual(MOST_LARGE);
    const large = await comparisonsInARow(store(), silencesOf(LARGE, '=~', 'a{990}'), rolledBack(work));
    expect(large.all).toBeGreaterThanOrEqual(100 * LARGE);
    expect(large.most).toBeLessThanOrEqual(MOST_LARGE);
  });
});

test.each<[string, (tx: Transaction) => Promise<unknown>]>([
  ['an alert', async (tx) => readAlertRecord(tx, 'a0', base, await muting(tx))],
  ['an event', async (tx) => explain(tx, 'eu/flight/f1/failed', base, await muting(tx), NOW_US)],
])('everything known about %s is read among many silences', async (_, work) => {
  const store = await openAlerts(['alertname']);
  const { most, all } = await comparisonsInARow(store, silencesOf(LARGE, '=~', 'a{990}'), work);
  expect(all).toBeGreaterThanOrEqual(2 * LARGE);
  expect(most).toBeLessThanOrEqual(MOST_LARGE);
});

/** The same, rolled back afterwards. */
function rolledBack(work: (tx: Transaction) => Promise<unknown>) {
  return async (tx: Transaction) => {
    const undone = new Error('undone');
    const { ok, error } = (await tx.attempt(async () => {
      await work(tx);
      throw undone;
    })) as { ok: boolean; error?: unknown };
    expect([ok, error]).toEqual([false, undone]);
  };
}

test('other work continues while the expressions are compiled beside which a silence is to be created', async () => {
  const store = await openMemory();
  let pauses = 0;
  const made = await store.transaction(async (tx) => {
    const silences = silencesOf(LARGE - 1, '=~', 'a{990}');
    await tx.silences.put(silences);
    const counting = {
      ...tx,
      async pause() {
        pauses += 1;
      },
    };
    const editor = createSilenceEditor({
      ...{ store: storeOf(counting), clock: createVirtualClock(), recurrences },
      ...{ newId: () => 'new', changed: () => {}, report: () => {} },
    });
    const [{ matchers }] = silencesOf(1, '=', 'x') as [Silence];
    return editor.set({ matchers, endsAtUs: NOW_US + HOUR, createdBy: 'ann', comment: '' });
  });
  expect(made).toMatchObject({ ok: true, id: 'new' });
  expect(pauses).toBeGreaterThanOrEqual(Math.floor((2 * LARGE) / MOST_LARGE));
});

test('a long transaction lets other work continue while it reads what may inhibit others [long]', async () => {
  const store = await openAlerts(['alertname']);
  const { count, pause, done } = countInARow();
  const counting: Matcher = {
    ...createMatcher('severity', '=', 'critical'),
    matches() {
      count();
      return true;
    },
  };
  const rule = { sourceMatchers: [counting], targetMatchers: [counting], equal: ['region'] };
  const rules = { ...base, inhibitRules: Array.from({ length: 50 }, () => rule) };
  await store.transaction((tx) => loadMuting({ ...tx, pause }, rules, recurrences, NOW_US));
  expect(done.most).toBeGreaterThan(0);
  expect(done.most).toBeLessThanOrEqual(MOST_WORK);
});
