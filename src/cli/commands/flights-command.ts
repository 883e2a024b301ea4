import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { durationWords } from '../../text/duration-words.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { FILTERS, filterArguments, MORE_ONES } from '../list-filters.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownLines, shownTime } from '../terminal-text.ts';
import { deliveryShape, shownIntegration } from './deliveries-command.ts';

export interface ListOptions extends DaemonOptions {
  readonly limit: string | undefined;
  readonly json: boolean;
}

export const flightShape = z.object({
  region: z.string(),
  nest: z.string(),
  bird: z.string(),
  bird_id: z.string(),
  flight_id: z.string(),
  status: z.string(),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  duration_seconds: z.number().nullable(),
  step_id: z.string().nullable(),
  message: z.string(),
});
type Flight = z.output<typeof flightShape>;

const reportShape = flightShape.extend({
  end: z.object({ key: z.string(), message: z.string() }).nullable(),
  alerts: z.array(z.object({ id: z.string(), state: z.string() })),
  deliveries: z.array(deliveryShape),
  suppressions: z.array(z.object({ receiver: z.string(), reason: z.string(), detail: z.string() })),
  log: z
    .object({
      refused: z.string().optional(),
      older: z.number().default(0),
      entries: z
        .array(
          z.object({
            at: z.string().nullable(),
            type: z.string(),
            level: z.string().nullable(),
            step_id: z.string().nullable(),
            message: z.string(),
            went_on: z.string().nullable(),
          }),
        )
        .default([]),
    })
    .optional(),
});

/** Lists Flights, latest start first. */
export async function flights(edge: Edge, args: readonly string[], options: ListOptions): Promise<number> {
  const { json, data } = await list(edge, args, options);
  const text = data.flights.length === 0 ? 'No Flights.\n' : flightTable(data.flights);
  edge.stdout.write(options.json ? jsonText(json) : text);
  if (data.next !== undefined && !options.json) edge.stderr.write(MORE_ONES);
  return 0;
}

/** Prints everything known about one Flight, by its id. */
export async function flightsShow(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean; readonly log: boolean },
): Promise<number> {
  const found = await list(edge, [`flight=${id}`], { ...options, limit: undefined });
  const [flight] = found.data.flights;
  if (!flight) throw new NestwatchError('usage', `no Flight ${shown(id)} is kept`);
  const path = `/api/v1/flights/${encodeURIComponent(flight.region)}/${encodeURIComponent(flight.flight_id)}${options.log ? '?log=true' : ''}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, reportShape);
  edge.stdout.write(options.json ? jsonText(json) : `${linesOf(data).join('\n')}\n`);
  return 0;
}

async function list(edge: Edge, args: readonly string[], options: ListOptions) {
  const query = filterArguments(args, [...FILTERS, 'status']);
  if (options.limit !== undefined) query.set('limit', options.limit);
  const shape = z.object({ flights: z.array(flightShape), next: z.string().optional() });
  return daemonJson(edge, options, { method: 'GET', path: `/api/v1/flights?${query}` }, shape);
}

export function flightTable(rows: readonly Flight[]): string {
  return table([
    ['STARTED', 'STATUS', 'TOOK', 'REGION', 'NEST', 'BIRD', 'FLIGHT', 'STEP', 'MESSAGE'],
    ...rows.map((one) => [
      shownTime(one.started_at),
      shown(one.status),
      took(one),
      shown(one.region),
      shown(one.nest) || '-',
      shown(one.bird || one.bird_id),
      shown(one.flight_id),
      shown(one.step_id ?? '') || '-',
      shown(one.message) || '-',
    ]),
  ]);
}

function took({ duration_seconds: seconds }: Flight): string {
  return seconds === null ? '-' : durationWords(seconds * 1000, 'two units');
}

function linesOf(data: z.output<typeof reportShape>): string[] {
  const place = [data.region, data.nest, data.bird || data.bird_id].filter(Boolean).join(' / ');
  const message = data.end?.message || data.message;
  const notified = data.deliveries.map((one) => {
    const at = shownTime(one.settled_at ?? one.created_at);
    return `notified   ${shown(one.receiver)} by ${shownIntegration(one)}: ${one.state} at ${at} (${shown(one.id)})`;
  });
  return [
    `${shown(data.flight_id)}: ${shown(data.status)} in ${shown(place)}`,
    `started    ${shownTime(data.started_at)}`,
    ...(data.ended_at === null ? [] : [`ended      ${shownTime(data.ended_at)}, after ${took(data)}`]),
    ...(data.step_id === null ? [] : [`step       ${shown(data.step_id)}`]),
    ...(message ? [`error      ${shownLines(message).replaceAll('\n', '\n           ')}`] : []),
    ...data.alerts.map((one) => `alert      ${shown(one.id)}, ${one.state}`),
    ...notified,
    ...data.suppressions.map(
      (one) => `not sent   to ${shown(one.receiver)}: ${one.reason} ${shown(one.detail)}`,
    ),
    ...logLines(data.log),
    ...(data.end ? [`event      ${shown(data.end.key)}; nestwatch explain says its whole way`] : []),
  ];
}

function logLines(log: z.output<typeof reportShape>['log']): string[] {
  if (!log) return [];
  if (log.refused !== undefined) return [`log        ${shown(log.refused)}`];
  return [
    ...(log.older > 0 ? [`log        ${log.older} older entries are not shown`] : []),
    ...log.entries.map((one) => {
      const step = one.step_id === null ? '' : `, step ${shown(one.step_id)}`;
      const wentOn = one.went_on === null ? '' : `, ${shown(one.went_on)}`;
      return `log        ${shownTime(one.at)} ${shown(one.level ?? one.type)}${step}${wentOn}: ${shown(one.message)}`;
    }),
  ];
}
