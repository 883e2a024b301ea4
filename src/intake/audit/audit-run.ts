/**
 * Starts an audit: places the edges of its window, and gives it access to the stream at the service and in the store.
 */
import type { GapRecord } from '../../store/audit-store.ts';
import type { Store } from '../../store/store.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import type { LogStream } from '../logs/log-stream.ts';
import { Audit, type AuditedStream } from './audit.ts';
import type { Window } from './audit-piece.ts';
import { findEdge } from './window-edge.ts';

export interface AuditRun {
  readonly stream: number;
  readonly window: Window;
  /** The index of the audited span. */
  readonly span: number;
  /** Older entries are no longer kept. */
  readonly oldestUs: number;
  readonly audit: Audit;
}

/** What to audit: [fromUs, toUs), but the edges may be moved to quiet instants. */
interface AuditTarget {
  readonly log: LogStream;
  readonly stream: number;
  readonly span: number;
  readonly fromUs: number;
  readonly toUs: number;
  readonly oldestUs: number;
  readonly gaps: readonly GapRecord[];
  readonly isCountTrue: boolean;
  /** Up to here an earlier audit has read or counted everything; 0 if there was none. */
  readonly auditedUs: number;
  /** Whether single entries of the feed were recently seen to be deleted. */
  readonly isDeleting: () => boolean;
}

export async function beginAudit(store: Store, target: AuditTarget): Promise<AuditRun> {
  const { stream, span, fromUs, toUs, oldestUs } = target;
  const sides = sidesOf(store, target);
  const from = await findEdge(sides.entries, fromUs, {
    lowUs: oldestUs,
    highUs: fromUs === oldestUs ? toUs : fromUs,
  });
  const to = await findEdge(sides.entries, toUs, { lowUs: from.us, highUs: toUs });
  const window = { fromUs: from.us, toUs: to.us };
  const audit = new Audit(sides, {
    window,
    isDense: !from.isQuiet || !to.isQuiet,
    knownGaps: target.gaps,
    countedUntilUs: await countedUntilUs(target, sides, window),
    isCountTrue: target.isCountTrue,
  });
  return { stream, window, span, oldestUs, audit };
}

/**
 * Up to where entries are only counted. Equal counts prove nothing if one entry was deleted and another one is
 * missing. So entries that may have arrived since the last audit are read, with the longest overlap as margin. Once
 * entries were seen to be deleted, the whole window is read.
 */
async function countedUntilUs(
  { auditedUs, isDeleting }: AuditTarget,
  { count, pageSize, entries }: AuditedStream,
  window: Window,
): Promise<number> {
  const settledUs = auditedUs - MOST_OVERLAP_US;
  if (isDeleting() || settledUs <= window.fromUs) return window.fromUs;
  // One page lists all of it.
  if ((await count(window)) <= pageSize()) return window.toUs;
  const edge = await findEdge(entries, settledUs, { lowUs: window.fromUs, highUs: window.toUs });
  return edge.isQuiet ? edge.us : window.fromUs;
}

/** The stream at the service, and in the store. */
function sidesOf(store: Store, { log, stream }: AuditTarget): AuditedStream {
  // Page numbers depend on the page size, so an audit uses a single size.
  const pageSize = log.pageSize();
  return {
    ask: (query) => log.ask(query),
    count: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.count(stream, fromUs, toUs)),
    entries: ({ fromUs, toUs }) => store.transaction((tx) => tx.events.ids(stream, fromUs, toUs)),
    async keep(items) {
      // An entry whose instant has changed is recognised by its id only.
      const ids = items.flatMap((item) => (item.ok ? [item.entry.id] : []));
      const known = await store.transaction((tx) => tx.events.knownIds(stream, ids));
      return (await log.keep(items.filter((item) => !item.ok || !known.has(item.entry.id)))).length;
    },
    pageSize: () => pageSize,
  };
}
