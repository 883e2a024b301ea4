import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import type { flightLogJson, flightReportJson } from '../../web/api/bird-json.ts';
import { type PrintOptions, printAnswer } from '../daemon-client.ts';
import { shown, shownLines, shownTime } from '../terminal-text.ts';
import { FLIGHTS, readList, took } from './printed-lists.ts';

interface Report extends ReturnType<typeof flightReportJson> {
  readonly log?: ReturnType<typeof flightLogJson>;
}

/** Prints everything known about one Flight, by its id. */
export async function flightsShow(
  edge: Edge,
  id: string,
  options: PrintOptions & { readonly log: boolean },
): Promise<number> {
  const { flights: [flight] = [] } = await readList(edge, FLIGHTS, [`flight=${id}`], options);
  if (!flight) throw new NestwatchError('usage', `no Flight ${shown(id)} is kept`);
  const path = `/api/v1/flights/${encodeURIComponent(flight.region)}/${encodeURIComponent(flight.flight_id)}${options.log ? '?log=true' : ''}`;
  const text = (report: Report) => `${linesOf(report).join('\n')}\n`;
  await printAnswer(edge, options, { method: 'GET', path }, 'flight_id', text);
  return 0;
}

function linesOf(data: Report): string[] {
  const place = [data.region, data.nest, data.bird || data.bird_id].filter(Boolean).join(' / ');
  const message = data.end?.message || data.message;
  const notified = data.deliveries.map((one) => {
    const at = shownTime(one.settled_at ?? one.created_at);
    return `notified   ${shown(one.receiver)} by ${shown(one.integration_name)}: ${one.state} at ${at} (${shown(one.id)})`;
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

function logLines(log: Report['log']): string[] {
  if (!log) return [];
  if ('refused' in log) return [`log        ${shown(log.refused)}`];
  return [
    ...(log.older > 0 ? [`log        ${log.older} older entries are not shown`] : []),
    ...log.entries.map((one) => {
      const step = one.step_id === null ? '' : `, step ${shown(one.step_id)}`;
      const wentOn = one.went_on === null ? '' : `, ${shown(one.went_on)}`;
      return `log        ${shownTime(one.at)} ${shown(one.level ?? one.type)}${step}${wentOn}: ${shown(one.message)}`;
    }),
  ];
}
