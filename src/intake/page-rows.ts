import type { Parsed } from '../service/resources.ts';
import type { LogEntry } from './log-stream.ts';

/** The rows of pages that overlap: the same one on two pages is one row, twice on one page it is two. */
export interface PageRows {
  add(page: readonly Parsed<LogEntry>[]): void;
  count(): number;
  /** Each once. */
  items(): readonly Parsed<LogEntry>[];
}

export function createPageRows(): PageRows {
  const rows = new Map<string, { readonly item: Parsed<LogEntry>; most: number }>();
  return {
    add(page) {
      const here = new Map<string, number>();
      for (const item of page) {
        const key = item.ok ? `${item.entry.createdAt.us} ${item.entry.id}` : item.raw;
        const count = (here.get(key) ?? 0) + 1;
        here.set(key, count);
        rows.set(key, { item, most: Math.max(count, rows.get(key)?.most ?? 0) });
      }
    },
    count: () => [...rows.values()].reduce((sum, { most }) => sum + most, 0),
    items: () => [...rows.values()].map(({ item }) => item),
  };
}
