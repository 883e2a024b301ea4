import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readShortId, SHORT_ID_ERA, shortId } from '../../../src/domain/alert/event.ts';
import { anyCharacter } from '../../any-character.ts';

const AT_US = Date.UTC(2026, 6, 2, 12) * 1000;

test('has nine letters, the first six of which are its second', () => {
  const id = shortId({ key: 'eu/flight/f1/failed', occurredAtUs: AT_US });
  expect(id).toMatch(/^[0-9a-hjkmnp-tv-z]{6}-[0-9a-hjkmnp-tv-z]{3}$/);
  expect(readShortId(id)).toEqual({ text: id, second: (AT_US / 1e6) % SHORT_ID_ERA });
  expect(shortId({ key: 'eu/flight/f2/failed', occurredAtUs: AT_US + 999_999 }).slice(0, 6)).toBe(
    id.slice(0, 6),
  );
});

test('is read back for any event, also as people type it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      fc.integer({ min: -8e15, max: 8e15 }),
      (key, occurredAtUs) => {
        const id = shortId({ key, occurredAtUs });
        const typed = ` ${id.toUpperCase().replaceAll('1', 'I').replaceAll('0', 'O').replace('-', '')} `;
        expect(readShortId(typed)?.text).toBe(id);
      },
    ),
  );
});

test.each(['', 'eu/flight/f1/failed', '7hq2m9', '7hq2m9-x4tt', '7hq2mu-x4t', '148890'])(
  '%j is not a short id',
  (text) => {
    expect(readShortId(text)).toBeUndefined();
  },
);

test('events of one second are distinguished', () => {
  const ids = new Set(
    Array.from({ length: 100 }, (_, index) =>
      shortId({ key: `eu/flight/${index}/failed`, occurredAtUs: AT_US }),
    ),
  );
  expect(ids.size).toBe(100);
});
