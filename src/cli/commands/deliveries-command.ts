import type { Edge } from '../../process-io.ts';
import { type PrintOptions, printAnswer } from '../daemon-client.ts';
import { shown, shownLines, shownList, shownTime } from '../terminal-text.ts';
import type { Delivery as ListedDelivery } from './printed-lists.ts';

const FAILED = 1;

interface Delivery extends ListedDelivery {
  readonly alerts: readonly string[];
  readonly events: readonly string[];
  readonly refused_by: string;
  readonly message: string | null;
}

/** Prints one delivery: its state, what it is about, and its message as sent. */
export async function deliveriesShow(edge: Edge, id: string, options: PrintOptions): Promise<number> {
  const path = `/api/v1/deliveries/${encodeURIComponent(id)}`;
  await printAnswer<Delivery>(edge, options, { method: 'GET', path }, 'refused_by', deliveryText);
  return 0;
}

function deliveryText(one: Delivery): string {
  const settled = one.settled_at ? `ended ${shownTime(one.settled_at)}` : '';
  const next = one.next_attempt_at ? `next try ${shownTime(one.next_attempt_at)}` : '';
  const lines = [
    `${shown(one.id)}: ${one.state} to ${shown(one.receiver)} by ${shown(one.integration_name)}`,
    `queued     ${shownTime(one.created_at)}, ${settled || next}`,
    `tries      ${one.attempts}${one.last_error ? `: ${shownList(one.last_error)}` : ''}`,
    ...(one.refused_by ? [`not sent   to ${shownList(one.refused_by)}`] : []),
    ...one.alerts.map((id) => `alert      ${shown(id)}`),
    ...one.events.map((key) => `event      ${shown(key)}`),
    ...(one.message === null ? [] : ['', shownLines(one.message).trimEnd()]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Queues dead deliveries again. Exits with 1 if one of them was not dead or is unknown. */
export async function deliveriesRetry(
  edge: Edge,
  ids: readonly string[],
  options: PrintOptions,
): Promise<number> {
  const request = { method: 'POST', path: '/api/v1/deliveries/retry', body: { ids } } as const;
  const { retried } = await printAnswer<{ retried: readonly string[] }>(
    edge,
    options,
    request,
    'retried',
    (answer) => answer.retried.map((id) => `${shown(id)}\n`).join(''),
  );
  const missing = ids.filter((id) => !retried.includes(id));
  for (const id of missing) edge.stderr.write(`nestwatch: ${shown(id)} is no delivery that was given up\n`);
  return missing.length === 0 ? 0 : FAILED;
}
