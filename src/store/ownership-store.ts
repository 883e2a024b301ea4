/**
 * Stores which replica does what, if several replicas share the store. A *replica* is one run of a process. It stays
 * a member as long as it renews in time. A *duty* is work that one replica does at a time: reading a region, or
 * alerting. The owner of a duty holds a *lease*: the duty with an *epoch*, which grows each time the duty changes its
 * owner. An owner shows its lease in each of its transactions, so an owner that was paused while others took over
 * commits nothing.
 *
 *   unowned ──take──► owned by a replica ──release──► unowned
 *                           │                            ▲
 *                           └── the replica is removed ──┘
 *
 * Time is the store's own, which on a server is not that of any replica, so clocks that disagree do no harm. A lease
 * ends only when its replica is removed, so a late renewal costs nothing unless another replica wants the duty.
 */

/** Duties are identified by these names, which must not change while a store is kept. */
export const ALERTING = 'alerting';
const REGION = 'region ';

/** The name of the duty to read a region. */
export function regionDuty(region: string): string {
  return `${REGION}${region}`;
}

/** The region of a duty to read one; undefined for other duties. */
export function regionOf(duty: string): string | undefined {
  return duty.startsWith(REGION) ? duty.slice(REGION.length) : undefined;
}

/** One run of a process that shares the store. */
export interface ReplicaRecord {
  /** From 1, never reused. */
  readonly replica: number;
  /** A name for people, usually the host's. If several replicas have the same, their number is appended: `web-1#7`. */
  readonly name: string;
  readonly version: string;
  readonly startedUs: number;
  /** It may be removed from then on, unless it renews before. */
  readonly expiresUs: number;
  /** It is about to end and takes no more duties. */
  readonly isLeaving: boolean;
  /** A lower bound of how far its own clock is ahead of the store's; negative if it is behind. */
  readonly clockAheadUs: number;
  /** Why its configuration file is not in force; undefined if it is. */
  readonly refused: RefusedFile | undefined;
  readonly config: ConfigInForce;
  /** The best response time of the store that it measured recently; 0 if unknown. */
  readonly turnMs: number;
  /** When another replica last took over a region that this one could not reach; 0 for never. */
  readonly relievedUs: number;
}

/** Clocks synchronised by NTP differ by milliseconds. */
const MOST_APART_US = 5e6;

/**
 * Whether a replica's clock differs too much from the store's: the times in its log do not match those of everything
 * else.
 */
export function isClockApart(clockAheadUs: number): boolean {
  return Math.abs(clockAheadUs) > MOST_APART_US;
}

/** A configuration that a replica refused, so that its previous one stays in force. */
export interface RefusedFile {
  readonly mistakes: number;
  /** The first mistake, with its place. */
  readonly first: string;
  readonly sinceUs: number;
}

/** The configuration in force at a replica. */
export interface ConfigInForce {
  /** Equal for equal configurations; empty if unknown or from an older version. */
  readonly digest: string;
  /** Since when this replica uses it. */
  readonly sinceUs: number;
  /** The names of its regions; absent if unknown. */
  readonly regions?: readonly string[] | undefined;
}

/** What a replica reports when it renews. */
export interface Renewal
  extends Pick<ReplicaRecord, 'isLeaving' | 'clockAheadUs' | 'refused' | 'config' | 'turnMs'> {
  readonly forMs: number;
}

export interface DutyRecord {
  readonly duty: string;
  /** The owning replica; 0 for none. */
  readonly owner: number;
  readonly epoch: number;
  /** Since when it has had that owner, or none. */
  readonly sinceUs: number;
}

/** What the owner of a duty shows. */
export interface Lease {
  readonly duty: string;
  readonly epoch: number;
}

/** What the owner of a duty reports about it. */
export interface Showing {
  readonly lease: Lease;
  /** Its state. */
  readonly shown: string;
}

/** The state of a duty, as last reported by an owner. */
export interface ShownDuty {
  readonly duty: string;
  readonly shownUs: number;
  readonly shown: string;
}

/** All replicas and duties at one instant of the store's clock. */
export interface OwnershipView {
  readonly nowUs: number;
  readonly replicas: readonly ReplicaRecord[];
  readonly duties: readonly DutyRecord[];
}
