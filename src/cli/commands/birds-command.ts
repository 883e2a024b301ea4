/** Shows everything known about one Bird. */
import type { EventJson } from '../../domain/alert/event.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { durationWords, howMany } from '../../text/duration-words.ts';
import type { birdReportJson } from '../../web/api/bird-json.ts';
import { type PrintOptions, printAnswer } from '../daemon-client.ts';
import { type Layout, layoutOf, shown, shownSentence, shownTime } from '../terminal-text.ts';
import { BIRDS, type Bird, FLIGHTS, listText, readList } from './printed-lists.ts';

const SHOWN_FLIGHTS = 10;
const SHOWN_LOG = 5;

type Report = ReturnType<typeof birdReportJson>;

/** Finds one Bird by its id or name, with filters if several have that name. Throws `usage` for none and for several. */
export async function findBird(
  edge: Edge,
  bird: string,
  filters: readonly string[],
  options: PrintOptions,
): Promise<Bird> {
  const { birds: items = [] } = await readList(edge, BIRDS, [`bird=${bird}`, ...filters], options);
  const exact = items.filter((one) => one.bird_id === bird || one.bird === bird);
  const meant = exact.length > 0 ? exact : items;
  const [found, another] = meant;
  if (!found) throw new NestwatchError('usage', `no Bird ${shown(bird)} is known`);
  if (another) {
    edge.stderr.write(listText(BIRDS, meant, layoutOf(edge, {})));
    throw new NestwatchError(
      'usage',
      'several Birds fit: give an id, and region= or nest= where it is of several',
    );
  }
  return found;
}

/** Prints everything known about one Bird. */
export async function birdsShow(
  edge: Edge,
  bird: string,
  filters: readonly string[],
  options: PrintOptions,
): Promise<number> {
  const found = await findBird(edge, bird, filters, options);
  const path = `/api/v1/birds/${encodeURIComponent(found.region)}/${encodeURIComponent(found.bird_id)}`;
  await printAnswer<Report>(edge, options, { method: 'GET', path }, 'counts', (report) =>
    reportText(report, layoutOf(edge, {})),
  );
  return 0;
}

function reportText(data: Report, layout: Layout): string {
  const flights = data.flights.slice(0, SHOWN_FLIGHTS);
  return `${linesOf(data).join('\n')}\n${flights.length > 0 ? `\n${listText(FLIGHTS, flights, layout)}` : ''}`;
}

function linesOf(data: Report): string[] {
  const { counts, durations, next_flight: next, switched_off: off } = data;
  const failure = data.flights.find(({ status }) => status === 'failed') ?? data.causes[0]?.example;
  const words = (seconds: number) => durationWords(seconds * 1000, 'rounded');
  return [
    `${shown(data.bird || data.bird_id)} in ${shown([data.region, data.nest].filter(Boolean).join(' / '))}: ${data.standing}`,
    `id         ${shown(data.bird_id)}`,
    `status     ${shown(data.status)}, first seen ${shownTime(data.status_since)}, trigger ${shown(data.trigger_type)}`,
    ...(off ? [`off        ${eventLine(off)}`] : []),
    ...(data.action ? [`flown      ${shownSentence(data.action.summary)}`] : []),
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
    ...data.deadlines.map(
      ({ rule, next_at, last }) =>
        `deadlines  ${next_at ? `next ${shownTime(next_at)}, ` : ''}${deadlineWords(last)} (rule ${shown(rule)})`,
    ),
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

function deadlineWords(last: Report['deadlines'][number]['last']): string {
  const count = (outcome: string) => last.filter((one) => one.outcome === outcome).length;
  return `last ${last.length}: ${count('met')} met, ${count('late')} late, ${count('missed')} missed`;
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

function eventLine({ type, occurred_at: at, message, attributes }: EventJson): string {
  const { initiator } = attributes;
  const by = typeof initiator === 'string' ? ` by ${shown(initiator)}` : '';
  return `${shownTime(at)} ${shown(type)}${by}${message ? `: ${shown(message)}` : ''}`;
}
