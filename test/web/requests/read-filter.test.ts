import { expect, test } from 'vitest';
import { readFilter } from '../../../src/web/requests/read-lists.ts';

const NOW_US = Date.UTC(2026, 6, 2, 12) * 1000;
const read = (given: Parameters<typeof readFilter>[0]) => readFilter(given, ['eu', 'us'], NOW_US);

test.each([
  ['how long ago', '2h', '2026-07-02T10:00:00Z'],
  ['a day', '2026-07-01', '2026-07-01T00:00:00Z'],
  ['a minute', '2026-07-01 13:05', '2026-07-01T13:05:00Z'],
  ['an RFC 3339 instant', '2026-07-01T13:05:00+02:00', '2026-07-01T11:05:00Z'],
  ['one whose plus sign was not encoded', '2026-07-01T13:05:00 02:00', '2026-07-01T11:05:00Z'],
])('since may be %s', (_, given, expected) => {
  expect(read({ since: given }).sinceUs).toBe(Date.parse(expected) * 1000);
});

test('since is no longer ago than a store can express', () => {
  expect(read({ since: '300000y' }).sinceUs).toBe(Number.MIN_SAFE_INTEGER);
});

test.each([
  ['Europe/Amsterdam', '2026-07-01', '2026-06-30T22:00:00Z'],
  ['Europe/Amsterdam', '2026-07-01 13:05', '2026-07-01T11:05:00Z'],
  ['America/New_York', '2026-01-10T13:05:30.5', '2026-01-10T18:05:30.500Z'],
  ['Asia/Kolkata', '2026-07-01T13:05:00+02:00', '2026-07-01T11:05:00Z'],
  // The hour that does not exist, and the one that occurs twice: as if clocks went on unchanged.
  ['Europe/Amsterdam', '2026-03-29 02:30', '2026-03-29T01:30:00Z'],
  ['Europe/Amsterdam', '2025-10-26 02:30', '2025-10-26T00:30:00Z'],
])('in the zone %s, %s is %s', (zone, given, expected) => {
  expect(read({ since: given, zone }).sinceUs).toBe(Date.parse(expected) * 1000);
});

test.each([
  [{ since: '2026-07-01', zone: 'Mars/Base' }, 'zone: must be a time zone such as Europe/Amsterdam'],
  [{ since: '2026-02-30', zone: 'Europe/Amsterdam' }, 'since: must be a duration like 2h, or an instant'],
  [{ since: '1600-01-01', zone: 'Europe/Amsterdam' }, 'since: must be a duration like 2h, or an instant'],
  [{ since: 'yesterday' }, 'since: must be a duration like 2h, or an instant like 2026-07-02T13:59:34Z'],
  [{ until: '2026-13-01' }, 'until: must be a duration like 2h, or an instant like 2026-07-02T13:59:34Z'],
  [{ since: '1h', until: '2h' }, 'since: must be before until'],
  [{ since: '2026-07-02', until: '2026-07-02' }, 'since: must be before until'],
  [{ region: 'EU' }, 'region: must be one of eu, us'],
  [{ region: 'mars' }, 'region: must be one of eu, us'],
])('%j is refused', (given, message) => {
  expect(() => read(given)).toThrow(message);
});
