/** Sorts the entries of a page by what happens to them, and remembers the ids of those that were committed. */
import type { Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/sql/watched/feed-streams.ts';
import type { Instant } from '../../time/instant.ts';
import type { EventCandidate } from '../commit.ts';

export interface LogEntry {
  readonly id: string;
  readonly createdAt: Instant;
}

export interface SortedPage {
  readonly candidates: readonly EventCandidate[];
  /** Malformed entries. */
  readonly quarantined: readonly QuarantinedEntry[];
  /** Of the entries whose instant is readable, in the order of the page. */
  readonly instantsUs: readonly number[];
  /** The instants of the candidates, by id. */
  readonly ids: ReadonlyMap<string, number>;
  readonly duplicates: number;
}

/** What is already known of the page's stream. */
interface KnownEntries<T> {
  /** Whether the entry was already committed. */
  isKnown(entry: T): boolean;
  /** A known entry came again. */
  knownAgain(entry: T): void;
  candidateOf(entry: T): EventCandidate;
}

export function sortPage<T extends LogEntry>(
  items: readonly Parsed<T>[],
  { isKnown, knownAgain, candidateOf }: KnownEntries<T>,
): SortedPage {
  const candidates: EventCandidate[] = [];
  const quarantined: QuarantinedEntry[] = [];
  const instantsUs: number[] = [];
  const ids = new Map<string, number>();
  let duplicates = 0;
  for (const item of items) {
    if (!item.ok) {
      quarantined.push({ raw: item.raw, reason: item.reason });
      // The cursor passes a malformed entry like any other. Otherwise each poll would read everything since the last
      // readable one.
      if (item.createdAt) instantsUs.push(item.createdAt.us);
      continue;
    }
    const { id, createdAt } = item.entry;
    instantsUs.push(createdAt.us);
    if (isKnown(item.entry) || ids.has(id)) {
      duplicates += 1;
      knownAgain(item.entry);
      continue;
    }
    ids.set(id, createdAt.us);
    candidates.push(candidateOf(item.entry));
  }
  return { candidates, quarantined, instantsUs, ids, duplicates };
}

/** Beyond this the oldest are dropped; the store's own key still recognises them if the instant is the same. */
const MAX_IDS = 20_000;

/**
 * Remembers the ids of a stream's newest entries, with their instants. The store's key begins with the instant, which
 * makes it fast but blind to an entry that comes again under the same id with another `createdAt`. This memory
 * recognises such an entry, as far back as sweeps read again. It also shows that a page holds nothing new without
 * asking the store.
 */
export class RecentIds {
  readonly #ids = new Map<string, number>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** The entry came again with that instant. It is remembered for as long as a sweep may read it there. */
  renew(id: string, occurredAtUs: number): void {
    if (occurredAtUs > (this.#ids.get(id) ?? Number.POSITIVE_INFINITY)) this.#ids.set(id, occurredAtUs);
  }

  /** To be called only after the commit: what was rolled back must count as new again. */
  add(id: string, occurredAtUs: number): void {
    this.#ids.set(id, occurredAtUs);
  }

  /** Forgets what is older than `beforeUs`. At most `MAX_IDS` of the newest stay. */
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
