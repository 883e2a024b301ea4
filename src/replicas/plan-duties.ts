/**
 * Which duties a replica takes, and which it gives to another. Every replica decides for itself from the same view, one
 * after another, so nothing is agreed upon and nobody leads.
 *
 * - What is nobody's is taken at once, by whoever has least to do: a watch that stands still is worse than an uneven one.
 * - What somebody owns moves calmly: only from the replica that has most to do, only to one that has lived for a while,
 *   only while the two are clearly uneven, and nothing that came a moment ago. Each move makes the largest
 *   load smaller, so the moves come to an end, and no duty goes to and fro.
 * - While replicas take up another configuration one after the other, alerting falls to those that have.
 * - One that did not reach a region, which another one did, is left out for hours where there are others.
 * - One for which the store is much slower than for others is left out, and they take what it has: all that is done
 *   takes many requests to the store, one after another, and whatever waits there in line.
 */
import {
  ALERTING,
  type DutyRecord,
  type Lease,
  type OwnershipView,
  type ReplicaRecord,
} from '../store/ownership-store.ts';

/** What a replica may own, and whether it moves for the sake of evenness. */
export interface WantedDuty {
  readonly duty: string;
  /** It stays where it is: moving it makes nothing more even. */
  readonly isFixed?: boolean;
}

export interface DutyPlan {
  readonly take: readonly string[];
  readonly give: readonly string[];
  /** What it takes from another one, as that has it now. */
  readonly seize: readonly Lease[];
}

/** A replica that lives for less is given nothing that others have: it may end again, as one that cannot start does. */
const SETTLED_US = 30e6;
/** What an owner has for less stays with it. */
const HELD_US = 60e6;
/** One that has less to do, and has not taken what is nobody's for so long, does not want it. */
const LEFT_LYING_US = 15e6;
/** Two that differ by less than this part of what a replica has to do on average are even enough. */
const WORTH_MOVING = 1 / 5;
/** For so long a replica from which another one had to take a region is left out. */
const LEFT_OUT_US = 6 * 3_600e6;
/** What the store may take to answer without being slow, and how much slower than for others it may be. */
const SLOW_MS = 100;
const TIMES_SLOWER = 5;
/** Moves at a time. */
const MOST_GIVEN = 4;
/** Of a duty that nobody has done yet. */
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

/** Whether it may be removed, and takes nothing. */
export function isExpired({ expiresUs }: ReplicaRecord, { nowUs }: Pick<OwnershipView, 'nowUs'>): boolean {
  return expiresUs <= nowUs;
}

/** What falls to `me` when each in turn goes to whoever has least to do; and what somebody else leaves lying. */
function shareOut(
  free: readonly Pick<DutyRecord, 'duty' | 'sinceUs' | 'weight'>[],
  staying: readonly ReplicaRecord[],
  load: Map<number, number>,
  me: number,
  nowUs: number,
): string[] {
  return free
    .filter((one) => {
      const { replica } = leastLoaded(one.duty === ALERTING ? upToDateOf(staying) : staying, load);
      load.set(replica, load.get(replica)! + weightOf(one));
      return replica === me || nowUs - one.sinceUs > LEFT_LYING_US;
    })
    .map(({ duty }) => duty);
}

/** Those that go by the configuration that came into force last. */
function upToDateOf(replicas: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const last = replicas.reduce((a, b) => (b.config.sinceUs > a.config.sinceUs ? b : a));
  return replicas.filter(({ config }) => config.digest === last.config.digest);
}

interface Situation {
  readonly nowUs: number;
  readonly load: ReadonlyMap<number, number>;
  readonly known: ReadonlyMap<string, DutyRecord>;
}

/** Those for which the store is about as quick as for the quickest, and of which that is not known. */
function quickOf(staying: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const known = staying.flatMap(({ turnMs }) => (turnMs > 0 ? [turnMs] : []));
  const slowMs = Math.max(SLOW_MS, TIMES_SLOWER * Math.min(...known));
  return staying.filter(({ turnMs }) => turnMs <= slowMs);
}

/** Of what slow ones have, what falls to `me` when each in turn goes to whoever has least to do. */
function shareOutSlow(
  me: number,
  wanted: readonly WantedDuty[],
  { staying, quick, among }: Readonly<Record<'staying' | 'quick' | 'among', readonly ReplicaRecord[]>>,
  { nowUs, load: before, known }: Situation,
): Lease[] {
  const slow = new Set(staying.filter((one) => !quick.includes(one)).map(({ replica }) => replica));
  const settled = among.filter(({ startedUs }) => nowUs - startedUs >= SETTLED_US);
  if (slow.size === 0 || settled.length === 0) return [];
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
    const least = leastLoaded(settled, load);
    if (most.replica !== me || least.replica === me) break;
    const gap = load.get(me)! - load.get(least.replica)!;
    const best = mostEven(movable, gap);
    if (!best || gap < worth || !isWorthMoving(best, gap, worth)) break;
    movable.delete(best.duty);
    load.set(me, load.get(me)! - best.weight);
    load.set(least.replica, load.get(least.replica)! + best.weight);
    given.push(best.duty);
  }
  return given;
}

/**
 * Whether it brings the two of them nearer to each other by what is worth a move, or, however little that is, leaves its
 * owner with no less than the other: several of those make them even.
 */
function isWorthMoving({ weight }: { readonly weight: number }, gap: number, worth: number): boolean {
  return 2 * weight <= gap || gap - Math.abs(gap - 2 * weight) >= worth;
}

/** The one that leaves least between two replicas that are so far apart. */
function mostEven(movable: ReadonlyMap<string, number>, gap: number) {
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

/** The oldest of those that have least to do. */
function leastLoaded(replicas: readonly ReplicaRecord[], load: ReadonlyMap<number, number>): ReplicaRecord {
  return replicas.reduce((a, b) => (load.get(b.replica)! < load.get(a.replica)! ? b : a));
}

function weightOf({ weight }: { readonly weight: number }): number {
  return weight > 0 ? weight : UNKNOWN_WEIGHT;
}
