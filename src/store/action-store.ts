/** Stores what nestwatch does to the service (`domain/action/action.ts`). */
import type { Action } from '../domain/action/action.ts';

export interface ActionStore {
  /** Adds one. False, and nothing is added, if its id is known, or if it is open and so is another one of the Bird. */
  add(action: Action): Promise<boolean>;
  /** Replaces those with these ids. */
  put(actions: readonly Action[]): Promise<void>;
  find(id: string): Promise<Action | undefined>;
  /** Those of a region that are open, oldest first. */
  open(region: string): Promise<Action[]>;
  /** The newest of a Bird, newest first. */
  ofBird(region: string, birdId: string, limit: number): Promise<Action[]>;
}
