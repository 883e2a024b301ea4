import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { FILTERS, filterArguments, OLDER_ONES } from '../list-filters.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownLines, shownList, shownTime } from '../terminal-text.ts';

const FAILED = 1;

interface DeliveriesOptions extends DaemonOptions {
  /** Filters such as `nest=…`, or words. */
  readonly filters: readonly string[];
  /** Only deliveries in this state. */
  readonly state: string | undefined;
  readonly receiver: string | undefined;
  readonly limit: string | undefined;
  readonly json: boolean;
}

export const deliveryShape = z.object({
  id: z.string(),
  receiver: z.string(),
  integration: z.string(),
  integration_name: z.string().optional(),
  state: z.string(),
  attempts: z.number(),
  created_at: z.string(),
  next_attempt_at: z.string().nullish(),
  settled_at: z.string().nullish(),
  last_error: z.string().default(''),
});

/** Lists what was or will be sent, newest first. */
/** The integration, told from others of its kind of the same receiver. */
export function shownIntegration(one: z.output<typeof deliveryShape>): string {
  return shown(one.integration_name ?? one.integration);
}

export async function deliveries(edge: Edge, options: DeliveriesOptions): Promise<number> {
  const query = filterArguments(options.filters, FILTERS);
  for (const name of ['state', 'receiver', 'limit'] as const) {
    const value = options[name];
    if (value !== undefined) query.set(name, value);
  }
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path: `/api/v1/deliveries?${query}` },
    z.object({ deliveries: z.array(deliveryShape), next: z.string().optional() }),
  );
  const rows = data.deliveries.map((one) => [
    shown(one.id),
    shown(one.receiver),
    shownIntegration(one),
    one.state,
    String(one.attempts),
    shownTime(one.created_at),
    shownTime(one.settled_at ?? one.next_attempt_at),
    shown(one.last_error) || '-',
  ]);
  const head = ['ID', 'RECEIVER', 'BY', 'STATE', 'TRIES', 'CREATED', 'SETTLED OR NEXT', 'LAST ERROR'];
  const text = rows.length === 0 ? 'No deliveries.\n' : table([head, ...rows]);
  edge.stdout.write(options.json ? jsonText(json) : text);
  if (data.next !== undefined && !options.json) edge.stderr.write(OLDER_ONES);
  return 0;
}

const shownShape = deliveryShape.extend({
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
