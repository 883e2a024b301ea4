import { describe, expect, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import type { Run } from '../test-store.ts';
import { delivery, event, flight, groupNotification, NOW_US } from './sample-records.ts';

const SAID: Readonly<Record<string, string>> = {
  inside: 'The job "Blog" failed',
  first: '"Blog" is no job',
  nul: 'a\u0000b "Blog"',
  half: 'half of a pair \ud83d "Blog"',
  capital: 'Übersetzung von C:\\Temp',
};

const ALL_QUOTED = ['first', 'half', 'inside', 'nul'];

/** Lists that are searched for a part of a text. */
export function describeLookedFor(run: Run): void {
  describe('a long message', () => {
    test.each([
      ['', 'x'],
      ['"Blog" failed: ', 'x'],
      ['\ud83d half of a pair ', 'x'],
      ['a\u0000b ', 'x'],
      ['', '😀'],
    ])('is shown by its unchanged beginning: %j with %j', async (begins, letter) => {
      const message = `${begins}${letter.repeat(20_000)}`;
      const ended: Partial<Event> = { feed: 'flight', type: 'flight.failed', message };
      const { flight: shown, counted } = await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'flight', '7');
        const how = { status: 'failed', open: false, ends: 1, endedAtUs: NOW_US };
        await tx.flights.put([flight('f', { stream, ...how })]);
        await tx.events.insert(stream, [event('f/failed', ended)]);
        const [counted] = await tx.digests.endedFlights(0, Number.MAX_SAFE_INTEGER);
        return { flight: await tx.birds.findFlight('eu', 'f'), counted };
      });
      for (const [text, characters] of [
        [shown?.message, 2_000],
        [counted?.message, 16_384],
      ] as const) {
        expect(Array.from(text ?? '')).toEqual(Array.from(message).slice(0, characters));
      }
    });
  });

  describe('a text that is searched for', () => {
    /** Which texts of `SAID` the lists find. */
    async function found(text: string): Promise<Record<string, string[]>> {
      const asked = { limit: 100, text };
      return run(async (tx) => {
        const { events } = await tx.events.page({ ...asked, feed: 'notification' });
        const { flights } = await tx.birds.flightPage({ ...asked, regions: ['eu'] });
        const { deliveries } = await tx.outbox.page(asked);
        const { writes } = await tx.writes.page(asked);
        return {
          events: events.map(({ key }) => key.split('/')[2]!).sort(),
          flights: flights.map(({ flightId }) => flightId).sort(),
          deliveries: deliveries.map(({ id }) => id).sort(),
          writes: writes.map(({ who }) => who).sort(),
        };
      });
    }

    async function keep(): Promise<void> {
      await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'notification', '');
        const { stream: flights } = await tx.streams.open('eu', 'flight', '7');
        for (const [index, [id, message]] of Object.entries(SAID).entries()) {
          const [occurredAtUs, nest, attributes] = [NOW_US + index, '', {}];
          await tx.events.insert(stream, [event(id, { message, occurredAtUs, nest, attributes })]);
          const ended = { feed: 'flight', birdId: '7', message, occurredAtUs, nest, attributes } as const;
          await tx.events.insert(flights, [event(`${id}/failed`, ended)]);
          const times = { startedAtUs: NOW_US + index, endedAtUs: NOW_US + index };
          const how = { stream: flights, status: 'failed', open: false, ends: 1 };
          await tx.flights.put([flight(id, { ...how, ...times })]);
          await tx.outbox.enqueue(groupNotification(`of ${id}`), [delivery(id, { lastError: message })]);
          const asked = { action: 'POST', asked: message, status: 200, atUs: NOW_US };
          await tx.writes.add({ who: id, by: 'user', from: '', ...asked });
        }
      });
    }

    test.each([
      ['"Blog"', ALL_QUOTED],
      ['"blog', ALL_QUOTED],
      ['blog"', ALL_QUOTED],
      ['"Blog" is', ['first']],
      ['"', ALL_QUOTED],
      ['\\', ['capital']],
      ['Übersetzung von c:\\temp', ['capital']],
      ['a\u0000b', ['nul']],
      ['pair \ud83d', ['half']],
      ['"job', []],
    ])('is found at any position, whatever is before it: %j', async (text, expected) => {
      await keep();
      const each = { events: expected, flights: expected, deliveries: expected, writes: expected };
      expect(await found(text)).toEqual(each);
    });

    test('is also found in the names, ids and attributes of events', async () => {
      await run(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'notification', '');
        const named = { nestId: 'n-682', nest: 'The "Blue" Nest', birdId: 'b-7', bird: '"Blog"' };
        await tx.events.insert(stream, [
          event('a', { ...named, attributes: { connection: 'Drupal "old"' } }),
          event('b'),
        ]);
      });
      for (const text of ['the "blue"', '"BLOG"', '"old"', 'drupal', 'n-682', 'b-7']) {
        expect((await found(text)).events, text).toEqual(['a']);
      }
    });
  });
}
