/**
 * The ids of a stream's newest entries, with their instants. The store's key begins with the time, which is what
 * makes it fast, and so it cannot see that an entry came again under the same id with another `createdAt`. This
 * guard does, over the window that sweeps read again. It also shows that a page holds nothing new without asking
 * the store.
 */
export interface RecentIds {
  has(id: string): boolean;
  /** It came again, as created at that instant: it is remembered as long as a sweep may read it there. */
  renew(id: string, occurredAtUs: number): void;
  /** Call after the commit only: what was rolled back must be new again. */
  add(id: string, occurredAtUs: number): void;
  /** Forgets what is older than `beforeUs`; the newest `MAX_IDS` stay at the most. */
  forget(beforeUs: number): void;
  readonly size: number;
}

/** Beyond it the oldest are dropped; the store's own key still catches their exact repetition. */
const MAX_IDS = 20_000;

export function createRecentIds(): RecentIds {
  return new IdsInOrder();
}

/** A class, since so many streams have one: a closure for each method would take more room than the ids. */
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
    // Insertion is nearly in the order of time: the walk ends soon after the first entry that stays.
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
