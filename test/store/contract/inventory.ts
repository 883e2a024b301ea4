import { describe, expect, test } from 'vitest';
import { type BirdRecord, type NestRecord, NO_NEWS_US } from '../../../src/store/inventory-store.ts';
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
      hasFirstStatus: true,
      newsSinceUs: NOW_US - 5,
    };

    test('stores since when a region is watched', async () => {
      expect(await run((tx) => tx.inventory.knownSince('eu'))).toBeUndefined();
      expect(await run((tx) => tx.inventory.regionSince('eu', NOW_US))).toBe(NOW_US);
      expect(await run((tx) => tx.inventory.regionSince('eu', NOW_US + 5))).toBe(NOW_US);
      expect(await run((tx) => tx.inventory.regionSince('us', NOW_US + 5))).toBe(NOW_US + 5);
      expect(await run((tx) => tx.inventory.knownSince('eu'))).toBe(NOW_US);
      for (const sinceUs of [NOW_US + 1, NOW_US - 1]) {
        await run((tx) => tx.inventory.began('eu', sinceUs));
        expect(await run((tx) => tx.inventory.knownSince('eu'))).toBe(sinceUs);
      }
      expect(await run((tx) => tx.inventory.knownSince('us'))).toBe(NOW_US + 5);
      expect(await run((tx) => tx.inventory.firstStart('eu', NOW_US + 7))).toBe(NOW_US + 7);
      expect(await run((tx) => tx.inventory.firstStart('eu', NOW_US + 9))).toBe(NOW_US + 7);
    });

    test('stores the rate that each region accepts', async () => {
      expect(await run((tx) => tx.inventory.rate('eu'))).toBeUndefined();
      await run((tx) => tx.inventory.putRate('eu', { perSecond: 4.25, keptUs: NOW_US }));
      await run((tx) => tx.inventory.putRate('us', { perSecond: 50, keptUs: NOW_US }));
      await run((tx) => tx.inventory.putRate('eu', { perSecond: 3.5, keptUs: NOW_US + 1 }));
      expect(await run((tx) => tx.inventory.rate('eu'))).toEqual({ perSecond: 3.5, keptUs: NOW_US + 1 });
    });

    test('stores the members of each Nest', async () => {
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

    test('keeps the Nests of each region separate and updates them', async () => {
      const eu: NestRecord = { region: 'eu', nestId: '1', name: 'Marketing', present: true };
      const us: NestRecord = { region: 'us', nestId: '1', name: 'Sales', present: true };
      await run((tx) => tx.inventory.putNests([eu, us]));
      await run((tx) => tx.inventory.putNests([{ ...eu, name: 'Brand', present: false }]));
      expect(await run((tx) => tx.inventory.nests('eu'))).toEqual([{ ...eu, name: 'Brand', present: false }]);
      expect(await run((tx) => tx.inventory.nests('us'))).toEqual([us]);
      expect(await run((tx) => tx.inventory.nests('ap'))).toEqual([]);
    });

    test('stores Birds completely and updates them', async () => {
      const other = { ...bird, region: 'us' };
      await run((tx) => tx.inventory.putBirds([bird, other]));
      const moved = { ...bird, nestId: '7', name: 'Renamed', status: 'a new status', triggerType: 'manual' };
      const { hasFirstStatus: _, newsSinceUs: __, ...seen } = moved;
      const gone = { ...seen, present: false, statusSinceUs: NOW_US + 1 };
      await run((tx) => tx.inventory.putBirds([moved, gone]));
      expect(await run((tx) => tx.inventory.birds('eu'))).toEqual([gone]);
      expect(await run((tx) => tx.inventory.birds('us'))).toEqual([other]);
      const excluded = { ...other, present: false, newsSinceUs: NO_NEWS_US };
      await run((tx) => tx.inventory.putBirds([excluded]));
      expect(await run((tx) => tx.inventory.birds('us'))).toEqual([excluded]);
    });

    test('keeps ids that differ only a little apart', async () => {
      const birds = HOSTILE_TEXTS.map((text) => ({ ...bird, birdId: text, name: text }));
      await run((tx) => tx.inventory.putBirds(birds));
      const stored = await run((tx) => tx.inventory.birds('eu'));
      expect(new Set(stored.map((one) => one.birdId))).toEqual(new Set(HOSTILE_TEXTS));
      expect(stored.every((one) => one.birdId === one.name)).toBe(true);
    });

    test('accepts empty lists', async () => {
      await run((tx) => tx.inventory.putNests([]));
      await run((tx) => tx.inventory.putBirds([]));
      expect(await run((tx) => tx.inventory.birds('eu'))).toEqual([]);
    });
  });
}
