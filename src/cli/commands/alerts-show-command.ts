import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';
import { FINDINGS, findingLines } from './finding-lines.ts';
import { DELIVERIES, EVENTS, listText, shownIntegration } from './printed-lists.ts';

const recordShape = z.object({
  id: z.string(),
  state: z.string(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()),
  startsAt: z.string().nullable(),
  endsAt: z.string(),
  kept: z.boolean(),
  silenced_by: z.array(z.object({ acknowledgement: z.boolean(), author: z.string(), comment: z.string() })),
  inhibited_by: z.array(z.string()),
  receivers: z.array(z.string()),
  findings: FINDINGS,
  events_total: z.number(),
  events: z.array(EVENTS.item),
  episodes: z.array(z.object({ startsAt: z.string(), endsAt: z.string(), ending: z.string().nullable() })),
  notifications: z.array(
    z.object({
      receiver: z.string(),
      reason: z.string(),
      created_at: z.string(),
      deliveries: z.array(DELIVERIES.item),
    }),
  ),
});
type Shown = z.output<typeof recordShape>;

/** Prints everything known about one alert, even after it has been resolved. */
export async function alertsShow(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const path = `/api/v1/alerts/${encodeURIComponent(id)}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, recordShape);
  edge.stdout.write(options.json ? jsonText(json) : `${linesOf(data).join('\n')}\n`);
  if (!options.json && data.events.length > 0) edge.stdout.write(`\n${listText(EVENTS, data.events)}`);
  return 0;
}

function linesOf(data: Shown): string[] {
  const labels = Object.entries(data.labels).map(([name, value]) => `${shown(name)}=${shown(value)}`);
  const ended = data.state === 'resolved' ? `, ended ${shownTime(data.endsAt)}` : '';
  return [
    `${shown(data.id)}: ${data.state} since ${shownTime(data.startsAt)}${ended}${data.kept ? '' : ', no longer kept itself'}`,
    `labels     ${labels.join(', ')}`,
    ...Object.entries(data.annotations).map(([name, value]) => `${shown(name).padEnd(10)} ${shown(value)}`),
    ...data.silenced_by.map(
      (one) =>
        `${one.acknowledgement ? 'acknowledged' : 'silenced  '} by ${shown(one.author)}: ${shown(one.comment)}`,
    ),
    ...(data.inhibited_by.length > 0 ? [`inhibited  by ${data.inhibited_by.map(shown).join(', ')}`] : []),
    ...findingLines(data.findings),
    `routed     to ${data.receivers.map(shown).join(', ') || 'no receiver'}`,
    ...data.notifications.flatMap((one) => [
      `notified   ${shown(one.receiver)} at ${shownTime(one.created_at)} as ${shown(one.reason)}`,
      ...one.deliveries.map(
        (delivery) =>
          `  by ${shownIntegration(delivery)}: ${delivery.state} (${shown(delivery.id)})${delivery.last_error ? `: ${shown(delivery.last_error)}` : ''}`,
      ),
    ]),
    ...data.episodes.map(
      (one) =>
        `episode    from ${shownTime(one.startsAt)} to ${shownTime(one.endsAt)}${one.ending === null ? '' : `, ${shown(one.ending.replaceAll('_', ' '))}`}`,
    ),
    `events     ${data.events_total}${data.events_total > data.events.length ? `, the newest ${data.events.length} of them` : ''}`,
  ];
}
