import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { daemonJson } from '../daemon-client.ts';
import { FILTERS, filterArguments, OLDER_ONES } from '../list-filters.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';
import type { ListOptions } from './flights-command.ts';

export const eventShape = z.object({
  key: z.string(),
  short_id: z.string(),
  type: z.string(),
  region: z.string(),
  nest: z.string(),
  bird: z.string(),
  occurred_at: z.string(),
  message: z.string(),
});
type Event = z.output<typeof eventShape>;

/** Lists events, newest first. */
export async function events(edge: Edge, args: readonly string[], options: ListOptions): Promise<number> {
  const query = filterArguments(args, [...FILTERS, 'feed', 'type']);
  if (options.limit !== undefined) query.set('limit', options.limit);
  const shape = z.object({ events: z.array(eventShape), next: z.string().optional() });
  const path = `/api/v1/events?${query}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, shape);
  const text = data.events.length === 0 ? 'No events.\n' : eventTable(data.events);
  edge.stdout.write(options.json ? jsonText(json) : text);
  if (data.next !== undefined && !options.json) edge.stderr.write(OLDER_ONES);
  return 0;
}

export function eventTable(rows: readonly Event[]): string {
  return table([
    ['OCCURRED', 'ID', 'TYPE', 'REGION', 'NEST', 'BIRD', 'MESSAGE'],
    ...rows.map((one) => [
      shownTime(one.occurred_at),
      one.short_id,
      shown(one.type),
      shown(one.region),
      shown(one.nest) || '-',
      shown(one.bird) || '-',
      shown(one.message) || '-',
    ]),
  ]);
}
