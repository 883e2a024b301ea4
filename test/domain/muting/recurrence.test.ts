import { describe, expect, test } from 'vitest';
import { createRecurrences, type Recurrence } from '../../../src/domain/muting/silence.ts';

const us = (text: string) => Date.parse(text) * 1000;
const HOUR_MS = 3_600_000;
const NIGHTLY: Recurrence = { cron: '0 22 * * 1-5', timezone: 'Europe/Amsterdam', durationMs: 8 * HOUR_MS };

function openAt(recurrence: Recurrence, ...instants: string[]): boolean[] {
  const recurrences = createRecurrences();
  return instants.map((one) => recurrences.isOpen(recurrence, us(one)));
}

describe('a window', () => {
  test('opens at the instant of its expression and closes after its duration', () => {
    // Friday 2026-07-03; Amsterdam is two hours ahead of UTC.
    expect(
      openAt(
        NIGHTLY,
        '2026-07-03T19:59:59.999Z',
        '2026-07-03T20:00:00Z',
        '2026-07-04T03:59:59.999Z',
        '2026-07-04T04:00:00Z',
        '2026-07-04T21:00:00Z',
      ),
    ).toEqual([false, true, true, false, false]);
  });

  test('is found in whatever order instants are queried', () => {
    const inside = '2026-07-02T23:00:00Z';
    const outside = '2026-07-02T12:00:00Z';
    const later = '2026-07-13T21:00:00Z';
    expect(openAt(NIGHTLY, inside, outside, inside, later, inside, outside)).toEqual([
      true,
      false,
      true,
      true,
      true,
      false,
    ]);
  });

  test('agrees with a fresh query each time, minute by minute and over gaps [long]', () => {
    const recurrence = { cron: '*/45 */5 * * *', timezone: 'America/St_Johns', durationMs: 13 * 60_000 };
    const recurrences = createRecurrences();
    let atMs = Date.parse('2026-11-01T03:00:00Z');
    let open = 0;
    for (let turn = 0; turn < 600; turn += 1) {
      atMs += [20_000, 60_000, 7 * 60_000, 3 * HOUR_MS][turn % 4]!;
      const known = recurrences.isOpen(recurrence, atMs * 1000);
      expect(known).toBe(createRecurrences().isOpen(recurrence, atMs * 1000));
      if (known) open += 1;
    }
    expect(open).toBeGreaterThan(20);
  });

  test('stays open as one if windows overlap', () => {
    const always = { cron: '*/10 * * * *', timezone: 'UTC', durationMs: 15 * 60_000 };
    expect(openAt(always, '2026-07-02T12:00:00Z', '2026-07-02T12:09:59Z', '2026-07-02T12:14:00Z')).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('is separate from a shorter one at the same instants', () => {
    const at = us('2026-07-02T20:40:00Z');
    const recurrences = createRecurrences();
    const short = { ...NIGHTLY, durationMs: 15 * 60_000 };
    expect([recurrences.isOpen(short, at), recurrences.isOpen(NIGHTLY, at)]).toEqual([false, true]);
  });

  test('opens once in each night, also when the clocks change', () => {
    const nightly = { cron: '30 2 * * *', timezone: 'Europe/Amsterdam', durationMs: HOUR_MS };
    // From 03:00 to 04:00.
    const spring = [
      '2026-03-29T00:59:59Z',
      '2026-03-29T01:00:00Z',
      '2026-03-29T01:59:59Z',
      '2026-03-29T02:00:00Z',
    ];
    expect(openAt(nightly, ...spring)).toEqual([false, true, true, false]);
    // The first 02:30 opens it.
    const autumn = [
      '2026-10-25T00:29:59Z',
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:00:00Z',
    ];
    expect(openAt(nightly, ...autumn)).toEqual([false, true, false, false]);
  });
});

describe('a recurrence', () => {
  const { problem } = createRecurrences();
  test.each([
    [{}, undefined],
    [
      { cron: '0 22 * *' },
      'the cron expression must have five fields: minute, hour, day of month, month, day of week',
    ],
    [
      { cron: '0 0 22 * * *' },
      'the cron expression must have five fields: minute, hour, day of month, month, day of week',
    ],
    [
      { cron: '0 25 * * *' },
      'the cron expression "0 25 * * *" is not valid: its hour "25" must be within 0-23',
    ],
    [{ cron: '0 0 30 2 *' }, 'the cron expression "0 0 30 2 *" never matches: no day is like this'],
    [{ timezone: 'Mars/Base' }, '"Mars/Base" is not a time zone such as Europe/Amsterdam or UTC'],
    [{ timezone: '+02:00' }, '"+02:00" is not a time zone such as Europe/Amsterdam or UTC'],
    [{ durationMs: 59_999 }, 'the duration must be at least 1m and not longer than 7d'],
    [{ durationMs: 60_000 }, undefined],
    [{ durationMs: 168 * HOUR_MS }, undefined],
    [{ durationMs: 168 * HOUR_MS + 1 }, 'the duration must be at least 1m and not longer than 7d'],
  ])('%o', (changes, message) => {
    expect(problem({ ...NIGHTLY, ...changes })).toBe(message);
  });
});
