import { describe, expect, test } from 'vitest';
import type { BirdQuery, FlightQuery, NestQuery } from '../../../src/store/bird-store.ts';
import type { BirdRecord } from '../../../src/store/sql/watched/nests-and-birds.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { periodsOf } from '../../../src/time/zone-format.ts';
import type { Run } from '../test-store.ts';
import {
  alert,
  event,
  everyPage,
  flight,
  HOSTILE_TEXTS,
  insert,
  links,
  NOW_US,
  nest,
  bird as ofNest,
  SECOND_US,
} from './sample-records.ts';

const HOUR_US = 3600 * SECOND_US;
const REGIONS = ['eu', 'us'];

const bird = (birdId: string, changes: Partial<BirdRecord> = {}) =>
  ofNest(birdId, { nestId: '1', ...changes });

const ofSeverity = (severity: string) => ({ alertname: 'FlightFailed', region: 'eu', severity });

/** An ended Flight of a Bird, with its event, as a poll commits it. */
async function flew(
  tx: Transaction,
  birdId: string,
  flightId: string,
  status: string,
  { startedAtUs = NOW_US, region = 'eu', nestId = '1', message = '', ends = 1 } = {},
): Promise<void> {
  const { stream } = await tx.streams.open(region, 'flight', birdId);
  const endedAtUs = startedAtUs + 60 * SECOND_US;
  const id = `${flightId}/${status}${ends > 1 ? `#${ends}` : ''}`;
  const attributes = { flight_id: flightId, ...(status === 'failed' && { step_id: 'step 3' }) };
  const ended = event(id, {
    ...{ region, feed: 'flight', type: `flight.${status}`, nestId, birdId, message },
    ...{ occurredAtUs: endedAtUs, attributes },
  });
  await tx.events.insert(stream, [ended]);
  await tx.flights.put([flight(flightId, { stream, startedAtUs, status, open: false, ends, endedAtUs })]);
}

async function flies(tx: Transaction, birdId: string, flightId: string, startedAtUs = NOW_US): Promise<void> {
  const { stream } = await tx.streams.open('eu', 'flight', birdId);
  await tx.flights.put([flight(flightId, { stream, startedAtUs })]);
}

export function describeBirds(run: Run): void {
  const page = async (query: Partial<BirdQuery> = {}) =>
    run.birds.page({ regions: REGIONS, limit: 100, ...query });
  const ids = async (query: Partial<BirdQuery> = {}) => (await page(query)).birds.map((one) => one.birdId);
  const flightPage = async (query: Partial<FlightQuery> = {}) =>
    run.birds.flightPage({ regions: REGIONS, limit: 100, ...query });
  const flightIds = async (query: Partial<FlightQuery> = {}) =>
    (await flightPage(query)).flights.map((one) => one.flightId);
  const nests = async (query: Partial<NestQuery> = {}) =>
    run.birds.nestPage({ regions: REGIONS, limit: 100, countedSinceUs: NOW_US - HOUR_US, ...query });

  /**
   * In Marketing, `Blog` had Flights at three instants, and its critical alert is resolved. In Sales, `News` had one
   * Flight, later, and a warning about it fires; `Letters` never had one.
   */
  const flyAndFire = () =>
    run(async (tx) => {
      await tx.inventory.putNests([nest('1', 'Marketing'), nest('2', 'Sales')]);
      await tx.inventory.putBirds([
        bird('10', { name: 'Blog' }),
        bird('20', { name: 'News', nestId: '2' }),
        bird('30', { name: 'Letters', nestId: '2' }),
        bird('40', { name: 'Gone', nestId: '2', present: false }),
      ]);
      await flew(tx, '10', 'f-old', 'succeeded', { startedAtUs: NOW_US - 3 * HOUR_US });
      await flew(tx, '10', 'f-mid', 'succeeded', { startedAtUs: NOW_US - HOUR_US * 2 - 1 });
      await flew(tx, '10', 'f-new', 'succeeded');
      await flew(tx, '20', 'g', 'failed', { startedAtUs: NOW_US + 1, nestId: '2' });
      await tx.alerts.put([
        alert('a', { scope: 'eu/bird/10', labels: ofSeverity('critical'), state: 'resolved' }),
        alert('b', { scope: 'eu/bird/20', labels: ofSeverity('warning') }),
      ]);
    });

  describe('birds for people', () => {
    test('those in trouble come first, then those with the latest Flight', async () => {
      await run(async (tx) => {
        const names = ['well', 'failing', 'off', 'alerting', 'later', 'mended'];
        await tx.inventory.putBirds(names.map((id) => bird(id)));
        await tx.inventory.putBirds([bird('off', { status: 'suspended' }), bird('gone', { present: false })]);
        for (const id of ['failing', 'off', 'alerting']) await flew(tx, id, `f-${id}`, 'failed');
        await flew(tx, 'mended', 'm1', 'failed');
        await flew(tx, 'mended', 'm2', 'succeeded', { startedAtUs: NOW_US + 5 });
        // An active or cancelled Flight says nothing about how the Bird does.
        await flies(tx, 'failing', 'f-next', NOW_US + 9);
        await flew(tx, 'failing', 'f-stopped', 'cancelled', { startedAtUs: NOW_US + 8 });
        await flew(tx, 'later', 'l', 'succeeded', { startedAtUs: NOW_US + 7 });
        await tx.alerts.put([alert('a', { scope: 'eu/bird/alerting' }), alert('b', { scope: 'eu' })]);
      });
      expect(await ids()).toEqual(['alerting', 'failing', 'off', 'later', 'mended', 'well']);
      expect((await page()).birds.map((one) => one.standing)).toEqual([
        ...['alerting', 'failing', 'off', 'well', 'well', 'well'],
      ]);
      expect(await ids({ standing: 'failing' })).toEqual(['failing']);
      expect(await ids({ status: 'suspended' })).toEqual(['off']);
    });

    test('an alert counts while it fires, even one that existed before its Bird', async () => {
      const firing = async () => (await page()).birds.map((one) => one.firing);
      await run.alerts.put([alert('a', { scope: 'eu/bird/x/y' })]);
      await run.inventory.putBirds([bird('x/y')]);
      expect(await firing()).toEqual([1]);
      await run.alerts.put([alert('b', { scope: 'eu/bird/x/y' })]);
      expect(await firing()).toEqual([2]);
      await run.inventory.putBirds([bird('x/y', { name: 'Another' })]);
      await run.alerts.put([alert('a', { scope: 'eu/bird/x/y', state: 'resolved' })]);
      expect(await firing()).toEqual([1]);
      await run.alerts.delete(['b', 'a']);
      expect(await firing()).toEqual([0]);
    });

    test('show their place, their last Flight and how the last ten ended', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Marketing')]);
        await tx.inventory.putBirds([bird('7', { name: 'Translate blog' })]);
        for (let index = 0; index < 12; index += 1) {
          const status = index === 11 ? 'failed' : 'succeeded';
          await flew(tx, '7', `f${index}`, status, { startedAtUs: NOW_US + index });
        }
        // An old one that is found late.
        await flew(tx, '7', 'old', 'succeeded', { startedAtUs: NOW_US - HOUR_US });
      });
      const shown = {
        ...bird('7', { name: 'Translate blog' }),
        nest: 'Marketing',
        standing: 'failing',
        firing: 0,
        last: { flightId: 'f11', startedAtUs: NOW_US + 11, status: 'failed' },
        latest: [...Array(9).fill('succeeded'), 'failed'],
      };
      expect(await page()).toEqual({ birds: [shown] });
      expect(await run.birds.find('eu', '7')).toEqual(shown);
      expect(await run.birds.find('us', '7')).toBeUndefined();
    });

    test('are filtered by region, id, and parts of names in any case', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Übersetzung'), nest('2', 'Sales'), nest('1', 'Sales', 'us')]);
        await tx.inventory.putBirds([
          bird('10', { name: 'Blog posts' }),
          bird('20', { name: '"Quoted" blog', nestId: '2' }),
          bird('30', { name: 'News', region: 'us' }),
        ]);
      });
      expect(await ids({ regions: ['us'] })).toEqual(['30']);
      expect(await ids({ regions: [] })).toEqual([]);
      expect(await ids({ bird: 'BLOG' })).toEqual(['20', '10']);
      expect(await ids({ bird: '"quoted' })).toEqual(['20']);
      expect(await ids({ bird: '10' })).toEqual(['10']);
      expect(await ids({ name: 'posts' })).toEqual(['10']);
      expect(await ids({ nest: 'übersetz' })).toEqual(['10']);
      expect(await ids({ nest: 'sales' })).toEqual(['30', '20']);
      expect(await ids({ nest: '2' })).toEqual(['20']);
      // An id means only that record, even if it also occurs in the names of others.
      await run.inventory.putBirds([
        bird('40', { name: 'Copy of 10 and 4711' }),
        bird('50', { name: '4711' }),
      ]);
      expect(await ids({ bird: '10' })).toEqual(['10']);
      expect(await ids({ bird: '4711' })).toEqual(['50', '40']);
      await run.inventory.putBirds([40, 50].map((id) => bird(String(id), { present: false })));
      expect(await ids({ text: 'sales' })).toEqual(['30', '20']);
      expect(await ids({ text: 'news' })).toEqual(['30']);
      expect(await ids({ text: 'nothing' })).toEqual([]);
    });

    test('are filtered by a Flight, by firing alerts, and by when they had Flights', async () => {
      await flyAndFire();
      expect(await ids({ flight: 'f-old' })).toEqual(['10']);
      expect(await ids({ flight: 'none' })).toEqual([]);
      expect(await ids({ severity: 'warning' })).toEqual(['20']);
      // A resolved alert no longer counts.
      expect(await ids({ severity: 'critical' })).toEqual([]);
      expect(await ids({ sinceUs: NOW_US - HOUR_US })).toEqual(['20', '10']);
      expect(await ids({ sinceUs: NOW_US + 1 })).toEqual(['20']);
      expect(await ids({ untilUs: NOW_US - HOUR_US })).toEqual(['10']);
      expect(await ids({ sinceUs: NOW_US - 2 * HOUR_US, untilUs: NOW_US })).toEqual([]);
      expect(await ids({ sinceUs: NOW_US, untilUs: NOW_US + 1, severity: 'warning' })).toEqual([]);
    });

    test('come in pages that neither repeat nor omit', async () => {
      const all = Array.from({ length: 25 }, (_, index) => bird(String(index)));
      await run.inventory.putBirds(all);
      await run((tx) => flew(tx, '3', 'f', 'failed'));
      const pages = await everyPage((cursor) => page({ limit: 10, cursor }));
      const seen = pages.flatMap(({ birds }) => birds.map((one) => one.birdId));
      expect(seen[0]).toBe('3');
      expect(seen.toSorted()).toEqual(all.map((one) => one.birdId).toSorted());
      for (const cursor of ['x', Buffer.from('[1,2,3,4]').toString('base64url')])
        await expect(page({ cursor })).rejects.toMatchObject({ code: 'usage' });
      const invented = Buffer.from(JSON.stringify([2 ** 40, 0, '', ''])).toString('base64url');
      expect((await page({ limit: 1, cursor: invented })).birds).toHaveLength(1);
    });

    test('may have any name', async () => {
      const named = HOSTILE_TEXTS.map((name, index) => bird(`b${index}`, { name }));
      await run.inventory.putBirds(named);
      const { birds } = await page();
      expect(new Set(birds.map((one) => one.name))).toEqual(new Set(HOSTILE_TEXTS));
      for (const text of HOSTILE_TEXTS.filter((one) => one.isWellFormed() && one !== '')) {
        const found = (await page({ name: text })).birds.map((one) => one.name);
        expect(found, JSON.stringify(text)).toContain(text);
      }
    });
  });

  describe('ends of Flights by half hour', () => {
    const halfUs = HOUR_US / 2;
    const beganUs = Math.floor(NOW_US / HOUR_US) * HOUR_US;
    /** The Flight ends a minute later. */
    const ended = (tx: Transaction, id: string, status: string, startedAtUs: number, nestId = '1') =>
      flew(tx, `b${nestId}`, id, status, { startedAtUs, nestId });

    test('are counted, of all Nests or one, also when they come in several polls', async () => {
      await run(async (tx) => {
        await ended(tx, 'before', 'failed', beganUs - 60 * SECOND_US - 1);
        await ended(tx, 'first', 'succeeded', beganUs - 60 * SECOND_US);
        await ended(tx, 'second', 'failed', beganUs, '2');
        await ended(tx, 'late', 'failed', beganUs + halfUs);
        await ended(tx, 'stopped', 'cancelled', beganUs + halfUs);
      });
      await run((tx) => ended(tx, 'later', 'succeeded', beganUs + HOUR_US - 61 * SECOND_US));
      const ends = (sinceUs: number, nestId?: string, regions = REGIONS) =>
        run.birds.flightEnds({ regions, sinceUs, ...(nestId && { nestId }) });
      const late = { sinceUs: beganUs + halfUs, succeeded: 1, failed: 1 };
      expect(await ends(beganUs)).toEqual([{ sinceUs: beganUs, succeeded: 1, failed: 1 }, late]);
      expect(await ends(beganUs - 1)).toHaveLength(3);
      expect(await ends(beganUs + halfUs)).toEqual([late]);
      expect(await ends(beganUs, '2')).toEqual([{ sinceUs: beganUs, succeeded: 0, failed: 1 }]);
      expect(await ends(beganUs, undefined, ['us'])).toEqual([]);
      const nests = ['2', 'none', '1'].map((nestId) => ({ region: 'eu', nestId }));
      expect(await run.birds.nestEnds([...nests, { region: 'us', nestId: '1' }], beganUs)).toEqual([
        [{ sinceUs: beganUs, succeeded: 0, failed: 1 }],
        [],
        [{ sinceUs: beganUs, succeeded: 1, failed: 0 }, late],
        [],
      ]);
    });

    test.each([
      ['UTC', '2026-07-01'],
      ['Asia/Kolkata', '2026-07-01'],
      ['Europe/Amsterdam', '2026-03-27'],
      ['Europe/Amsterdam', '2026-10-23'],
    ])('are counted by day in %s from %s on, as the half hours say', async (zone, from) => {
      const calendar = periodsOf('1d', zone);
      const days = [calendar.at(Date.parse(`${from}T12:00Z`) * 1000)];
      while (days.length < 5) days.push(calendar.at(days.at(-1)!.untilUs));
      const [beginUs, endUs] = [days[0]!.fromUs, days[4]!.untilUs];
      await run(async (tx) => {
        for (let us = beginUs - HOUR_US, at = 0; us < endUs + HOUR_US; us += halfUs, at += 1)
          await ended(tx, `${at}`, at % 3 === 0 ? 'failed' : 'succeeded', us);
      });
      const halves = await run.birds.flightEnds({ regions: ['eu'], nestId: '1', sinceUs: beginUs - HOUR_US });
      const expected = days.map(({ fromUs, untilUs }) => {
        const own = halves.filter(({ sinceUs }) => sinceUs >= fromUs && sinceUs < untilUs);
        const failed = own.reduce((sum, one) => sum + one.failed, 0);
        return { succeeded: own.length - failed, failed };
      });
      const nest = { region: 'eu', nestId: '1' };
      expect(await run.birds.nestDays(nest, days)).toEqual(expected);
    });

    test('are kept for 90 days, even if events are not', async () => {
      await run(async (tx) => {
        await ended(tx, 'old', 'failed', beganUs - 91 * 24 * HOUR_US);
        await ended(tx, 'kept', 'failed', beganUs - 89 * 24 * HOUR_US);
        await ended(tx, 'new', 'failed', beganUs);
      });
      await run.upkeep.prune(NOW_US, 1000);
      const ends = await run.birds.flightEnds({ regions: REGIONS, sinceUs: 0 });
      expect(ends.map(({ sinceUs }) => (beganUs - sinceUs) / HOUR_US)).toEqual([89 * 24, 0]);
    });
  });

  describe('nests for people', () => {
    test('the worst come first, with how their Flights ended in the last hour', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'B'), nest('2', 'a'), nest('3', 'Failing')]);
        await tx.inventory.putNests([nest('4', 'Empty', 'us'), { ...nest('5', 'Gone'), present: false }]);
        await tx.inventory.putBirds([bird('10'), bird('11', { nestId: '3' }), bird('12', { nestId: '3' })]);
        await tx.inventory.putBirds([bird('13', { nestId: '2', status: 'suspended' })]);
        await flew(tx, '10', 'long ago', 'failed', { startedAtUs: NOW_US - 3 * HOUR_US });
        await flew(tx, '10', 'ok', 'succeeded');
        await flew(tx, '10', 'stopped', 'cancelled', { startedAtUs: NOW_US + 1 });
        await flew(tx, '11', 'f', 'failed', { nestId: '3' });
        await tx.alerts.put([alert('a', { scope: 'eu/bird/11' }), alert('b', { scope: 'eu/bird/11' })]);
        const alertname = 'ConnectionDisconnected';
        const labels = { alertname, severity: 'critical', region: 'eu', nest_id: '1' };
        const lost = { scope: 'eu/entity/connection/7', alertname, labels };
        await tx.alerts.put([alert('c', lost), alert('d', { ...lost, state: 'resolved' })]);
      });
      const zero = { birds: 1, alerting: 0, failing: 0, off: 0, firing: 0, succeeded: 0, failed: 0 };
      expect(await nests()).toEqual({
        nests: [
          {
            ...{ region: 'eu', nestId: '3', nest: 'Failing' },
            ...{ ...zero, birds: 2, alerting: 1, failing: 1, firing: 2, failed: 1 },
          },
          { region: 'eu', nestId: '1', nest: 'B', ...zero, firing: 1, succeeded: 1 },
          { region: 'eu', nestId: '2', nest: 'a', ...zero, off: 1 },
          { region: 'us', nestId: '4', nest: 'Empty', ...zero, birds: 0 },
        ],
      });
      // By half hours, of which none is older than that.
      const since = async (countedSinceUs: number) =>
        (await nests({ countedSinceUs })).nests.map(({ succeeded, failed }) => succeeded + failed);
      expect(await since(NOW_US - 3 * HOUR_US)).toEqual([1, 2, 0, 0]);
      expect(await since(NOW_US - 3 * HOUR_US + 1)).toEqual([1, 1, 0, 0]);
      expect(await since(NOW_US - HOUR_US / 2)).toEqual([1, 1, 0, 0]);
      const names = async (query: Partial<NestQuery>) => (await nests(query)).nests.map((one) => one.nest);
      expect(await names({ regions: ['us'] })).toEqual(['Empty']);
      expect(await names({ nest: 'FAIL' })).toEqual(['Failing']);
      expect(await names({ text: '4' })).toEqual(['Empty']);
      const first = await nests({ limit: 3 });
      expect(await names({ limit: 3, cursor: first.next })).toEqual(['Empty']);
    });

    test('are filtered by their Birds: one Bird must match everything', async () => {
      await flyAndFire();
      const names = async (query: Partial<NestQuery>) => (await nests(query)).nests.map((one) => one.nest);
      expect(await names({ bird: 'blog' })).toEqual(['Marketing']);
      expect(await names({ bird: '20' })).toEqual(['Sales']);
      expect(await names({ bird: 'gone' })).toEqual([]);
      expect(await names({ flight: 'f-old' })).toEqual(['Marketing']);
      expect(await names({ severity: 'warning' })).toEqual(['Sales']);
      expect(await names({ bird: 'blog', severity: 'warning' })).toEqual([]);
      expect(await names({ sinceUs: NOW_US + 1 })).toEqual(['Sales']);
      expect(await names({ untilUs: NOW_US - HOUR_US })).toEqual(['Marketing']);
      const {
        nests: [only],
      } = await nests({ bird: 'news' });
      // The counts are of the whole Nest.
      expect(only).toMatchObject({ birds: 2, firing: 1 });
    });

    test('an event that is read twice counts once', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Marketing')]);
        await flew(tx, '10', 'f', 'failed');
        await flew(tx, '10', 'f', 'failed');
      });
      expect((await nests()).nests[0]).toMatchObject({ failed: 1, succeeded: 0 });
    });
  });

  describe('flights for people', () => {
    test('have their place, and the error of their last end', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Marketing')]);
        await tx.inventory.putBirds([bird('7', { name: 'Blog' })]);
        await flew(tx, '7', 'f', 'failed', { message: 'Provider answered 429', ends: 2 });
        await flies(tx, '7', 'g', NOW_US + 1);
      });
      const place = { region: 'eu', nestId: '1', nest: 'Marketing', birdId: '7', bird: 'Blog' };
      const failed = {
        ...place,
        ...{ flightId: 'f', startedAtUs: NOW_US, endedAtUs: NOW_US + 60 * SECOND_US, status: 'failed' },
        ...{ eventKey: 'eu/flight/f/failed#2', message: 'Provider answered 429', step: 'step 3', scope: '' },
      };
      const active = {
        ...place,
        ...{ flightId: 'g', startedAtUs: NOW_US + 1, endedAtUs: 0, status: 'active' },
        ...{ eventKey: '', message: '', step: '', scope: '' },
      };
      expect(await flightPage()).toEqual({ flights: [active, failed] });
      expect(await run.birds.findFlight('eu', 'f')).toEqual(failed);
      expect(await run.birds.findFlight('us', 'f')).toBeUndefined();
      expect(await run.birds.failures('eu', '7', 5)).toEqual([failed]);
      expect(await run.birds.latestFlights('eu', '7', 5)).toEqual([active, failed]);
      expect(await run.birds.latestFlights('eu', '7', 1)).toEqual([active]);
      expect(await run.birds.latestFlights('eu', '7', 5, NOW_US + 1)).toEqual([failed]);
      expect(await run.birds.latestFlights('eu', '7', 5, NOW_US)).toEqual([]);
      expect(await run.birds.nextFlight('eu', '7', NOW_US)).toEqual(active);
      expect(await run.birds.nextFlight('eu', '7', NOW_US + 1)).toBeUndefined();
      await run((tx) => flew(tx, '7', 'f', 'failed', { message: 'At first', startedAtUs: NOW_US - 1 }));
      const messageOf = async (key: string) => (await run.events.find(key))?.message;
      expect(await messageOf('eu/flight/f/failed#2')).toBe('Provider answered 429');
      expect(await messageOf('eu/flight/f/failed')).toBe('At first');
      expect(await messageOf('us/flight/f/failed')).toBeUndefined();
    });

    test('are filtered, and come in pages that neither repeat nor omit', async () => {
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Marketing'), nest('2', 'Sales')]);
        await tx.inventory.putBirds([bird('7', { name: 'Blog' }), bird('8', { name: 'News', nestId: '2' })]);
        for (let index = 0; index < 6; index += 1) {
          const status = index % 3 === 0 ? 'failed' : 'succeeded';
          const changes = { startedAtUs: NOW_US + index, message: `Error ${index}` };
          await flew(tx, '7', `a${index}`, status, changes);
        }
        await flew(tx, '8', 'b', 'succeeded', { startedAtUs: NOW_US + 2, nestId: '2' });
        await flies(tx, '8', 'c', NOW_US + 3);
        await flew(tx, '9', 'd', 'failed', { startedAtUs: NOW_US - 1, region: 'us' });
      });
      expect(await flightIds()).toEqual(['a5', 'a4', 'c', 'a3', 'b', 'a2', 'a1', 'a0', 'd']);
      expect(await flightIds({ status: 'failed' })).toEqual(['a3', 'a0', 'd']);
      expect(await flightIds({ status: 'failed', bird: 'blog' })).toEqual(['a3', 'a0']);
      expect(await flightIds({ nest: 'sales' })).toEqual(['c', 'b']);
      expect(await flightIds({ regions: ['us'] })).toEqual(['d']);
      expect(await flightIds({ flight: 'b' })).toEqual(['b']);
      expect(await flightIds({ text: 'error 3' })).toEqual(['a3']);
      expect(await flightIds({ sinceUs: NOW_US + 1, untilUs: NOW_US + 3 })).toEqual(['b', 'a2', 'a1']);
      expect(await flightIds({ bird: 'unknown' })).toEqual([]);
      for (const query of [{}, { bird: '7' }, { status: 'succeeded' }]) {
        const pages = await everyPage((cursor) => flightPage({ ...query, limit: 2, cursor }));
        const seen = pages.flatMap(({ flights }) => flights.map((one) => one.flightId));
        expect(seen).toEqual(await flightIds(query));
      }
    });

    test('are found by a GUID in either case, and by any other id exactly', async () => {
      const guid = '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
      await run(async (tx) => {
        await tx.inventory.putNests([nest('1', 'Marketing')]);
        await tx.inventory.putBirds([bird('7', { name: 'Blog' })]);
        await flew(tx, '7', guid, 'failed', {});
        await flew(tx, '7', 'F-1', 'failed', { startedAtUs: NOW_US + 1 });
      });
      for (const [asked, found] of [
        [guid.toUpperCase(), [guid]],
        ['F-1', ['F-1']],
        ['f-1', []],
      ] as const) {
        expect(await flightIds({ flight: asked })).toEqual(found);
        expect((await run.birds.findFlight('eu', asked))?.flightId).toBe(found[0]);
        expect(await ids({ flight: asked })).toEqual(found.map(() => '7'));
        const { events } = await run.events.page({ flight: asked, limit: 9 });
        expect(events).toHaveLength(found.length);
      }
      // As messages show it.
      expect((await run.birds.findFlight('eu', '0190a1b2'))?.flightId).toBe(guid);
      expect(await run.birds.findFlight('eu', '0190a1b3')).toBeUndefined();
    });

    test('are filtered by the severity of an alert that contains their end', async () => {
      await run(async (tx) => {
        await tx.inventory.putBirds([bird('7')]);
        for (const id of ['f', 'g', 'h']) await flew(tx, '7', id, 'failed');
        await tx.alerts.put([
          alert('a', { scope: 'eu/bird/7', labels: ofSeverity('critical') }),
          alert('b', { scope: 'eu/bird/7', labels: ofSeverity('warning'), state: 'resolved' }),
        ]);
        await tx.alerts.linkEvents(links('a', [(await tx.events.find('eu/flight/f/failed'))!]));
        await tx.alerts.linkEvents(links('b', [(await tx.events.find('eu/flight/g/failed'))!]));
      });
      expect(await flightIds({ severity: 'critical' })).toEqual(['f']);
      expect(await flightIds({ severity: 'warning', bird: '7' })).toEqual(['g']);
      expect(await flightIds({ severity: 'info' })).toEqual([]);
    });

    test.each([
      ['of all Birds', {}],
      ['of one Bird', { bird: '7' }],
    ])('a text is searched in a limited number of bytes at once: %s', async (_, asked) => {
      await run(async (tx) => {
        await tx.inventory.putBirds([bird('7', { name: 'Blog' })]);
        for (let index = 0; index < 400; index += 1) {
          const message = `${'x'.repeat(32_000)}${index === 0 ? 'needle' : ''}`;
          await flew(tx, '7', `a${index}`, 'failed', { startedAtUs: NOW_US + index, message });
        }
      });
      const query = { ...asked, text: 'needle', limit: 10 };
      const pages = await everyPage((cursor) => flightPage({ ...query, cursor }));
      expect(pages.flatMap(({ flights }) => flights.map((one) => one.flightId))).toEqual(['a0']);
      expect(pages.length).toBeGreaterThan(1);
    });

    test('are counted by how they ended since several instants', async () => {
      await run(async (tx) => {
        for (const [index, status] of ['failed', 'succeeded', 'succeeded', 'cancelled'].entries()) {
          await flew(tx, '7', `f${index}`, status, { startedAtUs: NOW_US - index * HOUR_US });
        }
        await flies(tx, '7', 'active');
        // It counts at the time of its end, however long it took.
        const { stream } = await tx.streams.open('eu', 'flight', '7');
        const long = { stream, startedAtUs: NOW_US - 100 * HOUR_US, endedAtUs: NOW_US };
        await tx.flights.put([flight('long', { ...long, status: 'failed', open: false, ends: 1 })]);
      });
      const none = { succeeded: 0, failed: 0, cancelled: 0 };
      expect(await run.birds.countFlights('eu', '7', [NOW_US + HOUR_US, NOW_US - HOUR_US, 0])).toEqual([
        { sinceUs: NOW_US + HOUR_US, ...none },
        { sinceUs: NOW_US - HOUR_US, succeeded: 1, failed: 2, cancelled: 0 },
        { sinceUs: 0, succeeded: 2, failed: 2, cancelled: 1 },
      ]);
      expect(await run.birds.countFlights('eu', 'none', [0])).toEqual([{ sinceUs: 0, ...none }]);
    });

    test("a Bird's own log is separate, the newest first", async () => {
      const entry = (id: string, type: string, occurredAtUs: number) =>
        event(id, { feed: 'bird_log', type: `bird_log.${type}`, birdId: '7', occurredAtUs });
      const [off, saved] = [entry('1', 'Suspended', NOW_US), entry('2', 'Saved', NOW_US + 1)];
      await run(async (tx) => {
        await insert(tx, [off, saved], '7');
        await flew(tx, '7', 'f', 'failed');
      });
      expect(await run.birds.log('eu', '7', 10)).toEqual([saved, off]);
      expect(await run.birds.log('eu', '7', 1)).toEqual([saved]);
      const types = ['bird_log.Suspended', 'bird_log.Deactivated'];
      expect(await run.birds.lastOfTypes('eu', '7', types)).toEqual(off);
      expect(await run.birds.lastOfTypes('us', '7', types)).toBeUndefined();
    });
  });
}
