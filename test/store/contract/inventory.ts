import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import type { EventQuery } from '../../../src/store/sql/watched/event-pages.ts';
import {
  type BirdRecord,
  type ListedRecord,
  type NestRecord,
  NO_NEWS_US,
} from '../../../src/store/sql/watched/nests-and-birds.ts';
import type { Run } from '../test-store.ts';
import { event, HOSTILE_TEXTS, NOW_US } from './sample-records.ts';

export function describeInventory(run: Run): void {
  describe('inventory', () => {
    const bird: BirdRecord = {
      region: 'eu',
      birdId: '148890',
      nestId: '682',
      name: 'Translate blog',
      status: 'active',
      triggerType: 'scheduled',
      isPublished: false,
      present: true,
      statusSinceUs: NOW_US,
      hasFirstStatus: true,
      newsSinceUs: NOW_US - 5,
    };

    test('stores since when a region is watched', async () => {
      expect(await run.inventory.knownSince('eu')).toBeUndefined();
      expect(await run.inventory.regionSince('eu', NOW_US)).toBe(NOW_US);
      expect(await run.inventory.regionSince('eu', NOW_US + 5)).toBe(NOW_US);
      expect(await run.inventory.regionSince('us', NOW_US + 5)).toBe(NOW_US + 5);
      expect(await run.inventory.knownSince('eu')).toBe(NOW_US);
      for (const sinceUs of [NOW_US + 1, NOW_US - 1]) {
        await run.inventory.began('eu', sinceUs);
        expect(await run.inventory.knownSince('eu')).toBe(sinceUs);
      }
      expect(await run.inventory.knownSince('us')).toBe(NOW_US + 5);
      expect(await run.inventory.firstStart('eu', NOW_US + 7)).toBe(NOW_US + 7);
      expect(await run.inventory.firstStart('eu', NOW_US + 9)).toBe(NOW_US + 7);
    });

    test('stores the rate that each region accepts', async () => {
      expect(await run.inventory.rate('eu')).toBeUndefined();
      await run.inventory.putRate('eu', { perSecond: 4.25, keptUs: NOW_US });
      await run.inventory.putRate('us', { perSecond: 50, keptUs: NOW_US });
      await run.inventory.putRate('eu', { perSecond: 3.5, keptUs: NOW_US + 1 });
      expect(await run.inventory.rate('eu')).toEqual({ perSecond: 3.5, keptUs: NOW_US + 1 });
    });

    test('stores the members of each Nest', async () => {
      const sales = { region: 'eu', nestId: '1', addresses: ['a@example.com', 'b@example.com'] };
      const docs = { region: 'eu', nestId: '2', addresses: [] };
      const us = { region: 'us', nestId: '1', addresses: ['c@example.com'] };
      await run.inventory.putNestMembers([docs, sales, us]);
      expect(await run.inventory.nestMembers('eu')).toEqual([sales, docs]);
      await run.inventory.putNestMembers([{ ...sales, addresses: ['b@example.com'] }]);
      expect(await run.inventory.nestMembers('eu')).toEqual([
        { ...sales, addresses: ['b@example.com'] },
        docs,
      ]);
    });

    test('keeps what was listed last of each region, and deletes that of which nothing is said', async () => {
      const nest: ListedRecord = { region: 'eu', sort: 'nest', id: '1', said: 'read' };
      const user: ListedRecord = { region: 'eu', sort: 'user', id: '1', said: HOSTILE_TEXTS.join('') };
      await run.inventory.putListed([nest, user, { ...nest, region: 'us' }]);
      expect(await run.inventory.listed('eu')).toEqual([nest, user]);
      const changed = { ...user, said: 'active' };
      await run.inventory.putListed([{ ...nest, said: undefined }, changed]);
      expect(await run.inventory.listed('eu')).toEqual([changed]);
      expect(await run.inventory.listed('us')).toEqual([{ ...nest, region: 'us' }]);
    });

    test('finds the events of the inventory by their Bird, their Nest and their key, each once', async () => {
      const noticed = (id: string, about: Partial<Event>) =>
        event(id, { key: `eu/inventory/${id}`, feed: 'inventory', type: 'inventory.bird_renamed', ...about });
      const ofBird = noticed('a', { nestId: '9', birdId: '70' });
      const ofNest = noticed('b', { nestId: '9', birdId: '' });
      const ofUser = noticed('c', { nestId: '', birdId: '' });
      await run.inventory.putNests([{ region: 'eu', nestId: '9', name: 'N', present: true }]);
      await run.inventory.putBirds([{ ...bird, birdId: '70', nestId: '9' }]);
      const all = [ofBird, ofNest, ofUser];
      expect(await run.events.insertNoticed('eu', all)).toEqual(all);
      expect(await run.events.insertNoticed('eu', all)).toEqual([]);
      const found = async (query: Partial<EventQuery>) =>
        (await run.events.page({ ...query, feed: 'inventory', limit: 10 })).events
          .map(({ key }) => key.at(-1))
          .sort();
      expect(await found({})).toEqual(['a', 'b', 'c']);
      expect(await found({ bird: '70' })).toEqual(['a']);
      expect(await found({ nest: '9' })).toEqual(['a', 'b']);
      expect(await found({ nest: '9', bird: '70' })).toEqual(['a']);
      expect(await found({ nest: '9', region: 'us' })).toEqual([]);
      expect(await run.events.find('eu/inventory/b')).toEqual(ofNest);
      expect(await run.birds.log('eu', '70', 5)).toEqual([ofBird]);
    });

    test('keeps the Nests of each region separate and updates them', async () => {
      const eu: NestRecord = { region: 'eu', nestId: '1', name: 'Marketing', present: true };
      const us: NestRecord = { region: 'us', nestId: '1', name: 'Sales', present: true };
      await run.inventory.putNests([eu, us]);
      await run.inventory.putNests([{ ...eu, name: 'Brand', present: false }]);
      expect(await run.inventory.nests('eu')).toEqual([{ ...eu, name: 'Brand', present: false }]);
      expect(await run.inventory.nests('us')).toEqual([us]);
      expect(await run.inventory.nests('ap')).toEqual([]);
    });

    test('stores Birds completely and updates them', async () => {
      const other = { ...bird, region: 'us' };
      await run.inventory.putBirds([bird, other]);
      const moved = { ...bird, nestId: '7', name: 'Renamed', status: 'a new status', triggerType: 'manual' };
      const { hasFirstStatus: _, newsSinceUs: __, ...seen } = moved;
      const gone = { ...seen, present: false, statusSinceUs: NOW_US + 1 };
      await run.inventory.putBirds([moved, gone]);
      expect(await run.inventory.birds('eu')).toEqual([gone]);
      expect(await run.inventory.birds('us')).toEqual([other]);
      const excluded = { ...other, present: false, newsSinceUs: NO_NEWS_US };
      await run.inventory.putBirds([excluded]);
      expect(await run.inventory.birds('us')).toEqual([excluded]);
    });

    test('keeps ids that differ only a little apart', async () => {
      const birds = HOSTILE_TEXTS.map((text) => ({ ...bird, birdId: text, name: text }));
      await run.inventory.putBirds(birds);
      const stored = await run.inventory.birds('eu');
      expect(new Set(stored.map((one) => one.birdId))).toEqual(new Set(HOSTILE_TEXTS));
      expect(stored.every((one) => one.birdId === one.name)).toBe(true);
    });

    test('accepts empty lists', async () => {
      await run.inventory.putNests([]);
      await run.inventory.putBirds([]);
      expect(await run.inventory.birds('eu')).toEqual([]);
    });
  });
}
