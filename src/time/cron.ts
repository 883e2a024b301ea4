/**
 * The instants of a cron expression of five fields in a time zone, in whole minutes. node-cron says whether an
 * expression fits an instant; nothing here waits for one, so that any clock can drive it.
 */
import { createTask, type ScheduledTask } from 'node-cron';
import { isTimezone } from './instant.ts';

const MINUTE_MS = 60_000;
/** All time zones of today change their hour at a multiple of it. */
const QUARTER_MS = 15 * MINUTE_MS;
/** How far back an instant is looked for: longer than any month. */
const LONGEST_LOOK_MS = 35 * 24 * 60 * MINUTE_MS;
/** Shorter than any day of any place, so that one that overlaps such a stretch holds its beginning or its end. */
const HALF_DAY_MS = 12 * 60 * MINUTE_MS;
/** How far ahead: 29 February is eight years away at the most (2096 to 2104). */
const LONGEST_AHEAD_MS = 9 * 366 * 24 * 60 * MINUTE_MS;

/** What is wrong with an expression or its time zone, as a sentence for people; undefined for nothing. */
export function cronProblem(cron: string, timezone: string): string | undefined {
  if (!isTimezone(timezone)) {
    return `${JSON.stringify(timezone)} is not a time zone such as Europe/Amsterdam or UTC`;
  }
  if (cron.trim().split(/\s+/).length !== 5) {
    return 'the cron expression must have five fields: minute, hour, day of month, month, day of week';
  }
  try {
    cronTask(cron, timezone);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `the cron expression ${JSON.stringify(cron)} is not valid: ${why}`;
  }
}

/** A task that is never started: it only knows its expression. The library must not keep it in its list. */
export function cronTask(cron: string, timezone: string): ScheduledTask {
  const task = createTask(cron, () => {}, { timezone });
  task.destroy();
  return task;
}

export interface Cron {
  /**
   * The newest instant of the expression in (afterUs, untilUs], not further back than 35 days; undefined for none. An
   * hour that a change of the clock skips has none, one that it repeats has them twice.
   */
  latest(afterUs: number, untilUs: number): number | undefined;
  /** The first instant of the expression in [fromUs, beforeUs), not further ahead than 9 years; undefined for none. */
  next(fromUs: number, beforeUs: number): number | undefined;
}

/** Throws for an expression that `cronProblem` would name. */
export function createCron(cron: string, timezone: string): Cron {
  const [, ...hourAndRest] = cron.trim().split(/\s+/);
  const [, ...dayAndRest] = hourAndRest;
  const task = cronTask(cron, timezone);
  // Fits every minute of the hours in question: whole quarters of an hour can be skipped by it.
  const hours = cronTask(['*', ...hourAndRest].join(' '), timezone);
  const days = cronTask(['*', '*', ...dayAndRest].join(' '), timezone);

  function firstIn(fromMs: number, beforeMs: number): number | undefined {
    for (let atMs = fromMs; atMs < beforeMs; atMs += MINUTE_MS) {
      const quarterMs = Math.floor(atMs / QUARTER_MS) * QUARTER_MS;
      if (!hours.match(new Date(quarterMs))) atMs = quarterMs + QUARTER_MS - MINUTE_MS;
      else if (task.match(new Date(atMs))) return atMs;
    }
    return undefined;
  }

  return {
    latest(afterUs, untilUs) {
      const untilMs = Math.floor(untilUs / 1000 / MINUTE_MS) * MINUTE_MS;
      const afterMs = Math.max(afterUs / 1000, untilMs - LONGEST_LOOK_MS);
      for (let quarterMs = Math.floor(untilMs / QUARTER_MS) * QUARTER_MS; ; quarterMs -= QUARTER_MS) {
        if (quarterMs + QUARTER_MS <= afterMs) return undefined;
        if (!hours.match(new Date(quarterMs))) continue;
        const lastMs = Math.min(untilMs, quarterMs + QUARTER_MS - MINUTE_MS);
        for (let atMs = lastMs; atMs >= quarterMs && atMs > afterMs; atMs -= MINUTE_MS) {
          if (task.match(new Date(atMs))) return atMs * 1000;
        }
      }
    },
    next(fromUs, beforeUs) {
      const fromMs = Math.ceil(fromUs / 1000 / MINUTE_MS) * MINUTE_MS;
      const beforeMs = Math.min(beforeUs / 1000, fromMs + LONGEST_AHEAD_MS);
      for (let atMs = fromMs; atMs < beforeMs; atMs += HALF_DAY_MS) {
        const endMs = atMs + HALF_DAY_MS;
        if (!days.match(new Date(atMs)) && !days.match(new Date(endMs))) continue;
        const found = firstIn(atMs, Math.min(endMs, beforeMs));
        if (found !== undefined) return found * 1000;
      }
      return undefined;
    },
  };
}
