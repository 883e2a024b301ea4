/**
 * Windows of time that a cron expression opens again and again. node-cron says whether an expression fits an
 * instant; from that follows whether a window is open. An hour that a change of the clock skips opens nothing, one
 * that it repeats opens twice.
 */
import type { ScheduledTask } from 'node-cron';
import { createCron, cronProblem, cronTask } from '../../time/cron.ts';
import type { Recurrence, Recurrences } from './silence.ts';

const MINUTE_MS = 60_000;
/** Finding the last opening walks over the minutes of one duration: 0.1 s for this one. */
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS;
/** Recurrences whose last opening is remembered. */
const MAX_KNOWN = 200;

/** What is known of a recurrence: its newest opening up to `checkedTo`, both in whole minutes. */
interface Known {
  readonly task: ScheduledTask;
  checkedTo: number;
  openedAt: number;
}

export function createRecurrences(): Recurrences {
  const known = new Map<string, Known>();

  function look({ cron, timezone, durationMs }: Recurrence): Known {
    // How far back was looked follows from the duration: a shorter one knows too little for a longer one.
    const key = JSON.stringify([cron, timezone, durationMs]);
    const found = known.get(key);
    if (found) return found;
    if (known.size >= MAX_KNOWN) known.clear();
    const made = { task: cronTask(cron, timezone), checkedTo: Number.NEGATIVE_INFINITY, openedAt: -1 };
    known.set(key, made);
    return made;
  }

  return {
    problem,
    nextOpening: ({ cron, timezone }, fromUs, beforeUs) => createCron(cron, timezone).next(fromUs, beforeUs),
    isOpen(recurrence, nowUs) {
      const one = look(recurrence);
      const nowMs = nowUs / 1000;
      const now = Math.floor(nowMs / MINUTE_MS);
      const first = Math.floor((nowMs - recurrence.durationMs) / MINUTE_MS);
      // A clock that was set back makes what was found worthless.
      const from = one.checkedTo > now ? first : Math.max(first, one.checkedTo + 1);
      if (one.checkedTo > now) one.openedAt = -1;
      for (let minute = now; minute >= from; minute -= 1) {
        if (!one.task.match(new Date(minute * MINUTE_MS))) continue;
        one.openedAt = minute;
        break;
      }
      one.checkedTo = now;
      return one.openedAt >= 0 && one.openedAt * MINUTE_MS > nowMs - recurrence.durationMs;
    },
  };
}

function problem({ cron, timezone, durationMs }: Recurrence): string | undefined {
  const mistake = cronProblem(cron, timezone);
  if (mistake) return mistake;
  const isInBounds = durationMs >= MINUTE_MS && durationMs <= LONGEST_MS;
  return isInBounds ? undefined : 'the duration must be at least 1m and not longer than 7d';
}
