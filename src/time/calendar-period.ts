/** Divides time into months, days or hours as the clocks of a zone show them: a day of a clock change has 23 or 25 hours. */

export type PeriodSort = '1h' | '1d';

export interface Period {
  readonly fromUs: number;
  /** Exclusive. */
  readonly untilUs: number;
}

/** The months, days or hours of a zone, which must be valid. */
export interface Periods {
  at(us: number): Period;
  /** The one at the same time of the week, so many weeks before. */
  weeksBefore(period: Period, weeks: number): Period;
}

export function periodsOf(sort: PeriodSort | '1mo', zone: string): Periods {
  const zoned = (us: number) =>
    Temporal.Instant.fromEpochMilliseconds(Math.floor(us / 1000)).toZonedDateTimeISO(zone);
  const begin = (time: Temporal.ZonedDateTime) => {
    if (sort === '1h') return time.round({ smallestUnit: 'hour', roundingMode: 'floor' });
    return (sort === '1mo' ? time.with({ day: 1 }) : time).startOfDay();
  };
  const periodOf = (time: Temporal.ZonedDateTime): Period => {
    const from = begin(time);
    const until =
      sort === '1h'
        ? from.add({ hours: 1 })
        : from.add(sort === '1d' ? { days: 1 } : { months: 1 }).startOfDay();
    return { fromUs: from.epochMilliseconds * 1000, untilUs: until.epochMilliseconds * 1000 };
  };
  return {
    at: (us) => periodOf(zoned(us)),
    weeksBefore: ({ fromUs }, weeks) => periodOf(zoned(fromUs).subtract({ weeks })),
  };
}
