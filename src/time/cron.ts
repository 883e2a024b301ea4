/**
 * Computes the instants of a cron expression of five fields in a time zone, as Debian's cron does: a fixed time comes
 * once on each of its days, right after the gap if a clock change skips it, and with the first of two if it is repeated;
 * with `*` as minute or hour, the clock is followed. Croner does this, except in a gap that ends at midnight, which
 * only Greenland has. Nothing here waits for an instant, so any clock can drive it.
 */
import { Cron as Croner, type CronOptions, CronPattern } from 'croner';
import { LIMITS } from '../limits.ts';
import { isTimezone } from './zone-format.ts';

const FIELDS: readonly (readonly [name: string, range: string, word?: string])[] = [
  ['minute', '0-59'],
  ['hour', '0-23'],
  ['day of month', '1-31'],
  ['month', '1-12', 'may'],
  ['day of week', '0-7', 'mon'],
];

/** What is wrong with an expression or its time zone, as a sentence for people; undefined when both are valid. */
export function cronProblem(cron: string, timezone: string): string | undefined {
  if (timezone.length > LIMITS.cron_characters.most || !isTimezone(timezone)) {
    return `${shown(timezone)} is not a time zone such as Europe/Amsterdam or UTC`;
  }
  if (cron.length > LIMITS.cron_characters.most) {
    return `the cron expression is longer than ${LIMITS.cron_characters.most} characters`;
  }
  const fields = fieldsOf(cron);
  if (fields.length !== FIELDS.length) {
    return 'the cron expression must have five fields: minute, hour, day of month, month, day of week';
  }
  try {
    new CronPattern(cron, undefined, { mode: '5-part' });
  } catch (error) {
    const mistake = fields.map(mistakeIn).find((one) => one !== undefined) ?? reasonOf(error);
    return `the cron expression ${JSON.stringify(cron)} is not valid: ${mistake}`;
  }
  return everMatches(cron)
    ? undefined
    : `the cron expression ${JSON.stringify(cron)} never matches: no day is like this`;
}

function shown(text: string): string {
  const { most } = LIMITS.cron_characters;
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text);
}

function fieldsOf(cron: string): string[] {
  return cron.trim().split(/\s+/);
}

function mistakeIn(field: string, at: number): string | undefined {
  try {
    new CronPattern(FIELDS.map((_, other) => (other === at ? field : '*')).join(' '));
    return undefined;
  } catch (error) {
    const [name, range, word] = FIELDS[at]!;
    const which = `its ${name} ${JSON.stringify(field)}`;
    // Croner's message would count days and months from 0.
    if (error instanceof RangeError) return `${which} must be within ${range}`;
    const reason = reasonOf(error);
    if (!reason.includes('illegal characters')) return `${which}: ${reason}`;
    return `${which} must be numbers within ${range}${word === undefined ? '' : ` or names such as ${word}`}, or \`*\``;
  }
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/^CronPattern: (?:Syntax error, )?/, '');
}

/** The calendar repeats after 28 years, and croner would search 400 for a day that does not exist. */
function everMatches(cron: string): boolean {
  const years = new Croner(`0 ${cron} 2000-2027`, { ...optionsOf(cron, 'utc'), mode: '7-part' });
  return years.nextRun(new Date('1999-12-31T00:00Z')) !== null;
}

export interface Cron {
  /** The newest matching instant in (afterUs, untilUs]; undefined if there is none. */
  latest(afterUs: number, untilUs: number): number | undefined;
  /** All of them, newest first. */
  backwards(afterUs: number, untilUs: number): Iterable<number>;
  /** The first matching instant in [fromUs, beforeUs); undefined if there is none. */
  next(fromUs: number, beforeUs: number): number | undefined;
}

/** Throws `RangeError` for an expression that `cronProblem` would refuse. */
export function createCron(cron: string, timezone: string): Cron {
  const problem = cronProblem(cron, timezone);
  if (problem !== undefined) throw new RangeError(problem);
  const options: CronOptions = { ...optionsOf(cron, timezone), mode: '5-part' };
  const expression = withoutSteppedRanges(cron);
  // Made for each search, because it takes 80 kB and there may be 1,000 of them.
  const search = () => new Croner(expression, options);
  // Croner's bounds are exclusive, and what is below a second does not matter to it.
  function* backwards(afterUs: number, untilUs: number): Generator<number, undefined> {
    const searching = search();
    let [found] = searching.previousRuns(1, new Date(Math.floor(untilUs / 1000) + 1));
    for (; found && found.getTime() * 1000 > afterUs; [found] = searching.previousRuns(1, found))
      yield found.getTime() * 1000;
  }
  return {
    backwards,
    latest: (afterUs, untilUs) => backwards(afterUs, untilUs).next().value,
    next(fromUs, beforeUs) {
      const found = search().nextRun(new Date(Math.ceil(fromUs / 1000) - 1));
      const atUs = found && found.getTime() * 1000;
      return atUs !== null && atUs < beforeUs ? atUs : undefined;
    },
  };
}

function optionsOf(cron: string, timezone: string): CronOptions {
  const [, , day, , weekday] = fieldsOf(cron);
  return {
    // Croner keeps a format for each spelling.
    timezone: timezone.toLowerCase(),
    fixedTimeRule: 'no-wildcard',
    // Also for `*/2`, where croner alone would join them by "or".
    domAndDow: [day, weekday].some((field) => field!.startsWith('*')),
  };
}

/** Writes `10-50/20` as minute or hour in full, because croner does not take a step for a fixed time. */
function withoutSteppedRanges(cron: string): string {
  const [minute, hour, ...days] = fieldsOf(cron);
  const inFull = (field: string) =>
    field.replace(/(\d+)-(\d+)\/(\d+)/g, (_, from: string, to: string, step: string) => {
      const count = Math.floor((Number(to) - Number(from)) / Number(step)) + 1;
      return Array.from({ length: count }, (_one, at) => Number(from) + at * Number(step)).join();
    });
  return [inFull(minute!), inFull(hour!), ...days].join(' ');
}
