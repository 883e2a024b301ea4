/**
 * Decides which duties a replica takes, and which it gives to another. Every replica decides for itself from the same
 * state, one after another, so there is no vote and no leader.
 *
 * - An unowned duty is taken at once, by the replica with the least load: a watch that stands still is worse than an
 *   uneven one.
 * - An owned duty moves cautiously: only from the replica with the most load, only to one that has been a member for a
 *   while, only if the two are clearly uneven, and only if it did not just come. Each move lowers the largest load, so
 *   moves come to an end and no duty goes back and forth.
 * - While replicas load a new configuration one after the other, alerting goes to those that have done so.
 * - No region is left to a replica whose configuration does not have it.
 * - A replica that could not reach a region which another one reached is left out for hours, if there are others.
 * - A replica for which the store is much slower than for others is left out, and they take over what it has. All work
 *   makes many requests to the store, one after another, and other work waits behind it.
 */
import {
  ALERTING,
  type DutyRecord,
  type Lease,
  type OwnershipView,
  type ReplicaRecord,
  regionOf,
} from '../store/ownership-store.ts';

/** A duty that a replica may own. */
export interface WantedDuty {
  readonly duty: string;
  /** It does not move for balance. */
  readonly isFixed?: boolean;
}

export interface DutyPlan {
  readonly take: readonly string[];
  readonly give: readonly string[];
  /** The leases of other replicas whose duties it takes over. */
  readonly seize: readonly Lease[];
}

/** A replica younger than this is given nothing that others own: it may end again, like one that cannot start. */
const SETTLED_US = 30e6;
/** A duty does not move before it has been owned for this long. */
const HELD_US = 60e6;
/** If the replica with the least load has not taken an unowned duty for this long, it does not want it. */
const LEFT_LYING_US = 15e6;
/** Two loads that differ by less than this share of the average load are even enough. */
const WORTH_MOVING = 1 / 5;
/** For this long, a replica is left out after another one had to take over a region from it. */
const LEFT_OUT_US = 6 * 3_600e6;
/**
 * The store is slow for a replica if it takes longer than `SLOW_MS`, and `TIMES_SLOWER` times as long as for the
 * fastest.
 */
const SLOW_MS = 100;
const TIMES_SLOWER = 5;
/** The most duties given away at a time. */
const MOST_GIVEN = 4;
/** The weight of a duty that nobody has worked on yet. */
const UNKNOWN_WEIGHT = 1;

export function planDuties(
  me: number,
  wanted: readonly WantedDuty[],
  { nowUs, replicas, duties }: OwnershipView,
): DutyPlan {
  const load = loadOf(replicas, duties);
  const known = new Map(duties.map((one) => [one.duty, one]));
  const staying = replicas.filter((one) => !one.isLeaving && !isExpired(one, { nowUs }));
  const own = staying.find(({ replica }) => replica === me);
  if (!own) return { take: [], give: [], seize: [] };
  const free = wanted
    .map(({ duty }) => known.get(duty) ?? { duty, owner: 0, sinceUs: own.startedUs, weight: 0 })
    .filter(({ owner }) => owner === 0)
    .toSorted((a, b) => weightOf(b) - weightOf(a) || (a.duty < b.duty ? -1 : 1));
  const quick = quickOf(staying);
  const able = quick.filter(({ relievedUs }) => relievedUs === 0 || nowUs - relievedUs >= LEFT_OUT_US);
  const among = able.length > 0 ? able : quick;
  if (free.length > 0) return { take: shareOut(free, among, load, me, nowUs), give: [], seize: [] };
  const situation = { nowUs, load, known };
  const seize = shareOutSlow(me, wanted, { staying, quick, among }, situation);
  return { take: [], give: seize.length > 0 ? [] : chooseGiven(me, wanted, among, situation), seize };
}

/** Whether the replica may be removed. It takes nothing any more. */
export function isExpired({ expiresUs }: ReplicaRecord, { nowUs }: Pick<OwnershipView, 'nowUs'>): boolean {
  return expiresUs <= nowUs;
}

/**
 * The duties that fall to `me`, which wants them all, if each in turn goes to the replica with the least load; those
 * that none of these replicas wants; and those that another one should have taken long ago.
 */
function shareOut(
  free: readonly Pick<DutyRecord, 'duty' | 'sinceUs' | 'weight'>[],
  staying: readonly ReplicaRecord[],
  load: Map<number, number>,
  me: number,
  nowUs: number,
): string[] {
  return free
    .filter((one) => {
      const takers =
        one.duty === ALERTING
          ? upToDateOf(staying)
          : staying.filter((replica) => isWanted(one.duty, replica));
      if (takers.length === 0) return true;
      const { replica } = leastLoaded(takers, load);
      load.set(replica, load.get(replica)! + weightOf(one));
      return replica === me || nowUs - one.sinceUs > LEFT_LYING_US;
    })
    .map(({ duty }) => duty);
}

/** Whether the replica works on the duty if it falls to it. */
function isWanted(duty: string, { config: { regions } }: ReplicaRecord): boolean {
  const region = regionOf(duty);
  return region === undefined || regions === undefined || regions.includes(region);
}

/** The replicas that use the configuration that took effect last. */
function upToDateOf(replicas: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const last = replicas.reduce((a, b) => (b.config.sinceUs > a.config.sinceUs ? b : a));
  return replicas.filter(({ config }) => config.digest === last.config.digest);
}

interface Situation {
  readonly nowUs: number;
  readonly load: ReadonlyMap<number, number>;
  readonly known: ReadonlyMap<string, DutyRecord>;
}

/** The replicas for which the store is about as fast as for the fastest, and those for which that is not known. */
function quickOf(staying: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const known = staying.flatMap(({ turnMs }) => (turnMs > 0 ? [turnMs] : []));
  const slowMs = Math.max(SLOW_MS, TIMES_SLOWER * Math.min(...known));
  return staying.filter(({ turnMs }) => turnMs <= slowMs);
}

/** The leases of slow replicas that fall to `me` if each in turn goes to the replica with the least load. */
function shareOutSlow(
  me: number,
  wanted: readonly WantedDuty[],
  { staying, quick, among }: Readonly<Record<'staying' | 'quick' | 'among', readonly ReplicaRecord[]>>,
  { nowUs, load: before, known }: Situation,
): Lease[] {
  const slow = new Set(staying.filter((one) => !quick.includes(one)).map(({ replica }) => replica));
  const settled = among.filter(({ startedUs }) => nowUs - startedUs >= SETTLED_US);
  if (slow.size === 0 || !settled.some(({ replica }) => replica === me)) return [];
  const theirs = wanted
    .flatMap(({ duty }) => known.get(duty) ?? [])
    .filter(({ owner, sinceUs }) => slow.has(owner) && nowUs - sinceUs >= HELD_US);
  const mine = shareOut(theirs, settled, new Map(before), me, Number.NEGATIVE_INFINITY);
  return theirs.flatMap(({ duty, epoch }) => (mine.includes(duty) ? [{ duty, epoch }] : []));
}

function chooseGiven(
  me: number,
  wanted: readonly WantedDuty[],
  staying: readonly ReplicaRecord[],
  { nowUs, load: before, known }: Situation,
): string[] {
  const load = new Map(before);
  const settled = staying.filter(({ startedUs }) => nowUs - startedUs >= SETTLED_US);
  const loads = staying.map(({ replica }) => load.get(replica)!);
  const worth = (WORTH_MOVING * loads.reduce((sum, one) => sum + one, 0)) / staying.length;
  const movable = new Map(
    wanted
      .filter(({ isFixed }) => !isFixed)
      .flatMap(({ duty }) => known.get(duty) ?? [])
      .filter(({ owner, sinceUs }) => owner === me && nowUs - sinceUs >= HELD_US)
      .map((one) => [one.duty, weightOf(one)]),
  );
  const given: string[] = [];
  while (given.length < MOST_GIVEN && settled.length > 0) {
    const most = staying.reduce((a, b) => (load.get(b.replica)! > load.get(a.replica)! ? b : a));
    const takers = settled.filter(
      (one) => one.replica !== me && [...movable.keys()].some((duty) => isWanted(duty, one)),
    );
    if (most.replica !== me || takers.length === 0) break;
    const least = leastLoaded(takers, load);
    const gap = load.get(me)! - load.get(least.replica)!;
    const best = mostEven(
      [...movable].filter(([duty]) => isWanted(duty, least)),
      gap,
    );
    if (!best || gap < worth || !isWorthMoving(best, gap, worth)) break;
    movable.delete(best.duty);
    load.set(me, load.get(me)! - best.weight);
    load.set(least.replica, load.get(least.replica)! + best.weight);
    given.push(best.duty);
  }
  return given;
}

/**
 * Whether a move is worth it: it reduces the gap by at least `worth`, or leaves the owner with no less load than the
 * other. A move of the latter kind may be small, but several of them make the two even.
 */
function isWorthMoving({ weight }: { readonly weight: number }, gap: number, worth: number): boolean {
  return 2 * weight <= gap || gap - Math.abs(gap - 2 * weight) >= worth;
}

/** The duty whose move leaves the smallest gap. */
function mostEven(movable: readonly (readonly [duty: string, weight: number])[], gap: number) {
  let best: { readonly duty: string; readonly weight: number } | undefined;
  for (const [duty, weight] of movable) {
    if (!best || Math.abs(gap - 2 * weight) < Math.abs(gap - 2 * best.weight)) best = { duty, weight };
  }
  return best;
}

function loadOf(replicas: readonly ReplicaRecord[], duties: readonly DutyRecord[]): Map<number, number> {
  const load = new Map(replicas.map(({ replica }) => [replica, 0]));
  for (const duty of duties) {
    const before = load.get(duty.owner);
    if (before !== undefined) load.set(duty.owner, before + weightOf(duty));
  }
  return load;
}

/** The oldest of the replicas with the least load. */
function leastLoaded(replicas: readonly ReplicaRecord[], load: ReadonlyMap<number, number>): ReplicaRecord {
  return replicas.reduce((a, b) => (load.get(b.replica)! < load.get(a.replica)! ? b : a));
}

function weightOf({ weight }: { readonly weight: number }): number {
  return weight > 0 ? weight : UNKNOWN_WEIGHT;
}
