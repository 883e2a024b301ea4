/**
 * Computes the instants of a cron expression of five fields in a time zone, in whole minutes. node-cron parses the
 * expression. Nothing here waits for an instant, so any clock can drive it. The search skips whole days, hours and
 * minutes that do not match, so that an expression that rarely matches costs no more than others.
 */
import { createTask, type ParsedFields, parse, type ScheduledTask } from 'node-cron';
import { LIMITS } from '../limits.ts';
import { isTimezone, wallClock } from './zone-format.ts';

const MINUTE_MS = 60_000;
/** All present time zones change their offset at a multiple of this. */
const QUARTER_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** No zone's offset from UTC is larger. */
const LARGEST_OFFSET_MS = 15 * HOUR_MS;
/** How far back the search goes: longer than any month. */
const LONGEST_LOOK_MS = 35 * DAY_MS;
/** How far ahead the search goes: the next 29 February is at most eight years away (2096 to 2104). */
const LONGEST_AHEAD_MS = 9 * 366 * DAY_MS;

/** What is wrong with an expression or its time zone, as a sentence for people; undefined when both are valid. */
export function cronProblem(cron: string, timezone: string): string | undefined {
  if (timezone.length > LIMITS.cron_characters.most || !isTimezone(timezone)) {
    return `${shown(timezone)} is not a time zone such as Europe/Amsterdam or UTC`;
  }
  if (cron.length > LIMITS.cron_characters.most) {
    return `the cron expression is longer than ${LIMITS.cron_characters.most} characters`;
  }
  if (cron.trim().split(/\s+/).length !== 5) {
    return 'the cron expression must have five fields: minute, hour, day of month, month, day of week';
  }
  // node-cron expands ranges before it checks their limits.
  if (/\d{3}/.test(cron)) {
    return `the cron expression ${JSON.stringify(cron)} is not valid: no number of it has more than two digits`;
  }
  try {
    parse(cron);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `the cron expression ${JSON.stringify(cron)} is not valid: ${why}`;
  }
}

function shown(text: string): string {
  const { most } = LIMITS.cron_characters;
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text);
}

export interface Cron {
  /**
   * The newest matching instant in (afterUs, untilUs], at most 35 days back; undefined if there is none. An hour that
   * a clock change skips has no instants; an hour that it repeats has them twice.
   */
  latest(afterUs: number, untilUs: number): number | undefined;
  /** The first matching instant in [fromUs, beforeUs), at most 9 years ahead; undefined if there is none. */
  next(fromUs: number, beforeUs: number): number | undefined;
}

/** Throws `RangeError` for an expression that `cronProblem` would refuse. */
export function createCron(cron: string, timezone: string): Cron {
  const problem = cronProblem(cron, timezone);
  if (problem !== undefined) throw new RangeError(problem);
  const search = new CronSearch(cron, timezone);
  return {
    latest: (afterUs, untilUs) => search.latest(afterUs, untilUs),
    next: (fromUs, beforeUs) => search.next(fromUs, beforeUs),
  };
}

/** Forwards or backwards in time. */
type Direction = 1 | -1;

class CronSearch {
  readonly #minutes: ReadonlySet<unknown>;
  readonly #hours: ReadonlySet<unknown>;
  readonly #fitsDay: (dayMs: number) => boolean;
  readonly #offsetMs: (atMs: number) => number;

  constructor(cron: string, timezone: string) {
    const fields = parse(cron);
    this.#minutes = new Set(fields.minute);
    this.#hours = new Set(fields.hour);
    this.#fitsDay = createDayTest(cron, fields);
    this.#offsetMs = createOffset(timezone);
  }

  latest(afterUs: number, untilUs: number): number | undefined {
    const untilMs = Math.floor(untilUs / 1000 / MINUTE_MS) * MINUTE_MS;
    const afterMs = Math.max(afterUs / 1000, untilMs - LONGEST_LOOK_MS);
    const firstMs = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
    for (let endMs = untilMs; endMs >= firstMs; endMs -= DAY_MS) {
      const found = this.#findWithinDay(Math.max(firstMs, endMs - DAY_MS + MINUTE_MS), endMs, -1);
      if (found !== undefined) return found * 1000;
    }
    return undefined;
  }

  next(fromUs: number, beforeUs: number): number | undefined {
    const fromMs = Math.ceil(fromUs / 1000 / MINUTE_MS) * MINUTE_MS;
    const beforeMs = Math.min(beforeUs / 1000, fromMs + LONGEST_AHEAD_MS);
    const lastMs = (Math.ceil(beforeMs / MINUTE_MS) - 1) * MINUTE_MS;
    for (let atMs = fromMs; atMs <= lastMs; atMs += DAY_MS) {
      const found = this.#findWithinDay(atMs, Math.min(lastMs, atMs + DAY_MS - MINUTE_MS), 1);
      if (found !== undefined) return found * 1000;
    }
    return undefined;
  }

  /** The first or last instant from `firstMs` to `lastMs`, which are whole minutes less than a day apart. */
  #findWithinDay(firstMs: number, lastMs: number, direction: Direction): number | undefined {
    if (!this.#isSomeDayFitting(firstMs, lastMs)) return undefined;
    const offsetMs = this.#offsetMs(firstMs);
    if (offsetMs === this.#offsetMs(lastMs)) return this.#find(firstMs, lastMs, offsetMs, direction);
    // The offset changes within this time, so each quarter of an hour is searched with its own offset.
    const quarters: number[] = [];
    for (let atMs = Math.floor(firstMs / QUARTER_MS) * QUARTER_MS; atMs <= lastMs; atMs += QUARTER_MS) {
      quarters.push(atMs);
    }
    for (const atMs of direction === 1 ? quarters : quarters.reverse()) {
      const endMs = Math.min(lastMs, atMs + QUARTER_MS - MINUTE_MS);
      const found = this.#find(Math.max(firstMs, atMs), endMs, this.#offsetMs(atMs), direction);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Whether the expression matches any of the local dates that this time may fall on, in whatever zone. */
  #isSomeDayFitting(firstMs: number, lastMs: number): boolean {
    for (
      let dayMs = dayOf(firstMs - LARGEST_OFFSET_MS);
      dayMs <= lastMs + LARGEST_OFFSET_MS;
      dayMs += DAY_MS
    ) {
      if (this.#fitsDay(dayMs)) return true;
    }
    return false;
  }

  /** Like `#findWithinDay`, for a time with a single offset. */
  #find(firstMs: number, lastMs: number, offsetMs: number, direction: Direction): number | undefined {
    /** The nearest minute beyond a part of the local day, in the direction of the search. */
    const past = (localMs: number, lengthMs: number) =>
      direction === 1
        ? Math.ceil((localMs + lengthMs - offsetMs) / MINUTE_MS) * MINUTE_MS
        : Math.ceil((localMs - offsetMs) / MINUTE_MS - 1) * MINUTE_MS;
    let atMs = direction === 1 ? firstMs : lastMs;
    while (atMs >= firstMs && atMs <= lastMs) {
      const localMs = atMs + offsetMs;
      const dayMs = dayOf(localMs);
      const hour = Math.floor((localMs - dayMs) / HOUR_MS);
      if (!this.#fitsDay(dayMs)) atMs = past(dayMs, DAY_MS);
      else if (!this.#hours.has(hour)) atMs = past(dayMs + hour * HOUR_MS, HOUR_MS);
      else if (this.#minutes.has(Math.floor((localMs - dayMs) / MINUTE_MS) % 60)) return atMs;
      else atMs += direction * MINUTE_MS;
    }
    return undefined;
  }
}

function dayOf(localMs: number): number {
  return Math.floor(localMs / DAY_MS) * DAY_MS;
}

/**
 * Tests whether an expression matches a day, given as its midnight in UTC. Day of month and day of week must both
 * match.
 */
function createDayTest(
  cron: string,
  { dayOfMonth, month, dayOfWeek }: ParsedFields,
): (dayMs: number) => boolean {
  const [days, months, weekdays] = [dayOfMonth, month, dayOfWeek].map((list) => new Set<unknown>(list));
  // For `L`, `15W`, `5#2` and the like, node-cron itself decides which day is meant.
  const isPlain = [...dayOfMonth, ...dayOfWeek].every((one) => typeof one === 'number');
  const task = isPlain ? undefined : dayTask(cron);
  return (dayMs) => {
    const day = new Date(dayMs);
    if (!months!.has(day.getUTCMonth() + 1)) return false;
    return task ? task.match(day) : days!.has(day.getUTCDate()) && weekdays!.has(day.getUTCDay());
  };
}

/** A task for all minutes of the expression's days. It is never started, and is removed from the library's registry. */
function dayTask(cron: string): ScheduledTask {
  const task = createTask(['*', '*', ...cron.trim().split(/\s+/).slice(2)].join(' '), () => {}, {
    timezone: 'UTC',
  });
  task.destroy();
  return task;
}

/** Returns a zone's offset from UTC at an instant, in milliseconds; positive when ahead. */
function createOffset(timezone: string): (atMs: number) => number {
  const clock = wallClock(timezone);
  return (atMs) => {
    const { year, month, day, hour, minute, second } = clock(atMs);
    return Date.UTC(year, month - 1, day, hour, minute, second) - atMs;
  };
}
