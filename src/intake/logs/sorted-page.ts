/** Sorts the entries of a page by what happens to them. */
import type { Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/stream-store.ts';
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
