/** The entries of a page by what becomes of them. */
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
  /** Entries that cannot be read. */
  readonly quarantined: readonly QuarantinedEntry[];
  /** Of the entries whose instant can be read, in the order in which they came. */
  readonly instantsUs: readonly number[];
  /** Instants of the candidates by their ids. */
  readonly ids: ReadonlyMap<string, number>;
  readonly duplicates: number;
}

/** What is known of the stream of a page. */
interface KnownEntries<T> {
  /** Whether the entry was committed before. */
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
      // The cursor passes it as any other entry: else each poll would read all that came since the last readable one.
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
