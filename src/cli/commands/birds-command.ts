import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { howMany } from '../../text/counts.ts';
import { durationWords } from '../../text/duration-words.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { FILTERS, filterArguments, MORE_ONES } from '../list-filters.ts';
import { table } from '../table.ts';
import { jsonText, shown, shownTime } from '../terminal-text.ts';
import { flightShape, flightTable, type ListOptions } from './flights-command.ts';

/** The default of `--limit`. */
const SHOWN = '100';
const SHOWN_FLIGHTS = 10;
const SHOWN_LOG = 5;

const birdShape = z.object({
  region: z.string(),
  nest: z.string(),
  bird_id: z.string(),
  bird: z.string(),
  status: z.string(),
  status_since: z.string().nullable(),
  trigger_type: z.string(),
  standing: z.string(),
  alerts_firing: z.number(),
  last_flight: z
    .object({ flight_id: z.string(), started_at: z.string().nullable(), status: z.string() })
    .nullable(),
});
type Bird = z.output<typeof birdShape>;

const eventShape = z.object({
  type: z.string(),
  occurred_at: z.string(),
  message: z.string(),
  attributes: z.record(z.string(), z.unknown()),
});

const reportShape = birdShape.extend({
  counts: z.array(
    z.object({
      hours: z.number(),
      succeeded: z.number(),
      failed: z.number(),
      cancelled: z.number(),
      success_ratio: z.number().nullable(),
    }),
  ),
  durations: z.object({ flights: z.number(), p50_seconds: z.number(), p95_seconds: z.number() }).nullable(),
  next_flight: z.object({ expected_at: z.string(), every_seconds: z.number() }).nullable(),
  causes: z.array(z.object({ error: z.string(), count: z.number(), example: flightShape })),
  switched_off: eventShape.nullable(),
  alerts: z.array(
    z.object({ id: z.string(), state: z.string(), startsAt: z.string().nullable(), endsAt: z.string() }),
  ),
  flights: z.array(flightShape),
  log: z.array(eventShape),
});
type Report = z.output<typeof reportShape>;

/** Lists Birds, those in trouble first. */
export async function birds(edge: Edge, args: readonly string[], options: ListOptions): Promise<number> {
  const { json, data } = await list(edge, args, options);
  edge.stdout.write(options.json ? jsonText(json) : birdTable(data.birds));
  if (data.next !== undefined && !options.json) edge.stderr.write(MORE_ONES);
  return 0;
}

/** Prints everything known about one Bird, by its id or name, with filters if several have that name. */
export async function birdsShow(
  edge: Edge,
  [bird = '', ...filters]: readonly string[],
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const { data } = await list(edge, [`bird=${bird}`, ...filters], { ...options, limit: undefined });
  const exact = data.birds.filter((one) => one.bird_id === bird || one.bird === bird);
  const [found, another] = exact.length > 0 ? exact : data.birds;
  if (!found) throw new NestwatchError('usage', `no Bird ${shown(bird)} is known`);
  if (another) {
    edge.stderr.write(birdTable(exact.length > 0 ? exact : data.birds));
    throw new NestwatchError(
      'usage',
      'several Birds fit: give an id, and region= or nest= where it is of several',
    );
  }
  const path = `/api/v1/birds/${encodeURIComponent(found.region)}/${encodeURIComponent(found.bird_id)}`;
  const report = await daemonJson(edge, options, { method: 'GET', path }, reportShape);
  edge.stdout.write(options.json ? jsonText(report.json) : reportText(report.data));
  return 0;
}

async function list(edge: Edge, args: readonly string[], options: ListOptions) {
  const query = filterArguments(args, [...FILTERS, 'status', 'standing']);
  query.set('limit', options.limit ?? SHOWN);
  const shape = z.object({ birds: z.array(birdShape), next: z.string().optional() });
  return daemonJson(edge, options, { method: 'GET', path: `/api/v1/birds?${query}` }, shape);
}

function birdTable(rows: readonly Bird[]): string {
  if (rows.length === 0) return 'No Birds.\n';
  return table([
    ['STANDING', 'STATUS', 'REGION', 'NEST', 'BIRD', 'ID', 'TRIGGER', 'LAST FLIGHT', 'ENDED AS'],
    ...rows.map((one) => [
      one.standing,
      shown(one.status),
      shown(one.region),
      shown(one.nest) || '-',
      shown(one.bird) || '-',
      shown(one.bird_id),
      shown(one.trigger_type),
      shownTime(one.last_flight?.started_at),
      shown(one.last_flight?.status ?? '') || '-',
    ]),
  ]);
}

function reportText(data: Report): string {
  const flights = data.flights.slice(0, SHOWN_FLIGHTS);
  return `${linesOf(data).join('\n')}\n${flights.length > 0 ? `\n${flightTable(flights)}` : ''}`;
}

function linesOf(data: Report): string[] {
  const { counts, durations, next_flight: next, switched_off: off } = data;
  const failure = data.flights.find(({ status }) => status === 'failed') ?? data.causes[0]?.example;
  const words = (seconds: number) => durationWords(seconds * 1000, 'rounded');
  return [
    `${shown(data.bird || data.bird_id)} in ${shown([data.region, data.nest].filter(Boolean).join(' / '))}: ${data.standing}`,
    `id         ${shown(data.bird_id)}`,
    `status     ${shown(data.status)} since ${shownTime(data.status_since)}, trigger ${shown(data.trigger_type)}`,
    ...(off ? [`off        ${eventLine(off)}`] : []),
    ...data.alerts.map((one) => {
      const at = one.state === 'firing' ? one.startsAt : one.endsAt;
      return `alert      ${shown(one.id)}, ${one.state} since ${shownTime(at)}`;
    }),
    ...counts.map((one) => `${`last ${hoursWords(one.hours)}`.padEnd(11)}${countWords(one)}`),
    ...(durations
      ? [
          `durations  half within ${words(durations.p50_seconds)}, 95 of 100 within ${words(durations.p95_seconds)}, of the last ${howMany(durations.flights, 'Flight')} that succeeded`,
        ]
      : []),
    ...(next ? [`next       ${shownTime(next.expected_at)}, about every ${words(next.every_seconds)}`] : []),
    ...data.causes.map((one) => `cause      ${one.count} × ${shown(one.error) || 'without a message'}`),
    ...(failure
      ? [
          `failed     ${shownTime(failure.ended_at)}${failure.step_id ? `, step ${shown(failure.step_id)}` : ''}: ${shown(failure.message) || 'without a message'} (Flight ${shown(failure.flight_id)})`,
        ]
      : []),
    ...data.log.slice(0, SHOWN_LOG).map((one) => `log        ${eventLine(one)}`),
  ];
}

function hoursWords(hours: number): string {
  return hours <= 24 ? `${hours} h` : `${hours / 24} d`;
}

function countWords({
  succeeded,
  failed,
  cancelled,
  success_ratio: ratio,
}: Report['counts'][number]): string {
  const part = ratio === null ? '' : ` (${Math.floor(ratio * 1000) / 10} % succeeded)`;
  const stopped = cancelled > 0 ? `, ${cancelled} cancelled` : '';
  return `${succeeded} succeeded, ${failed} failed${stopped}${part}`;
}

function eventLine({ type, occurred_at: at, message, attributes }: z.output<typeof eventShape>): string {
  const { initiator } = attributes;
  const by = typeof initiator === 'string' ? ` by ${shown(initiator)}` : '';
  return `${shownTime(at)} ${shown(type)}${by}${message ? `: ${shown(message)}` : ''}`;
}
