/**
 * What really happened in the regions, and which of it nestwatch must report: whatever could be read for as long as
 * finding it may take, while a daemon ran and its region answered.
 */
import type { TrueEvent } from '../../src/simulator/world/truth.ts';
import type { World } from '../../src/simulator/world/world.ts';
import type { History } from './inventory/inventory-history.ts';
import type { Interval, Remains } from './run.ts';

export const MINUTE_US = 60e6;
/** What comes later than this may be left to the audit. */
export const LATE_US = 100e6;
const FOUND_US = 10 * MINUTE_US;
const AUDIT_US = 25 * MINUTE_US;
const REVIEW_US = 80 * MINUTE_US;
/** Polls of Flights certainly look back no further. */
const LOOKED_BACK_US = 10 * MINUTE_US;
/** After an outage the daemon may wait this long before its next attempt: a refused token's next probe. */
const NEXT_LOOK_US = 6 * MINUTE_US;
/**
 * What happened this close to the first start may count as before or after it, because the service need not say when
 * it was.
 */
export const EDGE_US = 60e6;
const LOOKBACK_US = 3_600e6;
/** If our clock differs more than this from the service's, it counts as wrong. */
const MOST_SKEW_MS = 300_000;

export interface Expected extends TrueEvent {
  readonly world: World;
  /** It could be read, so it must have been found. */
  readonly isOwed: boolean;
  /**
   * False if a Flight has several ends and one of them was too short to be seen: then keys may number the others
   * differently.
   */
  readonly isCountable: boolean;
  /** Whether it can be told from history. If the service does not say when a Flight ended, its start decides. */
  readonly isDated: boolean;
  /**
   * It occurred after the watch of its Bird began, so alerts are due for it. Of a Bird that is listed later than its
   * region, the hour before counts.
   */
  readonly isNews: boolean;
  /** How long finding it may take, from `visibleAtUs` on. */
  readonly withinUs: number;
  /** How late it was shown. A Flight counts from its start, because polls look there. */
  readonly latenessUs: number;
  /** Nothing prevented finding it at once, and in time. */
  readonly isUndisturbed: boolean;
  readonly isUndisturbedWithin: boolean;
}

export function expectedOf(world: World, remains: Remains): Expected[] {
  const { startedAtUs, endedAtUs } = remains;
  const darkOfAll = darkOf(world, remains, []);
  const beganUs = watchBeganUs(darkOfAll, remains);
  return world.truth().events.map((event) => {
    const history = historyOf(event.birdId, world, remains);
    const gone = absencesOf(history);
    const firstListedUs = listedUs(gone, history[0]?.us ?? beganUs, beganUs);
    const dark = gone.length === 0 ? darkOfAll : darkOf(world, remains, gone);
    const goneAtUs = event.goneAtUs ?? endedAtUs;
    const lateUs = latenessUs(world, event);
    const withinUs = foundWithinUs(event, lateUs);
    const fromUs = Math.max(event.visibleAtUs, startedAtUs);
    const readableUs = goneAtUs - fromUs - overlap(dark, fromUs, goneAtUs);
    const isStillThere = event.goneAtUs === undefined && event.visibleAtUs < endedAtUs - withinUs;
    return {
      ...event,
      world,
      isOwed:
        (isStillThere || readableUs >= 2 * withinUs) &&
        isWithinLookback(world, event, dark, firstListedUs) &&
        (!isLaterEnd(event) || isAnotherEnd(world, event)),
      isCountable: event.feed !== 'flight' || isEveryEndSeen(world, event, dark, remains),
      isDated: isDated(world, event, dark, remains),
      isNews: event.occurredAtUs >= Math.max(beganUs, firstListedUs - LOOKBACK_US) + EDGE_US,
      withinUs,
      latenessUs: lateUs,
      isUndisturbed: isUndisturbed(5 * MINUTE_US),
      isUndisturbedWithin: isUndisturbed(withinUs),
    };

    function isUndisturbed(forUs: number): boolean {
      const { visibleAtUs } = event;
      return (
        visibleAtUs > startedAtUs + 10 * MINUTE_US &&
        overlap(dark, visibleAtUs - 10 * MINUTE_US, visibleAtUs + forUs) === 0
      );
    }
  });
}

/**
 * When the watch began: at the first start. If no answer reached a life of the daemon, only our clock knows of it,
 * and while that clock disagrees with the service's, this proves nothing. Then the watch began with the first life
 * that got an answer.
 */
function watchBeganUs(dark: readonly Interval[], { plan, down, startedAtUs }: Remains): number {
  const answeredUs = dark.reduce(
    (us, { fromUs, toUs }) => (fromUs <= us ? Math.max(us, toUs) : us),
    startedAtUs,
  );
  const steps = plan.clockSteps.filter(({ atMs }) => startedAtUs + atMs * 1000 <= answeredUs);
  const aheadMs = steps.reduce((sum, { byMs }) => sum + byMs, plan.clockAheadMs);
  if (Math.abs(aheadMs) <= MOST_SKEW_MS) return startedAtUs;
  return Math.max(startedAtUs, ...down.filter(({ toUs }) => toUs <= answeredUs).map(({ toUs }) => toUs));
}

/**
 * When the Bird was first listed: nobody need know of one that was gone when the watch began, or that vanished before a
 * reading must have shown it, and came back.
 */
function listedUs(gone: readonly Interval[], bornUs: number, beganUs: number): number {
  return gone.reduce(
    (us, { fromUs, toUs }) => (fromUs <= Math.max(us, bornUs) + NEXT_LOOK_US ? Math.max(us, toUs) : us),
    beganUs,
  );
}

/**
 * A first start reads an hour back. Flights that started earlier are known if they could be seen while active. The
 * first reading may come long after the first start, if a crash and an outage lie between them.
 */
function isWithinLookback(
  world: World,
  event: TrueEvent,
  dark: readonly Interval[],
  beganUs: number,
): boolean {
  const sinceUs = beganUs - LOOKBACK_US + EDGE_US;
  if (event.feed !== 'flight') return event.occurredAtUs > sinceUs;
  const flight = world.flights.get(event.key.split('/')[2]!);
  return flight!.startedAtUs > sinceUs || wasSeenInTheAir(event, dark, beganUs);
}

function isDated(
  world: World,
  event: TrueEvent,
  dark: readonly Interval[],
  { plan, startedAtUs }: Remains,
): boolean {
  if (event.feed !== 'flight') return true;
  const { behaviours } = plan.regions.find(({ region }) => region === world.region)!;
  const isAlwaysGiven = !behaviours.nullFields && !behaviours.missingFields;
  const flight = world.flights.get(event.key.split('/')[2]!)!;
  const isYoung = flight.startedAtUs > startedAtUs + EDGE_US;
  return isAlwaysGiven || isYoung || wasSeenInTheAir(event, dark, startedAtUs);
}

/** There was time to see the Flight active between the first start and its end. */
function wasSeenInTheAir(
  { occurredAtUs }: TrueEvent,
  dark: readonly Interval[],
  startedAtUs: number,
): boolean {
  return occurredAtUs - startedAtUs - overlap(dark, startedAtUs, occurredAtUs) > EDGE_US;
}

/**
 * How long finding an event may take while a daemon runs and its region answers. Sweeps and polls find most, the
 * audit what is too late for them. Flights that were shown late, or that ended once more long after their start, are
 * left to the hourly review.
 */
function foundWithinUs(event: TrueEvent, lateUs: number): number {
  const isLate = lateUs > LATE_US;
  if (event.feed === 'flight') return isLate || isLaterEnd(event) ? REVIEW_US : FOUND_US;
  return isLate ? AUDIT_US : FOUND_US;
}

/** How late it was shown. A Flight counts from its start, because polls look there. */
function latenessUs(world: World, event: TrueEvent): number {
  const flight = event.feed === 'flight' ? world.flights.get(event.key.split('/')[2]!) : undefined;
  if (flight) return flight.visibleAtUs - flight.startedAtUs;
  return event.visibleAtUs - event.occurredAtUs;
}

function isLaterEnd(event: TrueEvent): boolean {
  return event.key.includes('#');
}

/**
 * A review notices that a Flight has ended differently than before, but not that it has ended once more in the same
 * way.
 */
function isAnotherEnd(world: World, event: TrueEvent): boolean {
  const { ends } = world.flights.get(event.key.split('/')[2]!)!;
  return ends.every(({ status }, index) => status !== ends[index - 1]?.status);
}

/** Whether each phase of the Flight, active or ended, could be read before the next one began. */
function isEveryEndSeen(
  world: World,
  event: TrueEvent,
  dark: readonly Interval[],
  remains: Remains,
): boolean {
  const flight = world.flights.get(event.key.split('/')[2]!)!;
  if (flight.ends.length < 2) return true;
  const isLate = latenessUs(world, event) > LATE_US;
  const turns = flight.ends.flatMap(({ endedAtUs, reopenedAtUs }) => [
    endedAtUs,
    reopenedAtUs ?? remains.endedAtUs,
  ]);
  return turns.every((atUs, index) => {
    const nextUs = turns[index + 1];
    if (nextUs === undefined) return true;
    const fromUs = Math.max(atUs, flight.visibleAtUs, remains.startedAtUs);
    // A Flight that was shown late, or that had ended and became active again, is behind what polls look at: only
    // reviews read it.
    const reopenedUs = index === 0 ? 0 : turns[index % 2 === 1 ? index : index - 1]!;
    const isBehind = isLate || reopenedUs - flight.startedAtUs > LOOKED_BACK_US;
    const neededUs = isBehind ? REVIEW_US : 6 * MINUTE_US;
    return nextUs - fromUs - overlap(dark, fromUs, nextUs) >= neededUs;
  });
}

/** The times in which a region could not be read, and those of `also`. */
function darkOf(world: World, { plan, down, startedAtUs }: Remains, also: readonly Interval[]): Interval[] {
  const { outages } = plan.regions.find(({ region }) => region === world.region)!;
  const spans = [
    ...also,
    ...down.map(({ fromUs, toUs }) => ({ fromUs: fromUs - MINUTE_US, toUs: toUs + 2 * MINUTE_US })),
    ...outages.map(({ atMs, forMs }) => {
      const fromUs = startedAtUs + atMs * 1000;
      return { fromUs, toUs: fromUs + forMs * 1000 + NEXT_LOOK_US };
    }),
  ].sort((a, b) => a.fromUs - b.fromUs);
  const merged: Interval[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last && span.fromUs <= last.toUs) last.toUs = Math.max(last.toUs, span.toUs);
    else merged.push(span);
  }
  return merged;
}

function historyOf(birdId: string, world: World, { inventories }: Remains): History {
  const own = inventories.find((one) => one.world.region === world.region);
  return own?.histories.get(`bird/${birdId}`) ?? [];
}

/** The times in which a Bird that came back was not listed, until a reading must have shown it. */
function absencesOf(history: History): Interval[] {
  return history.flatMap(({ us, value }, at) => {
    const back = history[at + 1];
    return value === false && back ? [{ fromUs: us, toUs: back.us + NEXT_LOOK_US }] : [];
  });
}

function overlap(intervals: readonly Interval[], fromUs: number, toUs: number): number {
  return intervals.reduce(
    (sum, one) => sum + Math.max(0, Math.min(one.toUs, toUs) - Math.max(one.fromUs, fromUs)),
    0,
  );
}
