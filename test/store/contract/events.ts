import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Event, shortId } from '../../../src/domain/alert/event.ts';
import type { EventQuery } from '../../../src/store/sql/watched/event-pages.ts';
import { parseInstant } from '../../../src/time/instant.ts';
import { anyCharacter } from '../../any-character.ts';
import type { Run } from '../test-store.ts';
import {
  alert,
  bird,
  event,
  everyPage,
  flight,
  HOSTILE_TEXTS,
  links,
  NOW_US,
  nest,
  insert as put,
  SECOND_US,
} from './sample-records.ts';

export function describeEvents(run: Run): void {
  const streamOf = async (region = 'eu', feed: Event['feed'] = 'notification', birdId = '') =>
    (await run.streams.open(region, feed, birdId)).stream;
  const insert = async (events: readonly Event[], stream?: number) => {
    const into = stream ?? (await streamOf());
    return run.events.insert(into, events);
  };
  const ids = (events: readonly Event[]) => events.map((one) => one.key.split('/').slice(2).join('/'));

  /** Reads all pages. */
  async function walk(query: EventQuery): Promise<Event[]> {
    const pages = await everyPage((cursor) => run.events.page({ ...query, cursor }));
    for (const { events, next } of pages) {
      if (next === undefined) expect(events.length).toBeLessThanOrEqual(query.limit);
      else expect(events).toHaveLength(query.limit);
    }
    return pages.flatMap(({ events }) => events);
  }

  describe('inserting events', () => {
    test('returns them as they were given, in their order, and stores them completely', async () => {
      const events = [
        event('b', { occurredAtUs: NOW_US + 1, occurredAt: '2026-07-02T12:00:00.0000014Z' }),
        event('a', { nestId: '', nest: '', birdId: '', bird: '', message: '', attributes: {} }),
      ];
      expect(await insert(events)).toEqual(events);
      expect(await run.events.find('eu/notification/b')).toEqual(events[0]);
      expect(await run.events.find('eu/notification/a')).toEqual(events[1]);
    });

    test('keeps the instant as the service wrote it, with every digit', async () => {
      const texts = ['', '.5', '.590', '.590833', '.5908334', '.590833412'];
      const events = texts.map((digits, index) => {
        const { us, text } = parseInstant(`2026-07-02T12:00:0${index}${digits}Z`)!;
        return event(`e${index}`, { occurredAtUs: us, occurredAt: text });
      });
      await insert(events);
      expect(await run.events.page({ limit: 10 })).toEqual({ events: events.toReversed() });
    });

    test('accepts an event once, whether it comes again or twice in one call', async () => {
      const stream = await streamOf();
      const [a, b, c] = [event('a'), event('b'), event('c', { occurredAtUs: NOW_US + 1 })];
      const again = { ...a!, message: 'seen again' };
      expect(ids(await insert([a!, b!, again, b!], stream))).toEqual(['a', 'b']);
      expect(ids(await insert([again, c!, c!, b!], stream))).toEqual(['c']);
      expect(await insert([a!, b!, c!], stream)).toEqual([]);
      expect((await run.events.find(a!.key))?.message).toBe(a!.message);
      expect(await run.events.count(stream, 0, NOW_US * 2)).toBe(3);
    });

    test('accepts the same id at another instant as another event', async () => {
      expect(await insert([event('a'), event('a', { occurredAtUs: NOW_US + 1 })])).toHaveLength(2);
    });

    test('accepts the same id in another stream as another event', async () => {
      const other = await streamOf('eu', 'bird_log', '1');
      await insert([event('a')]);
      expect(await insert([event('a', { feed: 'bird_log', birdId: '1' })], other)).toHaveLength(1);
      expect(await insert([event('a', { feed: 'bird_log', birdId: '1' })], other)).toHaveLength(0);
    });

    test('accepts none and a thousand', async () => {
      const stream = await streamOf();
      expect(await insert([], stream)).toEqual([]);
      const many = Array.from({ length: 1000 }, (_, index) =>
        event(`e${index}`, { occurredAtUs: NOW_US + (index % 7) }),
      );
      expect(await insert(many.slice(0, 333), stream)).toHaveLength(333);
      expect(await insert(many, stream)).toEqual(many.slice(333));
      expect(await run.events.count(stream, NOW_US, NOW_US + 7)).toBe(1000);
    });

    test('keeps every text exactly, also in ids', async () => {
      const events = HOSTILE_TEXTS.map((text) =>
        event(text, { message: text, nest: text, bird: text, attributes: { [text]: text, n: 1.5, b: true } }),
      );
      expect(await insert(events)).toEqual(events);
      expect(await insert(events)).toEqual([]);
      for (const one of events) expect(await run.events.find(one.key)).toEqual(one);
      const stored = await walk({ limit: 2 });
      expect(new Set(stored.map((one) => one.key))).toEqual(new Set(events.map((one) => one.key)));
    });
  });

  describe('one stream', () => {
    test('returns its ids from an instant on, the oldest first', async () => {
      const stream = await streamOf();
      const other = await streamOf('us');
      await insert(
        [event('c', { occurredAtUs: NOW_US + 2 }), event('a'), event('b', { occurredAtUs: NOW_US + 1 })],
        stream,
      );
      await insert([event('x', { region: 'us', occurredAtUs: NOW_US + 1 })], other);
      expect(await run.events.ids(stream, NOW_US + 1)).toEqual([
        { id: 'b', occurredAtUs: NOW_US + 1 },
        { id: 'c', occurredAtUs: NOW_US + 2 },
      ]);
      expect(await run.events.ids(stream, NOW_US + 3)).toEqual([]);
    });

    test('knows its ids, whenever they occurred and whatever they look like', async () => {
      const stream = await streamOf();
      const other = await streamOf('us');
      await insert(
        HOSTILE_TEXTS.map((id, at) => event(id, { occurredAtUs: NOW_US - at * 3_600 * SECOND_US })),
        stream,
      );
      await insert([event('x', { region: 'us' })], other);
      expect(await run.events.knownIds(stream, [...HOSTILE_TEXTS, 'x', 'none'])).toEqual(
        new Set(HOSTILE_TEXTS),
      );
      expect(await run.events.knownIds(stream, [])).toEqual(new Set());
      expect(await run.events.knownIds(other, ['x'])).toEqual(new Set(['x']));
    });

    test('counts from the first instant up to, but not including, the last', async () => {
      const stream = await streamOf();
      await insert(
        [0, 1, 2, 3].map((us) => event(`e${us}`, { occurredAtUs: NOW_US + us })),
        stream,
      );
      const count = (from: number, to: number) => run.events.count(stream, NOW_US + from, NOW_US + to);
      expect(await count(1, 3)).toBe(2);
      expect(await count(0, 4)).toBe(4);
      expect(await count(2, 2)).toBe(0);
      expect(await run.events.count(stream + 1, 0, NOW_US * 2)).toBe(0);
    });
  });

  describe('finding one event', () => {
    test('works by its key, whatever its id looks like', async () => {
      const uuid = (us: number, tail: string) => {
        const hex = Math.floor(us / 1000)
          .toString(16)
          .padStart(12, '0');
        return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-${tail.padStart(12, '0')}`;
      };
      const truthful = event(uuid(NOW_US, '1'), { occurredAtUs: NOW_US + 417 });
      const lying = event(uuid(NOW_US - 9_000 * SECOND_US, '2'));
      const opaque = event('opaque/with/slashes');
      await insert([truthful, lying, opaque]);
      for (const one of [truthful, lying, opaque]) expect(await run.events.find(one.key)).toEqual(one);
    });

    test('keeps feeds and regions separate', async () => {
      const flights = await streamOf('eu', 'flight', '9');
      const end = event('5f0c/failed', { feed: 'flight', type: 'flight.failed' });
      const second = event('5f0c/failed#2', { feed: 'flight', type: 'flight.failed' });
      await insert([end, second], flights);
      await insert([event('5f0c/failed', { region: 'us' })], await streamOf('us'));
      for (const region of ['eu', 'us']) await streamOf(region);
      await streamOf('us', 'flight', '9');
      expect(await run.events.find('eu/flight/5f0c/failed')).toEqual(end);
      expect(await run.events.find('eu/flight/5f0c/failed#2')).toEqual(second);
      expect((await run.events.find('us/notification/5f0c/failed'))?.region).toBe('us');
      const unknown = ['us/flight/5f0c/failed', 'eu/notification/5f0c/failed', 'eu/flight/5f0c'];
      for (const key of [...unknown, 'eu', '', '//']) expect(await run.events.find(key)).toBeUndefined();
    });
  });

  describe('listing events', () => {
    test('returns the newest first and pages through ties in time without loss or repetition', async () => {
      const notifications = await streamOf();
      const logs = await streamOf('eu', 'bird_log', '1');
      const tied = Array.from({ length: 12 }, (_, index) => event(`t${index}`));
      await insert([event('old', { occurredAtUs: NOW_US - 1 }), ...tied], notifications);
      await insert(
        [event('t3', { feed: 'bird_log' }), event('new', { feed: 'bird_log', occurredAtUs: NOW_US + 1 })],
        logs,
      );
      const all = await walk({ limit: 5 });
      expect(all).toHaveLength(15);
      expect(new Set(all.map((one) => one.key)).size).toBe(15);
      expect(all[0]?.key).toBe('eu/bird_log/new');
      expect(all.at(-1)?.key).toBe('eu/notification/old');
      expect(await walk({ limit: 1 })).toEqual(all);
      expect(await walk({ limit: 1000 })).toEqual(all);
    });

    test('stays consistent for a reader while events arrive', async () => {
      await insert([1, 2, 3, 4].map((us) => event(`e${us}`, { occurredAtUs: NOW_US + us })));
      const first = await run.events.page({ limit: 2 });
      await insert([event('newer', { occurredAtUs: NOW_US + 9 })]);
      const second = await run.events.page({ limit: 2, cursor: first.next });
      expect(ids([...first.events, ...second.events])).toEqual(['e4', 'e3', 'e2', 'e1']);
      expect(second.next).toBeUndefined();
    });

    test('filters by region, feed, type and time', async () => {
      await insert([event('n1'), event('n2', { type: 'notification.New', occurredAtUs: NOW_US + 2 })]);
      await insert(
        [event('l1', { feed: 'bird_log', type: 'bird_log.Saved', occurredAtUs: NOW_US + 1 })],
        await streamOf('eu', 'bird_log', '1'),
      );
      await insert([event('u1', { region: 'us', occurredAtUs: NOW_US + 3 })], await streamOf('us'));
      const list = async (query: Partial<EventQuery>) => ids(await walk({ limit: 1, ...query }));
      const inside = { sinceUs: NOW_US + 1, untilUs: NOW_US + 3 };
      expect(await list({})).toEqual(['u1', 'n2', 'l1', 'n1']);
      expect(await list({ region: 'eu' })).toEqual(['n2', 'l1', 'n1']);
      expect(await list({ feed: 'notification' })).toEqual(['u1', 'n2', 'n1']);
      expect(await list({ region: 'eu', feed: 'notification' })).toEqual(['n2', 'n1']);
      expect(await list({ type: 'notification.New' })).toEqual(['n2']);
      expect(await list({ sinceUs: NOW_US + 1 })).toEqual(['u1', 'n2', 'l1']);
      expect(await list({ untilUs: NOW_US + 2 })).toEqual(['l1', 'n1']);
      expect(await list({ ...inside, region: 'eu', type: 'bird_log.Saved' })).toEqual(['l1']);
      expect(await list({ region: 'ap' })).toEqual([]);
      expect(await list({ region: undefined, type: undefined })).toHaveLength(4);
    });

    test('looks at a limited number, so that nothing else waits for long, and says where to continue [long]', async () => {
      await insert([event('rare', { type: 'notification.Rare', occurredAtUs: NOW_US - 1 })]);
      for (let from = 0; from < 50_010; from += 5_001) {
        const some = Array.from({ length: 5_001 }, (_, at) =>
          event(`e${from + at}`, { occurredAtUs: NOW_US + from + at }),
        );
        await insert(some);
      }
      const rare = { type: 'notification.Rare', limit: 10 };
      const first = await run.events.page(rare);
      expect(first.events).toEqual([]);
      const second = await run.events.page({ ...rare, cursor: first.next });
      expect([ids(second.events), second.next]).toEqual([['rare'], undefined]);
    });

    describe('looks into a limited number of bytes, and returns a limited number, however long the texts:', () => {
      const COUNT = 400;
      const MESSAGE = 'x'.repeat(32_000);
      const fill = async (feed: Event['feed'], birdId: string) =>
        insert(
          Array.from({ length: COUNT }, (_, at) =>
            event(`e${at}`, {
              feed,
              occurredAtUs: NOW_US + at,
              message: at === 0 ? `${MESSAGE}needle` : MESSAGE,
            }),
          ),
          await streamOf('eu', feed, birdId),
        );
      const MOST = 9 * 2 ** 20;

      test.each([
        ['of all Birds', 'notification', '', {}],
        ['of one Bird', 'bird_log', '7', { bird: '7' }],
      ] as const)('%s', async (_, feed, birdId, asked) => {
        await run.inventory.putBirds([bird('7', { name: 'Blog' })]);
        await fill(feed, birdId);
        const query = { ...asked, text: 'needle', limit: 10 };
        const searched = await everyPage((cursor) => run.events.page({ ...query, cursor }));
        expect(ids(searched.flatMap(({ events }) => events))).toEqual(['e0']);
        expect(searched.length).toBeGreaterThan(1);
        const given = await everyPage((cursor) => run.events.page({ ...asked, limit: 1000, cursor }));
        for (const { events } of given) {
          expect(events.reduce((sum, { message }) => sum + message.length, 0)).toBeLessThan(MOST);
        }
        const all = Array.from({ length: COUNT }, (_, at) => `e${COUNT - 1 - at}`);
        expect(ids(given.flatMap(({ events }) => events))).toEqual(all);
      });
    });

    test('of one Bird also looks at a limited number, and says where to continue', async () => {
      await run.inventory.putBirds([bird('7', { name: 'Blog' })]);
      const [log, flights] = [await streamOf('eu', 'bird_log', '7'), await streamOf('eu', 'flight', '7')];
      await insert(
        [event('rare', { feed: 'flight', type: 'flight.rare', occurredAtUs: NOW_US - 1 })],
        flights,
      );
      const logs = Array.from({ length: 5_010 }, (_, at) =>
        event(`e${at}`, { feed: 'bird_log', occurredAtUs: NOW_US + at }),
      );
      await insert(logs, log);
      const asked = { bird: '7', text: 'rare', limit: 10 };
      const [first, ...rest] = await everyPage((cursor) => run.events.page({ ...asked, cursor }));
      expect(first!.events).toEqual([]);
      expect(ids(rest.flatMap(({ events }) => events))).toEqual(['rare']);
    });

    test('filters by a Bird, a Nest, a Flight, an alert, and words', async () => {
      const named = { nestId: '682', birdId: '7', nest: 'Marketing', bird: 'Blog' };
      await run(async (tx) => {
        await tx.inventory.putNests([nest('682', 'Marketing')]);
        await tx.inventory.putBirds([bird('7', { name: 'Translate Blog' })]);
        await tx.inventory.putBirds([bird('8', { name: 'Sync', nestId: '683' })]);
        const later = { feed: 'flight', occurredAtUs: NOW_US + 3, message: 'QUOTA 100%' } as const;
        const failed = event('f1/failed', { ...later, ...named });
        const stream = await put(tx, [failed], '7');
        await tx.flights.put([flight('f1', { stream })]);
        const log = { feed: 'bird_log', attributes: { entity_name: 'Phrase' } } as const;
        await put(tx, [event('b1', { feed: 'bird_log', occurredAtUs: NOW_US + 2, ...named })], '7');
        await put(tx, [event('b2', { ...log, occurredAtUs: NOW_US + 1 })], '8');
        await tx.alerts.put([alert('a', { labels: { severity: 'warning' } })]);
        await tx.alerts.linkEvents(links('a', [failed]));
      });
      const each: [Partial<EventQuery>, string[]][] = [
        [{}, ['f1/failed', 'b1', 'b2']],
        [{ bird: '7' }, ['f1/failed', 'b1']],
        [{ bird: 'BLOG' }, ['f1/failed', 'b1']],
        [{ bird: 'blog', feed: 'bird_log' }, ['b1']],
        [{ bird: 'nobody' }, []],
        [{ nest: 'market' }, ['f1/failed', 'b1']],
        [{ nest: '683' }, ['b2']],
        [{ flight: 'f1' }, ['f1/failed']],
        [{ flight: 'f' }, []],
        [{ text: 'quota 100%' }, ['f1/failed']],
        [{ text: 'phrase' }, ['b2']],
        [{ text: '%' }, ['f1/failed']],
        [{ name: 'flightfailed' }, ['f1/failed']],
        [{ severity: 'warning' }, ['f1/failed']],
        [{ severity: 'critical' }, []],
        [{ bird: '7', sinceUs: NOW_US + 3 }, ['f1/failed']],
        [{ bird: '7', untilUs: NOW_US + 3 }, ['b1']],
      ];
      for (const [query, expected] of each) {
        const { events } = await run.events.page({ limit: 10, ...query });
        expect(ids(events), JSON.stringify(query)).toEqual(expected);
      }
      const first = await run.events.page({ bird: '7', limit: 1 });
      const second = await run.events.page({ bird: '7', limit: 1, cursor: first.next });
      expect(second.events.map(({ key }) => key)).toEqual(['eu/bird_log/b1']);
      expect(second.next).toBeUndefined();
    });

    test('are found by their short ids', async () => {
      const kept = Array.from({ length: 20 }, (_, index) =>
        event(`e${index}`, { occurredAtUs: NOW_US + index }),
      );
      await insert(kept);
      const found = await run.events.withShortId(shortId(kept[7]!).toUpperCase());
      expect(found).toEqual([kept[7]]);
      const gone = { key: 'eu/notification/gone', occurredAtUs: NOW_US };
      expect(await run.events.withShortId(shortId(gone))).toEqual([]);
      expect(await run.events.withShortId('none')).toEqual([]);
    });

    test('refuses a cursor that it never gave', async () => {
      const places = ['[1.5,1,1]', '[1e300,1,1]', '["1",1,1]'];
      const written = places.map((place) => Buffer.from(place).toString('base64url'));
      for (const cursor of ['', 'x', 'WzFd', 'bnVsbA', ...written]) {
        await expect(run.events.page({ limit: 1, cursor })).rejects.toMatchObject({
          code: 'usage',
        });
      }
    });
  });

  test('agrees with a plain list under arbitrary inserts', async () => {
    const stream = await streamOf();
    const entry = fc.tuple(fc.string({ unit: anyCharacter, maxLength: 3 }), fc.integer({ min: 0, max: 3 }));
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(entry, { maxLength: 30, size: 'max' }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 9 }),
        async (calls, limit) => {
          round += 1;
          const baseUs = NOW_US + round * SECOND_US;
          const model = new Map<string, Event>();
          for (const call of calls) {
            const events = call.map(([id, us]) => event(id, { occurredAtUs: baseUs + us, message: id }));
            const expected = events.filter((one) => {
              const name = `${one.occurredAtUs} ${one.key}`;
              return !model.has(name) && model.set(name, one);
            });
            expect(await insert(events, stream)).toEqual(expected);
          }
          const stored = await walk({ limit, sinceUs: baseUs });
          const newestFirst = stored.map((one) => one.occurredAtUs);
          expect(newestFirst).toEqual([...newestFirst].sort((a, b) => b - a));
          const byName = (events: Iterable<Event>) =>
            new Map([...events].map((one) => [`${one.occurredAtUs} ${one.key}`, one]));
          expect(byName(stored)).toEqual(byName(model.values()));
          expect(stored).toHaveLength(model.size);
        },
      ),
      { numRuns: 6 },
    );
  });
}
