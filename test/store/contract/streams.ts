import { describe, expect, test } from 'vitest';
import type { Run } from '../test-store.ts';
import { event, HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

export function describeStreams(run: Run): void {
  describe('streams', () => {
    test('are found again under the same number', async () => {
      const first = await run.streams.open('eu', 'bird_log', '7');
      expect(first).toEqual({
        stream: first.stream,
        region: 'eu',
        feed: 'bird_log',
        birdId: '7',
        cursorUs: 0,
        prunedUs: 0,
      });
      const others = await run(async (tx) => [
        await tx.streams.open('us', 'bird_log', '7'),
        await tx.streams.open('eu', 'flight', '7'),
        await tx.streams.open('eu', 'bird_log', '8'),
        await tx.streams.open('eu', 'notification', ''),
      ]);
      expect(await run.streams.open('eu', 'bird_log', '7')).toEqual(first);
      expect(new Set([first, ...others].map((stream) => stream.stream)).size).toBe(5);
      const ofEu = await run.streams.list('eu');
      expect(ofEu.map((stream) => [stream.feed, stream.birdId])).toEqual([
        ['bird_log', '7'],
        ['flight', '7'],
        ['bird_log', '8'],
        ['notification', ''],
      ]);
    });

    test('store how far they were read back', async () => {
      const { stream } = await run.streams.open('eu', 'flight', '7');
      const other = await run.streams.open('eu', 'flight', '8');
      expect(await run.streams.backfilled(stream)).toBeUndefined();
      await run.streams.putBackfilled(stream, { fromUs: 5, untilUs: 7 });
      await run.streams.putBackfilled(stream, { fromUs: 5, untilUs: NOW_US });
      expect(await run.streams.backfilled(stream)).toEqual({ fromUs: 5, untilUs: NOW_US });
      expect(await run.streams.backfilled(other.stream)).toBeUndefined();
    });

    test('know how many events occurred in each from an instant on', async () => {
      const open = (region: string, birdId: string) => run.streams.open(region, 'flight', birdId);
      const [one, none, us] = [await open('eu', '1'), await open('eu', '2'), await open('us', '1')];
      const came = (id: string, occurredAtUs: number) => ({ ...event(id), occurredAtUs });
      await run.events.insert(one.stream, [came('a', NOW_US - 1), came('b', NOW_US), came('c', NOW_US + 1)]);
      await run.events.insert(us.stream, [came('d', NOW_US)]);
      expect(await run.streams.countEvents('eu', NOW_US)).toEqual([
        { ...one, events: 2 },
        { ...none, events: 0 },
      ]);
    });

    test('move their cursor forward only', async () => {
      const { stream } = await run.streams.open('eu', 'notification', '');
      const cursorUs = async () => (await run.streams.open('eu', 'notification', '')).cursorUs;
      await run.streams.advanceCursor(stream, NOW_US);
      expect(await cursorUs()).toBe(NOW_US);
      await run.streams.advanceCursor(stream, NOW_US - 1);
      expect(await cursorUs()).toBe(NOW_US);
      await run.streams.advanceCursor(stream, NOW_US + 1);
      expect(await cursorUs()).toBe(NOW_US + 1);
    });
  });

  test('store when the streams of a feed were read, for each region', async () => {
    expect(await run.streams.reads('eu')).toEqual([]);
    await run(async (tx) => {
      await tx.streams.putReads('eu', [
        { feed: 'flight', readUs: NOW_US },
        { feed: 'inventory', readUs: NOW_US - 1 },
      ]);
      await tx.streams.putReads('us', [{ feed: 'flight', readUs: 7 }]);
      await tx.streams.putReads('eu', [{ feed: 'flight', readUs: NOW_US + 1 }]);
    });
    expect(await run.streams.reads('eu')).toEqual([
      { feed: 'flight', readUs: NOW_US + 1 },
      { feed: 'inventory', readUs: NOW_US - 1 },
    ]);
  });

  test('a cursor that is too late goes back to the newest entry that is stored', async () => {
    const open = () => run.streams.open('eu', 'notification', '');
    const { stream } = await open();
    const instants = [NOW_US - 2, NOW_US, NOW_US + 9];
    await run(async (tx) => {
      const events = instants.map((occurredAtUs) => event(String(occurredAtUs), { occurredAtUs }));
      await tx.events.insert(stream, events);
      await tx.streams.advanceCursor(stream, NOW_US + 9);
      await tx.streams.retreatCursor(stream, NOW_US + 9);
    });
    expect((await open()).cursorUs).toBe(NOW_US + 9);
    await run.streams.retreatCursor(stream, NOW_US + 8);
    expect((await open()).cursorUs).toBe(NOW_US);
    await run.streams.retreatCursor(stream, NOW_US - 3);
    expect((await open()).cursorUs).toBe(0);
  });

  describe('quarantine', () => {
    test('stores a raw text once per stream and says how many were new', async () => {
      const entry = { raw: '{"id":', reason: 'cut' };
      expect(await run.streams.quarantine(1, [entry, entry, { ...entry, raw: '{}' }], NOW_US)).toBe(2);
      expect(await run.streams.quarantine(1, [{ ...entry, reason: 'again' }], NOW_US + 1)).toBe(0);
      expect(await run.streams.quarantine(2, [entry], NOW_US)).toBe(1);
      expect(await run.streams.quarantine(1, [], NOW_US)).toBe(0);
    });

    test('counts each text of an entry that never stays the same, and again only what it has long forgotten', async () => {
      const entries = (from: number, count: number) =>
        Array.from({ length: count }, (_, index) => ({ raw: `{"took":${from + index}}`, reason: 'no id' }));
      const keep = (stream: number, from: number, count: number) =>
        run.streams.quarantine(stream, entries(from, count), NOW_US + from);
      await keep(2, 0, 1);
      expect(await keep(1, 0, 6000)).toBe(6000);
      expect(await keep(1, 0, 6000)).toBe(0);
      expect(await keep(1, 6000, 6000)).toBe(6000);
      expect(await keep(1, 2000, 10_000)).toBe(0);
      expect(await keep(1, 0, 1)).toBe(1);
      expect(await keep(2, 0, 1)).toBe(0);
    });

    test('distinguishes texts that differ only in half of a surrogate pair', async () => {
      const entries = HOSTILE_TEXTS.map((raw) => ({ raw, reason: raw }));
      expect(await run.streams.quarantine(1, entries, NOW_US)).toBe(HOSTILE_TEXTS.length);
    });
  });
}
