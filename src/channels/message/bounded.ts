/** Keeps texts and lists inside the limits of the services that take them. */
import type { Cluster } from './alert-clusters.ts';
import type { EventLine } from './event-line.ts';
import type { MailView } from './message-view.ts';

/**
 * The text with every code point encoded by `write`, cut to at most `maxUnits` UTF-16 units. The cut splits no escape
 * and no surrogate pair, and is marked by `…`.
 */
export function escapedWithin(text: string, maxUnits: number, write: (codePoint: string) => string): string {
  let written = '';
  /** What still leaves room for the `…`. */
  let safe = '';
  for (const point of text) {
    const next = written + write(point);
    if (next.length > maxUnits) return `${safe}…`;
    written = next;
    if (written.length < maxUnits) safe = written;
  }
  return written;
}

export function within(text: string, maxUnits: number): string {
  return text.length <= maxUnits ? text : escapedWithin(text, maxUnits, (point) => point);
}

/**
 * As many of the first items as fit into `maxItems` and `maxBytes` of JSON. If some are left out, `rest` makes the last
 * item, which says how many; there is always room for that.
 */
export function listWithin<T>(
  items: readonly T[],
  maxItems: number,
  maxBytes: number,
  rest: (count: number) => T,
): T[] {
  const sizeOf = (item: T) => Buffer.byteLength(JSON.stringify(item)) + 1;
  const all = items.map(sizeOf).reduce((sum, size) => sum + size, 0);
  if (items.length <= maxItems && all <= maxBytes) return [...items];
  let bytes = sizeOf(rest(items.length));
  const kept: T[] = [];
  for (const item of items.slice(0, maxItems - 1)) {
    const size = sizeOf(item);
    if (bytes + size > maxBytes) break;
    kept.push(item);
    bytes += size;
  }
  return [...kept, rest(items.length - kept.length)];
}

/** The limits of a mail, which keep it readable, and far below the size that mail programs cut. */
export const MAX_PART_BYTES = 30_000;
export const MAX_CLUSTERS = 20;
export const MAX_EVENTS = 12;

interface Fitting<T> {
  /** The first items, as written. */
  readonly kept: readonly string[];
  /** Their bytes, each with a line end. */
  readonly bytes: number;
  /** The items that found no room. */
  readonly rest: readonly T[];
}

/** Writes as many of the first items as fit into `maxBytes` of UTF-8 and `maxItems`. */
export function fitting<T>(
  items: readonly T[],
  write: (item: T) => string,
  maxBytes: number,
  maxItems: number,
): Fitting<T> {
  const kept: string[] = [];
  let bytes = 0;
  for (const item of items.slice(0, maxItems)) {
    const text = write(item);
    const size = Buffer.byteLength(text) + 1;
    if (bytes + size > maxBytes) break;
    kept.push(text);
    bytes += size;
  }
  return { kept, bytes, rest: items.slice(kept.length) };
}

// Cuts what comes before the lists of a mail to the room that it has. Texts are capped by their characters, which
// escaping makes up to six times as long.

/** Bytes as written, including some markup for each; the lists below get the rest of the mail. */
const ROOM = 20_000;
const MAX_LINKS = 5_000;
const MAX_NOTICES = 6_500;
const MAX_LEAD = 3_000;
const MAX_MESSAGE = 7_000;

/** `write` encodes a text for the mail. What is left out is counted, or shown by an ellipsis. */
export function fittingView(view: MailView, write: (text: string) => string): MailView {
  let room = ROOM;
  function kept<T>(items: readonly T[], written: (item: T) => string, maxBytes: number): T[] {
    const { kept: fits, bytes } = fitting(items, written, Math.min(room, maxBytes), items.length);
    room -= bytes;
    return items.slice(0, fits.length);
  }
  const markup = (bytes: number) => ' '.repeat(bytes);
  const links = kept(view.links, ({ text, url }) => markup(150) + write(text) + write(url), MAX_LINKS);
  const notices = fittingNotices(view.notices, write);
  room -= writtenSize(notices, write);
  const lead = kept(view.lead, (one) => markup(40) + write(one), MAX_LEAD);
  const message = kept(view.message, write, MAX_MESSAGE);
  const details = kept(view.details, ([name, value]) => markup(250) + write(name) + write(value), room);
  const isCut = message.length < view.message.length && message.at(-1) !== '…';
  const detailsMore = view.details.length - details.length;
  return {
    ...view,
    links,
    notices,
    lead,
    message: isCut ? [...message, '…'] : message,
    details: detailsMore > 0 ? [...details, ['…', `and ${detailsMore} more details`]] : details,
  };
}

/** The first notices, and how many more there are. */
export function fittingNotices(notices: readonly string[], write: (text: string) => string): string[] {
  const { kept, rest } = fitting(notices, (one) => write(one), MAX_NOTICES, notices.length);
  const all = notices.slice(0, kept.length);
  return rest.length > 0 ? [...all, `… and ${rest.length} more notices.`] : all;
}

function writtenSize(texts: readonly string[], write: (text: string) => string): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(write(text)) + 40, 0);
}

/** Writes a cluster in one part of a mail: its head, and below that what happened. */
export interface ClusterWriter {
  head(cluster: Cluster): string;
  line(line: EventLine): string;
  /** Says that so many events are not listed. */
  more(count: number): string;
  whole(head: string, lines: readonly string[], more: string): string;
}

/**
 * Writes the heads of as many clusters as fit, then their lines. Each cluster gets an equal share of the room for
 * lines, and what one does not need goes to the others. So no cause loses its failures because another one has many.
 */
export function fittingClusters(
  clusters: readonly Cluster[],
  writer: ClusterWriter,
  maxBytes: number,
): Fitting<Cluster> {
  const heads = fitting(
    clusters,
    (cluster) => writer.whole(writer.head(cluster), [], ''),
    maxBytes,
    MAX_CLUSTERS,
  );
  const lists = heads.kept
    .map((_, at) => ({ at, lines: clusters[at]!.lines }))
    .filter(({ lines }) => lines.length > 0)
    .map((list) => ({ ...list, bytes: list.lines.reduce((sum, line) => sum + sizeOf(writer.line(line)), 0) }))
    .sort((a, b) => a.bytes - b.bytes);
  const kept = [...heads.kept];
  let room = maxBytes - heads.bytes;
  for (const [done, { at, lines }] of lists.entries()) {
    const cluster = clusters[at]!;
    const all = lines.reduce((sum, { events }) => sum + events, cluster.linesMore);
    const head = writer.head(cluster);
    const frame = sizeOf(writer.whole(head, [''], writer.more(all))) - sizeOf(kept[at]!);
    const share = Math.floor(room / (lists.length - done)) - frame;
    const { kept: written, rest } = fitting(lines, writer.line, share, lines.length);
    const more = rest.reduce((sum, { events }) => sum + events, cluster.linesMore);
    const whole = writer.whole(head, written, more > 0 ? writer.more(more) : '');
    const grown = sizeOf(whole) - sizeOf(kept[at]!);
    if (grown > room) continue;
    kept[at] = whole;
    room -= grown;
  }
  return { ...heads, kept, bytes: maxBytes - room };
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text) + 1;
}
