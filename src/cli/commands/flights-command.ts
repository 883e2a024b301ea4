import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown, shownLines, shownTime } from '../terminal-text.ts';
import { DELIVERIES, FLIGHTS, readList, shownIntegration, took } from './printed-lists.ts';

const reportShape = FLIGHTS.item.extend({
  end: z.object({ key: z.string(), message: z.string() }).nullable(),
  alerts: z.array(z.object({ id: z.string(), state: z.string() })),
  deliveries: z.array(DELIVERIES.item),
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

/** Prints everything known about one Flight, by its id. */
export async function flightsShow(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean; readonly log: boolean },
): Promise<number> {
  const { items } = await readList(edge, FLIGHTS, [`flight=${id}`], { ...options, limit: undefined });
  const [flight] = items;
  if (!flight) throw new NestwatchError('usage', `no Flight ${shown(id)} is kept`);
  const path = `/api/v1/flights/${encodeURIComponent(flight.region)}/${encodeURIComponent(flight.flight_id)}${options.log ? '?log=true' : ''}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, reportShape);
  edge.stdout.write(options.json ? jsonText(json) : `${linesOf(data).join('\n')}\n`);
  return 0;
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
