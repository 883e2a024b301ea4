import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import type { ListOptions } from '../commands/flights-command.ts';
import { daemonJson } from '../daemon-client.ts';
import { filterArguments, OLDER_ONES } from '../list-filters.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';

const answerShape = z.object({
  writes: z.array(
    z.object({
      at: z.string(),
      who: z.string(),
      by: z.string(),
      from: z.string(),
      action: z.string(),
      asked: z.string(),
      status: z.number(),
    }),
  ),
  next: z.string().optional(),
});

/** Lists who requested which change, newest first. */
export async function writes(edge: Edge, args: readonly string[], options: ListOptions): Promise<number> {
  const query = filterArguments(args, ['who', 'text', 'since', 'until']);
  if (options.limit !== undefined) query.set('limit', options.limit);
  const path = `/api/v1/writes?${query}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, answerShape);
  const rows = data.writes.map(({ at, who, by, from, status, action, asked }) => [
    shownTime(at),
    shown(who) || '-',
    shown(by),
    shown(from) || '-',
    String(status),
    shown(action),
    shown(asked) || '-',
  ]);
  const text =
    rows.length === 0
      ? 'No writes.\n'
      : table([['AT', 'WHO', 'BY', 'FROM', 'STATUS', 'ACTION', 'ASKED'], ...rows]);
  edge.stdout.write(options.json ? jsonText(json) : text);
  if (data.next !== undefined && !options.json) edge.stderr.write(OLDER_ONES);
  return 0;
}
