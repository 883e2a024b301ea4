/**
 * The room of who does what, where several replicas share a store. A *replica* is one life of a process; it lives as
 * long as it says so again in time. A *duty* is what one replica at a time does: reading a region, or alerting. Whoever
 * owns a duty has a *lease*, the duty with an *epoch* that grows each time that the duty goes from one to another. An
 * owner shows its lease in each of its transactions, so one that was paused while others took over commits nothing.
 *
 *   nobody's ──take──► owned by a replica ──release──► nobody's
 *                            │                             ▲
 *                            └── the replica is removed ───┘
 *
 * Time is the store's own, which for a server is not that of any replica: clocks that disagree change nothing. A lease
 * ends only when its replica is removed, so being late to say that one lives costs nothing where nobody else wants it.
 */

/** Duties have names, by which they are told apart as long as the store is kept. */
export const ALERTING = 'alerting';
const REGION = 'region ';

/** The name of the duty to read a region. */
export function regionDuty(region: string): string {
  return `${REGION}${region}`;
}

/** The region that the duty is to read; undefined for another duty. */
export function regionOf(duty: string): string | undefined {
  return duty.startsWith(REGION) ? duty.slice(REGION.length) : undefined;
}

/** A life of a process that shares the store. */
export interface ReplicaRecord {
  /** From 1 on, never given twice. */
  readonly replica: number;
  /** For people: mostly the name of its host; with its number behind it, `web-1#7`, where several have the same. */
  readonly name: string;
  readonly version: string;
  readonly startedUs: number;
  /** It may be removed from then on, unless it says before that it lives. */
  readonly expiresUs: number;
  /** It is about to end, and takes nothing more. */
  readonly isLeaving: boolean;
  /** By how much its own clock is at least ahead of the store's; less than 0 where it is behind. */
  readonly clockAheadUs: number;
  /** Why the configuration in its file is not in force; undefined where it is. */
  readonly refused: RefusedFile | undefined;
  readonly config: ConfigInForce;
  /** How long the store took lately to answer it, at the best; 0 where that is not known. */
  readonly turnMs: number;
  /** When another one last took a region from it, since it did not reach it; 0 for never. */
  readonly relievedUs: number;
}

/** Clocks that are kept by NTP differ by milliseconds. */
const MOST_APART_US = 5e6;

/** Whether a replica's clock differs from the store's by more than it should: its log has other instants than all else. */
export function isClockApart(clockAheadUs: number): boolean {
  return Math.abs(clockAheadUs) > MOST_APART_US;
}

/** A configuration that a replica could not take up, so that it goes on with the one before. */
export interface RefusedFile {
  readonly mistakes: number;
  /** The first of them, with its place. */
  readonly first: string;
  readonly sinceUs: number;
}

/** By which configuration a replica goes. */
export interface ConfigInForce {
  /** The same for those that are alike; empty where that is not known, and of an older version. */
  readonly digest: string;
  /** Since when this replica goes by it. */
  readonly sinceUs: number;
}

/** What a replica says with it that it lives. */
export interface Renewal
  extends Pick<ReplicaRecord, 'isLeaving' | 'clockAheadUs' | 'refused' | 'config' | 'turnMs'> {
  readonly forMs: number;
}

export interface DutyRecord {
  readonly duty: string;
  /** Whose it is; 0 for nobody's. */
  readonly owner: number;
  readonly epoch: number;
  /** Since when it is that owner's, or nobody's. */
  readonly sinceUs: number;
  /** What doing it takes, beside the others; 0 before an owner said so. */
  readonly weight: number;
}

/** What the owner of a duty shows. */
export interface Lease {
  readonly duty: string;
  readonly epoch: number;
}

/** What the owner of a duty says of it. */
export interface Showing {
  readonly lease: Lease;
  /** What doing it takes, beside the others. */
  readonly weight: number;
  /** How it stands. */
  readonly shown: string;
}

/** How a duty stands, as its last owner has shown it to all. */
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

export interface OwnershipStore {
  /** Adds a replica that lives for so long; returns its number. */
  join(name: string, version: string, forMs: number): Promise<number>;
  /**
   * The replica lives for so long from now on; how all stand. Undefined where it was removed: others may have what was
   * its own.
   */
  renew(replica: number, renewal: Renewal): Promise<OwnershipView | undefined>;
  /** Whether the replica was not removed. */
  isMember(replica: number): Promise<boolean>;
  /** Removes a replica that ends: what it owned is nobody's. */
  leave(replica: number): Promise<void>;
  /** Removes the replicas whose time is over; returns how many. */
  removeExpired(): Promise<number>;
  view(): Promise<OwnershipView>;
  /** Takes a duty that is nobody's for a replica that was not removed; undefined where it is somebody's. */
  take(duty: string, replica: number): Promise<Lease | undefined>;
  /** Notes that a region is taken from this replica, which does not reach it. */
  relieve(replica: number): Promise<void>;
  /** Gives a duty back. A lease that has ended changes nothing. */
  release(lease: Lease): Promise<void>;
  /**
   * Throws `lease_lost` where the lease has ended. Where it has not, it does not end before the transaction does: what
   * the transaction writes is the owner's.
   */
  check(lease: Lease): Promise<void>;
  /**
   * Notes what the store's clock shows. Resolves to by how much less that is than at the last time, 0 where it is more:
   * so much at least it was set back meanwhile, be it on another server. Alerting must be somebody's.
   */
  noteClock(): Promise<number>;
  /** Says for all replicas how duties stand and what they take; nothing of one whose lease has ended. */
  show(showings: readonly Showing[]): Promise<void>;
  /** What was shown of all duties, each the last. */
  shown(): Promise<ShownDuty[]>;
}
