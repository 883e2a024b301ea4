import { describe, expect, test } from 'vitest';
import type { BirdRecord, NestRecord } from '../../../src/store/inventory-store.ts';
import { HOSTILE_TEXTS, NOW_US } from './sample-records.ts';
import type { Run } from './subject.ts';

export function describeInventory(run: Run): void {
  describe('inventory', () => {
    const bird: BirdRecord = {
      region: 'eu',
      birdId: '148890',
      nestId: '682',
      name: 'Translate blog',
      status: 'active',
      triggerType: 'scheduled',
      present: true,
      statusSinceUs: NOW_US,
    };

    test('remembers since when a region is watched', async () => {
      expect(await run((tx) => tx.inventory.knownSince('eu'))).toBeUndefined();
      expect(await run((tx) => tx.inventory.regionSince('eu', NOW_US))).toBe(NOW_US);
      expect(await run((tx) => tx.inventory.regionSince('eu', NOW_US + 5))).toBe(NOW_US);
      expect(await run((tx) => tx.inventory.regionSince('us', NOW_US + 5))).toBe(NOW_US + 5);
      expect(await run((tx) => tx.inventory.knownSince('eu'))).toBe(NOW_US);
    });

    test('keeps the members of each Nest', async () => {
      const sales = { region: 'eu', nestId: '1', addresses: ['a@example.com', 'b@example.com'] };
      const docs = { region: 'eu', nestId: '2', addresses: [] };
      const us = { region: 'us', nestId: '1', addresses: ['c@example.com'] };
      await run((tx) => tx.inventory.putNestMembers([docs, sales, us]));
      expect(await run((tx) => tx.inventory.nestMembers('eu'))).toEqual([sales, docs]);
      await run((tx) => tx.inventory.putNestMembers([{ ...sales, addresses: ['b@example.com'] }]));
      expect(await run((tx) => tx.inventory.nestMembers('eu'))).toEqual([
        { ...sales, addresses: ['b@example.com'] },
        docs,
      ]);
    });

    test('keeps the Nests of each region apart and updates them', async () => {
      const eu: NestRecord = { region: 'eu', nestId: '1', name: 'Marketing', present: true };
      const us: NestRecord = { region: 'us', nestId: '1', name: 'Sales', present: true };
      await run((tx) => tx.inventory.putNests([eu, us]));
      await run((tx) => tx.inventory.putNests([{ ...eu, name: 'Brand', present: false }]));
      expect(await run((tx) => tx.inventory.nests('eu'))).toEqual([{ ...eu, name: 'Brand', present: false }]);
      expect(await run((tx) => tx.inventory.nests('us'))).toEqual([us]);
      expect(await run((tx) => tx.inventory.nests('ap'))).toEqual([]);
    });

    test('keeps Birds whole and updates them', async () => {
      const other = { ...bird, region: 'us' };
      await run((tx) => tx.inventory.putBirds([bird, other]));
      const moved = { ...bird, nestId: '7', name: 'Renamed', status: 'a new status', triggerType: 'manual' };
      const gone = { ...moved, present: false, statusSinceUs: NOW_US + 1 };
      await run((tx) => tx.inventory.putBirds([moved, gone]));
      expect(await run((tx) => tx.inventory.birds('eu'))).toEqual([gone]);
      expect(await run((tx) => tx.inventory.birds('us'))).toEqual([other]);
    });

    test('keeps ids that differ in little apart', async () => {
      const birds = HOSTILE_TEXTS.map((text) => ({ ...bird, birdId: text, name: text }));
      await run((tx) => tx.inventory.putBirds(birds));
      const stored = await run((tx) => tx.inventory.birds('eu'));
      expect(new Set(stored.map((one) => one.birdId))).toEqual(new Set(HOSTILE_TEXTS));
      expect(stored.every((one) => one.birdId === one.name)).toBe(true);
    });

    test('takes empty lists', async () => {
      await run((tx) => tx.inventory.putNests([]));
      await run((tx) => tx.inventory.putBirds([]));
      expect(await run((tx) => tx.inventory.birds('eu'))).toEqual([]);
    });
  });

  describe('streams', () => {
    test('are found again under the same number', async () => {
      const first = await run((tx) => tx.streams.open('eu', 'bird_log', '7'));
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
      expect(await run((tx) => tx.streams.open('eu', 'bird_log', '7'))).toEqual(first);
      expect(new Set([first, ...others].map((stream) => stream.stream)).size).toBe(5);
      const ofEu = await run((tx) => tx.streams.list('eu'));
      expect(ofEu.map((stream) => [stream.feed, stream.birdId])).toEqual([
        ['bird_log', '7'],
        ['flight', '7'],
        ['bird_log', '8'],
        ['notification', ''],
      ]);
    });

    test('move their cursor forward only', async () => {
      const { stream } = await run((tx) => tx.streams.open('eu', 'notification', ''));
      const cursorUs = async () => (await run((tx) => tx.streams.open('eu', 'notification', ''))).cursorUs;
      await run((tx) => tx.streams.advanceCursor(stream, NOW_US));
      expect(await cursorUs()).toBe(NOW_US);
      await run((tx) => tx.streams.advanceCursor(stream, NOW_US - 1));
      expect(await cursorUs()).toBe(NOW_US);
      await run((tx) => tx.streams.advanceCursor(stream, NOW_US + 1));
      expect(await cursorUs()).toBe(NOW_US + 1);
    });
  });

  describe('quarantine', () => {
    test('keeps a raw text once per stream and tells how many were new', async () => {
      const entry = { raw: '{"id":', reason: 'cut' };
      expect(
        await run((tx) => tx.streams.quarantine(1, [entry, entry, { ...entry, raw: '{}' }], NOW_US)),
      ).toBe(2);
      expect(await run((tx) => tx.streams.quarantine(1, [{ ...entry, reason: 'again' }], NOW_US + 1))).toBe(
        0,
      );
      expect(await run((tx) => tx.streams.quarantine(2, [entry], NOW_US))).toBe(1);
      expect(await run((tx) => tx.streams.quarantine(1, [], NOW_US))).toBe(0);
    });

    test('counts each text of an entry that never stays the same, and again only what it has long forgotten', async () => {
      const entries = (from: number, count: number) =>
        Array.from({ length: count }, (_, index) => ({ raw: `{"took":${from + index}}`, reason: 'no id' }));
      const keep = (stream: number, from: number, count: number) =>
        run((tx) => tx.streams.quarantine(stream, entries(from, count), NOW_US + from));
      await keep(2, 0, 1);
      expect(await keep(1, 0, 6000)).toBe(6000);
      expect(await keep(1, 0, 6000)).toBe(0);
      expect(await keep(1, 6000, 6000)).toBe(6000);
      expect(await keep(1, 2000, 10_000)).toBe(0);
      expect(await keep(1, 0, 1)).toBe(1);
      expect(await keep(2, 0, 1)).toBe(0);
    });

    test('tells texts apart that differ only in half of a pair', async () => {
      const entries = HOSTILE_TEXTS.map((raw) => ({ raw, reason: raw }));
      expect(await run((tx) => tx.streams.quarantine(1, entries, NOW_US))).toBe(HOSTILE_TEXTS.length);
    });
  });
}
