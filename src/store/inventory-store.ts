/**
 * Stores the inventory: since when each region is watched, and its Nests and Birds as last listed. Those no longer
 * listed are kept as not `present` until retention deletes them.
 */

/** A Nest as the inventory last saw it. */
export interface NestRecord {
  readonly region: string;
  readonly nestId: string;
  readonly name: string;
  /** False once a reading no longer listed it. */
  readonly present: boolean;
}

/** A Bird as the inventory last saw it. */
export interface BirdRecord {
  readonly region: string;
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  /** `active`, `unpublished`, `suspended`, or a value not known today. */
  readonly status: string;
  /** `manual`, `event`, `scheduled`, or a value not known today. */
  readonly triggerType: string;
  /** Undefined if the service never said so. */
  readonly isPublished?: boolean | undefined;
  /** False once a reading no longer listed it. */
  readonly present: boolean;
  /** When the status was last seen to change, by our clock; the first reading counts as a change. */
  readonly statusSinceUs: number;
  /** True while the status is still that of the first reading: the Bird may have had it long before. */
  readonly hasFirstStatus?: boolean;
  /**
   * Since when its events are news, on the service's clock, if it came to be watched later than its region; absent if
   * they have been news for as long as the region is watched. `NO_NEWS_US` while the configuration excludes its Nest.
   */
  readonly newsSinceUs?: number | undefined;
}

/** Later than any event. */
export const NO_NEWS_US = Number.MAX_SAFE_INTEGER;

/** The active members of a Nest: their mail addresses as the service gives them, which need not be valid. */
export interface NestMembers {
  readonly region: string;
  readonly nestId: string;
  readonly addresses: readonly string[];
}

/** What the service listed last, as far as only the events of the inventory need it. */
export interface ListedRecord {
  readonly region: string;
  /** `nest`: of all Nests, also excluded ones; `member`: of the members of a Nest; `user`: of the Users. */
  readonly sort: 'nest' | 'member' | 'user';
  readonly id: string;
  /** In words of `intake/inventory`; undefined if it is not listed any more. */
  readonly said: string | undefined;
}

/** The request rate that a region was seen to bear, and when that was recorded. */
export interface RateRecord {
  readonly perSecond: number;
  readonly keptUs: number;
}

export interface InventoryStore {
  /** When this store first watched the region: `nowUs` at the first call, the same instant ever after. */
  regionSince(region: string, nowUs: number): Promise<number>;
  /**
   * When anybody first tried to read this region, by our own clock: `nowUs` at the first call, the same instant ever
   * after.
   */
  firstStart(region: string, nowUs: number): Promise<number>;
  /** When this region was first watched; undefined if `regionSince` was never called for it. */
  knownSince(region: string): Promise<number | undefined>;
  /** Corrects when the watch of this region began, if the service's clock was wrong at that time. */
  began(region: string, sinceUs: number): Promise<void>;
  /** Keeps the rate that the region bears for the next start. */
  putRate(region: string, rate: RateRecord): Promise<void>;
  /** The rate kept last; undefined if none was kept. */
  rate(region: string): Promise<RateRecord | undefined>;
  nests(region: string): Promise<NestRecord[]>;
  putNests(nests: readonly NestRecord[]): Promise<void>;
  /** Whom to notify as a member of a Nest; kept only if a receiver wants it. */
  nestMembers(region: string): Promise<NestMembers[]>;
  putNestMembers(members: readonly NestMembers[]): Promise<void>;
  listed(region: string): Promise<ListedRecord[]>;
  /** Deletes those of which nothing is said. */
  putListed(records: readonly ListedRecord[]): Promise<void>;
  birds(region: string): Promise<BirdRecord[]>;
  /** A Bird whose status changes is judged anew (`OverdueStore`). */
  putBirds(birds: readonly BirdRecord[]): Promise<void>;
}
