import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatInstant, parseInstant } from '../../src/time/instant.ts';

describe('parseInstant', () => {
  test.each([
    ['2026-07-02T13:59:34.590833Z', 1_783_000_774_590_833, '2026-07-02T13:59:34.590833Z'],
    ['2026-07-02T13:59:34Z', 1_783_000_774_000_000, '2026-07-02T13:59:34Z'],
    ['2026-07-02T13:59:34', 1_783_000_774_000_000, '2026-07-02T13:59:34Z'],
    ['2026-07-02T13:59:34.5908337', 1_783_000_774_590_833, '2026-07-02T13:59:34.5908337Z'],
    ['2026-07-02T15:59:34.59+02:00', 1_783_000_774_590_000, '2026-07-02T13:59:34.59Z'],
    ['2026-07-02t13:59:34.000000999z', 1_783_000_774_000_000, '2026-07-02T13:59:34.000000999Z'],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000, '2024-02-29T00:00:00Z'],
    ['2026-12-31T23:59:59.999999Z', 1_798_761_599_999_999, '2026-12-31T23:59:59.999999Z'],
    ['2016-12-31T23:59:60.5Z', 1_483_228_800_500_000, '2017-01-01T00:00:00.5Z'],
    ['2016-12-31T18:59:60-05:00', 1_483_228_800_000_000, '2017-01-01T00:00:00Z'],
  ])('reads %s', (text, us, shown) => {
    expect(parseInstant(text)).toEqual({ us, text: shown });
  });

  test.each([
    '',
    'yesterday',
    '2026-07-02',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-07-00T00:00:00Z',
    '2026-07-02T24:00:00Z',
    '2026-07-02T13:60:00Z',
    '2026-07-02T13:59:61Z',
    '2026-07-02T13:59:34.1234567890Z',
    '2026-07-02T13:59:34+24:00',
    '2026-07-02T13:59:34-02:60',
    '2026-07-02T13:59:34+9999',
    // The values that .NET writes for "not set" and "never", which are out of range for microseconds.
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.9999999Z',
  ])('refuses %s', (text) => {
    expect(parseInstant(text)).toBeUndefined();
  });

  test('keeps every digit, from none to nine', () => {
    const fraction = fc.array(fc.nat(9), { maxLength: 9 }).map((digits) => digits.join(''));
    const second = fc.integer({ min: -8_000_000_000, max: 8_000_000_000 });
    fc.assert(
      fc.property(second, fraction, (seconds, digits) => {
        const text = `${new Date(seconds * 1000).toISOString().slice(0, 19)}${digits && `.${digits}`}Z`;
        const us = seconds * 1_000_000 + Number(digits.slice(0, 6).padEnd(6, '0'));
        expect(parseInstant(text)).toEqual({ us, text });
      }),
    );
  });

  test('reads the usual form like every other', () => {
    const two = fc.nat(99).map((n) => String(n).padStart(2, '0'));
    const parts = fc.tuple(fc.integer({ min: 1600, max: 2300 }), two, two, two, two, fc.nat(99));
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second]) => {
        const stem = `${year}-${month}-${day}T${hour}:${minute}:${String(second).padStart(2, '0')}`;
        // Without the `Z` the text is not canonical, so it takes the other path.
        expect(parseInstant(`${stem}Z`)).toEqual(parseInstant(stem));
      }),
      { numRuns: 2000 },
    );
  });

  test('reads back what formatInstant writes', () => {
    const inReach = fc.integer({ min: -8_900_000_000_000_000, max: 8_900_000_000_000_000 });
    fc.assert(
      fc.property(inReach, (us) => {
        expect(parseInstant(formatInstant(us))?.us).toBe(us);
      }),
    );
  });
});
