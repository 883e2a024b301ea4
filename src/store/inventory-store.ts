import type { BirdRecord, NestMembers, NestRecord } from './record.ts';

export interface InventoryStore {
  /** When this region was first watched by this store: `nowUs` at the first call, the same instant ever after. */
  regionSince(region: string, nowUs: number): Promise<number>;
  /** The same where it was called before; undefined for a region that is not watched yet. */
  knownSince(region: string): Promise<number | undefined>;
  nests(region: string): Promise<NestRecord[]>;
  putNests(nests: readonly NestRecord[]): Promise<void>;
  /** Who is to be told as a member of a Nest; kept only where a receiver wants it. */
  nestMembers(region: string): Promise<NestMembers[]>;
  putNestMembers(members: readonly NestMembers[]): Promise<void>;
  birds(region: string): Promise<BirdRecord[]>;
  putBirds(birds: readonly BirdRecord[]): Promise<void>;
}
