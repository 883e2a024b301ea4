/**
 * Evaluates time windows that a cron expression opens repeatedly. Whether one is open depends on when the expression
 * last matched.
 */
import { LIMITS } from '../../limits.ts';
import { type Cron, createCron, cronProblem } from '../../time/cron.ts';
import type { Recurrence, Recurrences } from './silence.ts';

const MINUTE_MS = 60_000;
const LONGEST_MS = 7 * 24 * 60 * MINUTE_MS;

/** A recurrence, and its newest opening at any instant in [fromUs, untilUs); undefined if its window is over by then. */
interface Known {
  readonly cron: Cron;
  fromUs: number;
  untilUs: number;
  openedUs: number | undefined;
}

export function createRecurrences(): Recurrences {
  const known = new Map<string, Known>();

  function look({ cron, timezone, durationMs }: Recurrence): Known {
    // How far back was searched depends on the duration: the result for a shorter one is not enough for a longer one.
    const key = JSON.stringify([cron, timezone, durationMs]);
    const found = known.get(key);
    if (found) return found;
    const made = { cron: createCron(cron, timezone), fromUs: 0, untilUs: 0, openedUs: undefined };
    // Silences come and go, so the oldest entry is evicted.
    const [oldest] = known.size >= LIMITS.silences.most ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, made);
    return made;
  }

  return {
    problem,
    nextOpening: (recurrence, fromUs, beforeUs) => look(recurrence).cron.next(fromUs, beforeUs),
    isOpen(recurrence, nowUs) {
      const one = look(recurrence);
      const closedUs = nowUs - recurrence.durationMs * 1000;
      if (nowUs < one.fromUs || nowUs >= one.untilUs) {
        one.openedUs = one.cron.latest(closedUs, nowUs);
        one.fromUs = nowUs;
        one.untilUs = one.cron.next(nowUs + 1, Number.POSITIVE_INFINITY) ?? Number.POSITIVE_INFINITY;
      }
      return one.openedUs !== undefined && one.openedUs > closedUs;
    },
  };
}

function problem({ cron, timezone, durationMs }: Recurrence): string | undefined {
  const mistake = cronProblem(cron, timezone);
  if (mistake) return mistake;
  const isInBounds = durationMs >= MINUTE_MS && durationMs <= LONGEST_MS;
  return isInBounds ? undefined : 'the duration must be at least 1m and not longer than 7d';
}
