import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown, shownLines, shownList, shownTime } from '../terminal-text.ts';
import { DELIVERIES, shownIntegration } from './printed-lists.ts';

const FAILED = 1;

const shownShape = DELIVERIES.item.extend({
  kind: z.string(),
  alerts: z.array(z.string()),
  events: z.array(z.string()),
  refused_by: z.string(),
  message: z.string().nullable(),
});

/** Prints one delivery: its state, what it is about, and its message as sent. */
export async function deliveriesShow(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const path = `/api/v1/deliveries/${encodeURIComponent(id)}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, shownShape);
  const settled = data.settled_at ? `ended ${shownTime(data.settled_at)}` : '';
  const next = data.next_attempt_at ? `next try ${shownTime(data.next_attempt_at)}` : '';
  const lines = [
    `${shown(data.id)}: ${data.state} to ${shown(data.receiver)} by ${shownIntegration(data)}`,
    `queued     ${shownTime(data.created_at)}, ${settled || next}`,
    `tries      ${data.attempts}${data.last_error ? `: ${shownList(data.last_error)}` : ''}`,
    ...(data.refused_by ? [`not sent   to ${shownList(data.refused_by)}`] : []),
    ...data.alerts.map((one) => `alert      ${shown(one)}`),
    ...data.events.map((one) => `event      ${shown(one)}`),
    ...(data.message === null ? [] : ['', shownLines(data.message).trimEnd()]),
  ];
  edge.stdout.write(options.json ? jsonText(json) : `${lines.join('\n')}\n`);
  return 0;
}

/** Queues dead deliveries again. Exits with 1 if one of them was not dead or is unknown. */
export async function deliveriesRetry(
  edge: Edge,
  ids: readonly string[],
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'POST', path: '/api/v1/deliveries/retry', body: { ids } },
    z.object({ retried: z.array(z.string()) }),
  );
  edge.stdout.write(options.json ? jsonText(json) : data.retried.map((id) => `${shown(id)}\n`).join(''));
  const missing = ids.filter((id) => !data.retried.includes(id));
  for (const id of missing) edge.stderr.write(`nestwatch: ${shown(id)} is no delivery that was given up\n`);
  return missing.length === 0 ? 0 : FAILED;
}
