/**
 * Remembers the ids of a stream's newest entries, with their instants. The store's key begins with the instant, which
 * makes it fast but blind to an entry that comes again under the same id with another `createdAt`. This memory
 * recognises such an entry, as far back as sweeps read again. It also shows that a page holds nothing new without
 * asking the store.
 */
export interface RecentIds {
  has(id: string): boolean;
  /** The entry came again with that instant. It is remembered for as long as a sweep may read it there. */
  renew(id: string, occurredAtUs: number): void;
  /** To be called only after the commit: what was rolled back must count as new again. */
  add(id: string, occurredAtUs: number): void;
  /** Forgets what is older than `beforeUs`. At most `MAX_IDS` of the newest stay. */
  forget(beforeUs: number): void;
  readonly size: number;
}

/** Beyond this the oldest are dropped; the store's own key still recognises them if the instant is the same. */
const MAX_IDS = 20_000;

export function createRecentIds(): RecentIds {
  return new IdsInOrder();
}

/** A class, since there are so many: a closure for each method would take more memory than the ids. */
class IdsInOrder implements RecentIds {
  readonly #ids = new Map<string, number>();

  get size(): number {
    return this.#ids.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  renew(id: string, occurredAtUs: number): void {
    if (occurredAtUs > (this.#ids.get(id) ?? Number.POSITIVE_INFINITY)) this.#ids.set(id, occurredAtUs);
  }

  add(id: string, occurredAtUs: number): void {
    this.#ids.set(id, occurredAtUs);
  }

  forget(beforeUs: number): void {
    // Ids are added nearly in the order of time, so the loop can end soon after the first one that stays.
    let stays = 0;
    for (const [id, occurredAtUs] of this.#ids) {
      if (occurredAtUs < beforeUs || this.#ids.size > MAX_IDS) this.#ids.delete(id);
      else {
        stays += 1;
        if (stays > 100) break;
      }
    }
  }
}
