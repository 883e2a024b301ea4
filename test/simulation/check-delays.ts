/** Checks that events were found as soon as they could be. */
import type { Feed } from '../../src/domain/alert/event.ts';
import { parseInstant } from '../../src/time/instant.ts';
import { type Expected, MINUTE_US } from './expected.ts';
import type { Find } from './finding.ts';
import type { Arrival } from './receivers.ts';
import type { Remains } from './run.ts';

/** Later than the initial overlap, but within what overlaps can grow to. */
const LEARNABLE = { fromUs: 150e6, toUs: 480e6 };
/** From this many late entries, within that time, the daemon learns how late they are. */
const LESSONS = 4;
const LEARNED_US = 20 * MINUTE_US;
const FORGOTTEN_US = 60 * MINUTE_US;
/**
 * This many are judged together, and half of them must be found by then: sweeps are faster than that, audits slower.
 */
const JUDGED = 6;
const SWEPT_US = 2.5 * MINUTE_US;

export function checkDelays(
  remains: Remains,
  truth: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
  find: Find,
): void {
  for (const event of truth) {
    if (!event.isUndisturbedWithin || !event.isOwed) continue;
    const delayUs = (foundUs(event.key, seen, remains) ?? 0) - event.visibleAtUs;
    if (delayUs <= event.withinUs) continue;
    find('unexplained', 'found late', `${event.key} after ${whole(delayUs / 60e6)} min`);
  }
  for (const { region } of remains.worlds) {
    for (const feed of ['notification', 'bird_log'] satisfies Feed[]) {
      const late = truth.filter((event) => {
        const isLearnable = event.latenessUs > LEARNABLE.fromUs && event.latenessUs < LEARNABLE.toUs;
        return isLearnable && event.world.region === region && event.feed === feed;
      });
      checkLearning(late, seen, remains, (what) =>
        find('unexplained', 'lateness not learned', `${region} ${feed}: ${what}`),
      );
    }
  }
}

/**
 * Once the daemon knows that entries are late, and by how much, sweeps must look back far enough to find them at
 * once.
 */
function checkLearning(
  late: readonly Expected[],
  seen: ReadonlyMap<string, Arrival>,
  remains: Remains,
  find: (what: string) => void,
): void {
  const delaysUs: number[] = [];
  for (const event of late) {
    const atUs = foundUs(event.key, seen, remains);
    if (atUs === undefined || !event.isUndisturbed) continue;
    const bornUs = remains.down.findLast(({ toUs }) => toUs < event.visibleAtUs)?.toUs ?? remains.startedAtUs;
    const lessons = late.filter(({ visibleAtUs, latenessUs }) => {
      const agoUs = event.visibleAtUs - visibleAtUs;
      const isInTime = agoUs > LEARNED_US && agoUs < FORGOTTEN_US && visibleAtUs > bornUs;
      return isInTime && latenessUs >= event.latenessUs;
    });
    if (lessons.length >= LESSONS) delaysUs.push(atUs - event.visibleAtUs);
  }
  if (delaysUs.length < JUDGED) return;
  const medianUs = delaysUs.toSorted((a, b) => a - b)[delaysUs.length >> 1]!;
  if (medianUs > SWEPT_US) find(`half of ${delaysUs.length} took ${whole(medianUs / 1e6)} s`);
}

/**
 * When the daemon saw the event, as it says itself, corrected by how far its clock was ahead; if two offsets are
 * possible, the one before the clock was set. Undefined for an event that never arrived.
 */
function foundUs(
  key: string,
  seen: ReadonlyMap<string, Arrival>,
  { plan: { clockAheadMs, clockSteps }, startedAtUs }: Remains,
): number | undefined {
  const observedAt = seen.get(key)?.events.find((event) => event.key === key)?.observed_at;
  const observedUs = parseInstant(observedAt ?? '')?.us;
  if (observedUs === undefined) return undefined;
  const sinceMs = [0, ...clockSteps.map(({ atMs }) => atMs)].sort((a, b) => a - b);
  for (const [index, fromMs] of sinceMs.entries()) {
    const stepsMs = clockSteps.reduce((sum, { atMs, byMs }) => sum + (atMs <= fromMs ? byMs : 0), 0);
    const atUs = observedUs - (clockAheadMs + stepsMs) * 1000;
    if (atUs <= startedAtUs + (sinceMs[index + 1] ?? Number.POSITIVE_INFINITY) * 1000) return atUs;
  }
  return undefined;
}

function whole(value: number): string {
  return value.toFixed(0);
}
