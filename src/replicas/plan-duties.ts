/**
 * Decides which duties a replica takes, and which it gives to another. Every replica decides for itself from the same
 * state, one after another, so there is no vote and no leader.
 *
 * - An unowned duty is taken at once, by the replica with the fewest: a watch that stands still is worse than an uneven
 *   one.
 * - A region moves cautiously: only to a replica with at least two regions fewer, only if that one has been a member
 *   for a while, and only if the region did not just come. So moves come to an end and no region goes back and forth.
 * - Alerting and repeating do not move for balance: moving what is done once for all balances nothing.
 * - While replicas load a new configuration one after the other, alerting goes to those that have done so.
 * - No region is left to a replica whose configuration does not have it.
 * - A replica that could not reach a region which another one reached is left out for hours, if there are others.
 * - A replica for which the store is much slower than for others is left out, and gives away what it has. All work
 *   makes many requests to the store, one after another, and other work waits behind it.
 */
import { ALERTING, type OwnershipView, type ReplicaRecord, regionOf } from '../store/ownership-store.ts';

export interface DutyPlan {
  readonly take: readonly string[];
  readonly give: readonly string[];
}

/** A replica younger than this is given nothing that others own: it may end again, like one that cannot start. */
const SETTLED_US = 30e6;
/** A duty does not move before it has been owned for this long. */
const HELD_US = 60e6;
/** If the replica with the fewest duties has not taken an unowned one for this long, it does not want it. */
const LEFT_LYING_US = 15e6;
/** For this long, a replica is left out after another one had to take over a region from it. */
const LEFT_OUT_US = 6 * 3_600e6;
/**
 * The store is slow for a replica if it takes longer than `SLOW_MS`, and `TIMES_SLOWER` times as long as for the
 * fastest.
 */
const SLOW_MS = 100;
const TIMES_SLOWER = 5;

/** `wanted`: the duties that `me` works on if it owns them. */
export function planDuties(
  me: number,
  wanted: readonly string[],
  { nowUs, replicas, duties }: OwnershipView,
): DutyPlan {
  const staying = replicas.filter((one) => !one.isLeaving && !isExpired(one, { nowUs }));
  const own = staying.find(({ replica }) => replica === me);
  if (!own) return { take: [], give: [] };
  const known = new Map(duties.map((one) => [one.duty, one]));
  const owned = new Map(
    staying.map(({ replica }) => [
      replica,
      duties.filter(({ owner }) => owner === replica).map(({ duty }) => duty),
    ]),
  );
  const quick = quickOf(staying);
  const able = quick.filter(({ relievedUs }) => relievedUs === 0 || nowUs - relievedUs >= LEFT_OUT_US);
  const among = able.length > 0 ? able : quick;

  const free = wanted.filter((duty) => (known.get(duty)?.owner ?? 0) === 0).toSorted();
  if (free.length > 0) {
    const take = free.filter((duty) => {
      const taker = takerOf(duty, among, owned);
      if (!taker) return true;
      owned.get(taker.replica)!.push(duty);
      return taker.replica === me || nowUs - (known.get(duty)?.sinceUs ?? own.startedUs) > LEFT_LYING_US;
    });
    return { take, give: [] };
  }

  const others = among.filter((one) => one.replica !== me && nowUs - one.startedUs >= SETTLED_US);
  const movable = wanted.filter((duty) => {
    const { owner, sinceUs = 0 } = known.get(duty) ?? {};
    return owner === me && nowUs - sinceUs >= HELD_US;
  });
  if (!quick.includes(own)) return { take: [], give: movable.filter((duty) => takerOf(duty, others, owned)) };
  const given = movable.find((duty) => {
    const taker = regionOf(duty) === undefined ? undefined : takerOf(duty, others, owned);
    return taker && loadOf(own, duty, owned) - loadOf(taker, duty, owned) >= 2;
  });
  return { take: [], give: given === undefined ? [] : [given] };
}

/** Whether the replica may be removed. It takes nothing any more. */
export function isExpired({ expiresUs }: ReplicaRecord, { nowUs }: Pick<OwnershipView, 'nowUs'>): boolean {
  return expiresUs <= nowUs;
}

/** The oldest of those replicas with the least load that work on the duty; undefined if none does. */
function takerOf(duty: string, replicas: readonly ReplicaRecord[], owned: Owned): ReplicaRecord | undefined {
  const takers =
    duty === ALERTING ? upToDateOf(replicas) : replicas.filter((replica) => isWanted(duty, replica));
  return takers.toSorted((a, b) => loadOf(a, duty, owned) - loadOf(b, duty, owned))[0];
}

/** The duties of each replica. */
type Owned = ReadonlyMap<number, string[]>;

/** How much the replica does: for a region the number of its regions, for other duties that of all. */
function loadOf({ replica }: ReplicaRecord, duty: string, owned: Owned): number {
  const all = owned.get(replica)!;
  return regionOf(duty) === undefined ? all.length : all.filter((one) => regionOf(one) !== undefined).length;
}

/** Whether the replica works on the duty if it falls to it. */
function isWanted(duty: string, { config: { regions } }: ReplicaRecord): boolean {
  const region = regionOf(duty);
  return region === undefined || regions === undefined || regions.includes(region);
}

/** The replicas that use the configuration that took effect last. */
function upToDateOf(replicas: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const last = Math.max(...replicas.map(({ config }) => config.sinceUs));
  const { digest } = replicas.find(({ config }) => config.sinceUs === last)?.config ?? {};
  return replicas.filter(({ config }) => config.digest === digest);
}

/** The replicas for which the store is about as fast as for the fastest, and those for which that is not known. */
function quickOf(staying: readonly ReplicaRecord[]): readonly ReplicaRecord[] {
  const known = staying.flatMap(({ turnMs }) => (turnMs > 0 ? [turnMs] : []));
  const slowMs = Math.max(SLOW_MS, TIMES_SLOWER * Math.min(...known));
  return staying.filter(({ turnMs }) => turnMs <= slowMs);
}
