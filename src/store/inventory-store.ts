/**
 * The room of the inventory: since when each region is watched, and its Nests and Birds as they were last listed. What
 * is no longer listed stays, as not `present`, until the retention has passed.
 */

/** A Nest as the inventory last saw it. */
export interface NestRecord {
  readonly region: string;
  readonly nestId: string;
  readonly name: string;
  /** False from the reading on that no longer listed it. */
  readonly present: boolean;
}

/** A Bird as the inventory last saw it. */
export interface BirdRecord {
  readonly region: string;
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** `active`, `unpublished`, `suspended` or a value not known today. */
  readonly status: string;
  /** `manual`, `event`, `scheduled` or a value not known today. */
  readonly triggerType: string;
  /** False from the reading on that no longer listed it. */
  readonly present: boolean;
  /** When the status was last seen to change, by our clock; the first reading counts. */
  readonly statusSinceUs: number;
  /** True while the status is that of the first reading: the Bird may have had it for long before. */
  readonly hasFirstStatus?: boolean;
}

/** Mail addresses of the active members of a Nest. */
export interface NestMembers {
  readonly region: string;
  readonly nestId: string;
  readonly addresses: readonly string[];
}

/** The requests a second that a region was seen to bear, and when. */
export interface RateRecord {
  readonly perSecond: number;
  readonly keptUs: number;
}

export interface InventoryStore {
  /** When this region was first watched by this store: `nowUs` at the first call, the same instant after. */
  regionSince(region: string, nowUs: number): Promise<number>;
  /** When anybody first wanted to read this region, on our own clock: `nowUs` at the first call, ever after the same. */
  firstStart(region: string, nowUs: number): Promise<number>;
  /** When this region was first watched; undefined where `regionSince` was never called for it. */
  knownSince(region: string): Promise<number | undefined>;
  /** The service's clock was wrong when the watch of this region began: it began at `sinceUs`. */
  began(region: string, sinceUs: number): Promise<void>;
  /** Keeps for a later life what the region bears. */
  putRate(region: string, rate: RateRecord): Promise<void>;
  /** What was kept so; undefined for a region of which nothing was kept. */
  rate(region: string): Promise<RateRecord | undefined>;
  nests(region: string): Promise<NestRecord[]>;
  putNests(nests: readonly NestRecord[]): Promise<void>;
  /** Whom to notify as a member of a Nest; kept only where a receiver wants it. */
  nestMembers(region: string): Promise<NestMembers[]>;
  putNestMembers(members: readonly NestMembers[]): Promise<void>;
  birds(region: string): Promise<BirdRecord[]>;
  /** A Bird whose status changes is judged anew (`OverdueStore`). */
  putBirds(birds: readonly BirdRecord[]): Promise<void>;
}
