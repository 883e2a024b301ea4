/** Divides time into days or hours as the clocks of a zone show them: a day of a clock change has 23 or 25 hours. */

export type PeriodSort = '1h' | '1d';

export interface Period {
  readonly fromUs: number;
  /** Exclusive. */
  readonly untilUs: number;
}

/** The days or hours of a zone, which must be valid. */
export interface Periods {
  at(us: number): Period;
  /** The one at the same time of the week, so many weeks before. */
  weeksBefore(period: Period, weeks: number): Period;
}

export function periodsOf(sort: PeriodSort, zone: string): Periods {
  const zoned = (us: number) =>
    Temporal.Instant.fromEpochMilliseconds(Math.floor(us / 1000)).toZonedDateTimeISO(zone);
  const begin = (time: Temporal.ZonedDateTime) =>
    sort === '1d' ? time.startOfDay() : time.round({ smallestUnit: 'hour', roundingMode: 'floor' });
  const periodOf = (time: Temporal.ZonedDateTime): Period => {
    const from = begin(time);
    const until = sort === '1d' ? from.add({ days: 1 }).startOfDay() : from.add({ hours: 1 });
    return { fromUs: from.epochMilliseconds * 1000, untilUs: until.epochMilliseconds * 1000 };
  };
  return {
    at: (us) => periodOf(zoned(us)),
    weeksBefore: ({ fromUs }, weeks) => periodOf(zoned(fromUs).subtract({ weeks })),
  };
}
