import { expect, test } from 'vitest';
import { type PeriodSort, periodsOf } from '../../src/time/zone-format.ts';

const us = (text: string) => Date.parse(text) * 1000;
const HOUR_US = 3_600_000_000;

test.each(['Europe/Amsterdam', 'America/Santiago', 'Asia/Kolkata', 'UTC'])(
  'days and hours of %s follow each other through a year [long]',
  (zone) => {
    for (const sort of ['1d', '1h'] as const) {
      const periods = periodsOf(sort, zone);
      const lengths = new Map<number, number>();
      let period = periods.at(us('2026-01-01T12:00Z'));
      let count = 0;
      while (period.fromUs < us('2027-01-01T12:00Z')) {
        const next = periods.at(period.untilUs);
        expect(next.fromUs).toBe(period.untilUs);
        expect(periods.at(period.untilUs - 1)).toEqual(period);
        const hours = (period.untilUs - period.fromUs) / HOUR_US;
        lengths.set(hours, (lengths.get(hours) ?? 0) + 1);
        period = next;
        count += 1;
      }
      const changes = ['Asia/Kolkata', 'UTC'].includes(zone)
        ? []
        : [
            [23, 1],
            [25, 1],
          ];
      expect([...lengths].filter(([hours]) => hours !== (sort === '1d' ? 24 : 1)).toSorted()).toEqual(
        sort === '1d' ? changes : [],
      );
      expect(count).toBe(sort === '1d' ? 366 : zone === 'Asia/Kolkata' ? 8761 : 8760);
    }
  },
);

test.each<[PeriodSort, string, string, string]>([
  ['1d', '2026-10-26T10:00Z', '2026-10-18T22:00Z', '2026-10-19T22:00Z'],
  ['1h', '2026-10-26T10:30Z', '2026-10-19T09:00Z', '2026-10-19T10:00Z'],
])(
  '%s: a week before a clock change in Amsterdam it is the same time of the day',
  (sort, now, from, until) => {
    const periods = periodsOf(sort, 'Europe/Amsterdam');
    expect(periods.weeksBefore(periods.at(us(now)), 1)).toEqual({ fromUs: us(from), untilUs: us(until) });
  },
);

test.each(['Europe/Amsterdam', 'America/Santiago', 'Asia/Kathmandu', 'Pacific/Apia', 'UTC'])(
  'months of %s follow each other, and begin and end with a day',
  (zone) => {
    const [months, days] = [periodsOf('1mo', zone), periodsOf('1d', zone)];
    const names: string[] = [];
    let month = months.at(us('2026-01-15T12:00Z'));
    for (let count = 0; count < 14; count += 1) {
      const next = months.at(month.untilUs);
      expect(next.fromUs).toBe(month.untilUs);
      expect(months.at(month.untilUs - 1)).toEqual(month);
      expect(days.at(month.fromUs).fromUs).toBe(month.fromUs);
      const begin = Temporal.Instant.fromEpochMilliseconds(month.fromUs / 1000).toZonedDateTimeISO(zone);
      names.push(`${begin.year}-${begin.month}-${begin.day}`);
      month = next;
    }
    expect(names).toHaveLength(14);
    expect(names.slice(0, 3)).toEqual(['2026-1-1', '2026-2-1', '2026-3-1']);
    expect(names.at(-1)).toBe('2027-2-1');
  },
);
