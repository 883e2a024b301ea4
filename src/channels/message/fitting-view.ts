/**
 * Cuts what comes before the lists of a mail to the room that it has. Texts are capped by their characters, which
 * escaping makes up to six times as long.
 */

import type { Cluster } from './alert-clusters.ts';
import { type Fitting, fitting, MAX_CLUSTERS } from './bounded.ts';
import type { EventLine } from './event-line.ts';
import type { MailView } from './message-view.ts';

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
