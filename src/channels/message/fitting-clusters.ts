import type { Cluster } from './alert-clusters.ts';
import type { EventLine } from './event-line.ts';
import { type Fitting, fitting, MAX_CLUSTERS } from './fitting.ts';

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
