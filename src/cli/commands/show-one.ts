/** Shows everything known about one alert, Bird, Flight or delivery. */
import type { EventJson } from '../../domain/alert/event.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { durationWords, howMany, percentWords } from '../../text/instant-words.ts';
import { parseInstant } from '../../time/instant.ts';
import type { birdReportJson, flightLogJson, flightReportJson } from '../../web/api/bird-json.ts';
import { type Answer, EXIT } from '../command-rows.ts';
import { daemonJson, type PrintOptions } from '../daemon-client.ts';
import { factText, layoutOf, linesOfIds, shown, shownLines, shownTime } from '../terminal-text.ts';
import { postMortem, type ShownAlert } from './post-mortem.ts';
import {
  type Bird,
  type Delivery,
  type Flight,
  LISTS,
  listText,
  readList,
  step,
  took,
} from './printed-lists.ts';

/** Prints everything known about one alert, even after it has been resolved. */
export async function alertsShow(
  edge: Edge,
  id: string,
  options: PrintOptions & { readonly format?: 'text' | 'markdown' },
): Promise<Answer> {
  const path = `/api/v1/alerts/${encodeURIComponent(id)}`;
  const alert = await daemonJson<ShownAlert>(edge, options, { path }, 'labels');
  const { events } = alert;
  const list = events.length > 0 ? `\n${listText(LISTS.events, events, layoutOf(edge, {}))}` : '';
  const isMarkdown = options.format === 'markdown';
  return {
    json: alert,
    text: isMarkdown ? postMortem(alert) : `${factText(edge, alertLines(alert, edge.clock.nowUs()))}${list}`,
  };
}

/** What was looked for to say why an alert fires now. */
export function findingLines(findings: ShownAlert['findings']): string[] {
  return findings.map(
    ({ annotation, text, missing }) =>
      `context    ${shown(annotation)}: ${text === null ? `not said, because ${shown(missing ?? '')}` : shown(text)}`,
  );
}

/** How far a delivery is, indented below what it belongs to. */
export function deliveryLine(one: Delivery, nowUs: number): string {
  const when = one.settled_at ? shownTime(one.settled_at) : nextTryWords(one, nowUs);
  const tries = howMany(one.attempts, 'try', 'tries');
  // Delivered ones may have an error too: some recipients of a mail may have been refused.
  const error = one.last_error ? `: ${shown(one.last_error)}` : '';
  return `  by ${shown(one.integration_name)}: ${one.state}, ${when}, ${tries} (${shown(one.id)})${error}`;
}

/** What is due is tried at once, unless earlier messages to the same receiver come before it. */
function nextTryWords({ next_attempt_at: next, attempts }: Delivery, nowUs: number): string {
  const at = next ? parseInstant(next) : undefined;
  if (!at || at.us > nowUs) return `next try ${shownTime(next)}`;
  return `${attempts > 0 ? 'due' : 'waits for its turn'} since ${shownTime(next)}`;
}

function alertLines(data: ShownAlert, nowUs: number): string[] {
  const labels = Object.entries(data.labels).map(([name, value]) => `${shown(name)}=${shown(value)}`);
  const began = shownTime(data.startsAt);
  const when = data.state === 'resolved' ? `, from ${began} to ${shownTime(data.endsAt)}` : ` since ${began}`;
  return [
    `${shown(data.id)}: ${data.state}${when}${data.kept ? '' : ', no longer kept itself'}`,
    `labels     ${labels.join(', ')}`,
    ...Object.entries(data.annotations).map(([name, value]) => `${shown(name).padEnd(10)} ${shown(value)}`),
    ...data.silenced_by.map(
      (one) =>
        `${one.acknowledgement ? 'acknowledged' : 'silenced  '} by ${shown(one.author)}: ${shown(one.comment)}`,
    ),
    ...data.notes.map(
      (one) =>
        `noted      by ${shown(one.author)} at ${shownTime(one.at)}${one.public ? ', for everybody' : ''}: ${shown(one.text)}`,
    ),
    ...(data.inhibited_by.length > 0 ? [`inhibited  by ${data.inhibited_by.map(shown).join(', ')}`] : []),
    ...findingLines(data.findings),
    `routed     to ${data.receivers.map(shown).join(', ') || 'no receiver'}`,
    ...data.notifications.flatMap((one) => [
      `notified   ${shown(one.receiver)} at ${shownTime(one.created_at)} as ${shown(one.reason)}`,
      ...one.deliveries.map((delivery) => deliveryLine(delivery, nowUs)),
    ]),
    ...data.episodes.map(
      (one) =>
        `episode    from ${shownTime(one.startsAt)} to ${shownTime(one.endsAt)}${one.ending === null ? '' : `, ${shown(one.ending.replaceAll('_', ' '))}`}`,
    ),
    `events     ${data.events_total}${data.events_total > data.events.length ? `, the newest ${data.events.length} of them` : ''}`,
  ];
}

/** The most Birds shown of those that a name fits. */
const SHOWN_BIRDS = 100;
const SHOWN_FLIGHTS = 10;
const SHOWN_LOG = 5;

type BirdReport = ReturnType<typeof birdReportJson>;

/** Finds one Bird by its id or name, with filters if several have that name. Throws `usage` for none and for several. */
export async function findBird(
  edge: Edge,
  bird: string,
  filters: readonly string[],
  options: PrintOptions,
  narrower = 'region= or nest=',
): Promise<Bird> {
  const whole = { ...options, isWhole: true };
  const { birds: items = [] } = await readList<Bird>(edge, 'birds', [`bird=${bird}`, ...filters], whole);
  const exact = items.filter((one) => one.bird_id === bird || one.bird === bird);
  const meant = exact.length > 0 ? exact : items;
  const [found, another] = meant;
  if (!found) throw new NestwatchError('usage', `no Bird ${shown(bird)} is known`);
  if (another) {
    edge.stderr.write(listText(LISTS.birds, meant.slice(0, SHOWN_BIRDS), layoutOf(edge, {})));
    throw new NestwatchError(
      'usage',
      `several Birds fit: give an id, and ${narrower} where it is of several`,
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
): Promise<Answer> {
  const found = await findBird(edge, bird, filters, options);
  const path = `/api/v1/birds/${encodeURIComponent(found.region)}/${encodeURIComponent(found.bird_id)}`;
  const report = await daemonJson<BirdReport>(edge, options, { path }, 'counts');
  const flights = report.flights.slice(0, SHOWN_FLIGHTS);
  const list = flights.length > 0 ? `\n${listText(LISTS.flights, flights, layoutOf(edge, {}))}` : '';
  return { json: report, text: `${factText(edge, birdLines(report))}${list}` };
}

function birdLines(data: BirdReport): string[] {
  const { counts, durations, next_flight: next, switched_off: off } = data;
  const failure = data.flights.find(({ status }) => status === 'failed') ?? data.causes[0]?.example;
  const words = (seconds: number) => durationWords(seconds * 1000, 'rounded');
  return [
    `${shown(data.bird) || shown(data.bird_id)} in ${shown([data.region, data.nest].filter(Boolean).join(' / '))}: ${data.standing}`,
    `id         ${shown(data.bird_id)}`,
    `status     ${shown(data.status)}, first seen ${shownTime(data.status_since)}, trigger ${shown(data.trigger_type)}`,
    ...(off ? [`off        ${eventLine(off)}`] : []),
    ...(data.action ? [`flown      ${shown(data.action.summary)}`] : []),
    ...data.alerts.map((one) => {
      const at = one.state === 'firing' ? one.startsAt : one.endsAt;
      return `alert      ${shown(one.id)}, ${one.state} since ${shownTime(at)}`;
    }),
    ...counts.map((one) => `${`last ${hoursWords(one.hours)}`.padEnd(11)}${countWords(one)}`),
    ...(durations
      ? [
          durations.flights === 1
            ? `durations  ${words(durations.p50_seconds)}, of the last Flight that succeeded`
            : `durations  half within ${words(durations.p50_seconds)}, 95 of 100 within ${words(durations.p95_seconds)}, of the last ${howMany(durations.flights, 'Flight')} that succeeded`,
        ]
      : []),
    ...(next ? [`next       ${shownTime(next.expected_at)}, about every ${words(next.every_seconds)}`] : []),
    ...data.deadlines.map(
      ({ rule, next_at, last, not_judged: not }) =>
        `deadlines  ${next_at ? `next ${shownTime(next_at)}, ` : ''}${not ? `${shownTime(not.at)} not judged: watched only since ${shownTime(not.watched_since)}` : outcomeWords(last)} (rule ${shown(rule)})`,
    ),
    ...data.causes.map((one) => `cause      ${one.count} × ${shown(one.error) || 'without a message'}`),
    ...(failure
      ? [
          `failed     ${shownTime(failure.ended_at)}${step(failure) && !failure.message.startsWith(`${step(failure)}:`) ? `, step ${step(failure)}` : ''}: ${shown(failure.message) || 'without a message'} (Flight ${shown(failure.flight_id)})`,
        ]
      : []),
    ...data.log.slice(0, SHOWN_LOG).map((one) => `log        ${eventLine(one)}`),
  ];
}

function hoursWords(hours: number): string {
  return hours <= 24 ? `${hours} h` : `${hours / 24} d`;
}

function outcomeWords(last: BirdReport['deadlines'][number]['last']): string {
  const count = (outcome: string) => last.filter((one) => one.outcome === outcome).length;
  return `last ${last.length}: ${count('met')} met, ${count('late')} late, ${count('missed')} missed`;
}

function countWords({
  succeeded,
  failed,
  cancelled,
  success_ratio: ratio,
}: BirdReport['counts'][number]): string {
  const part = ratio === null ? '' : ` (${percentWords(ratio)} succeeded)`;
  const stopped = cancelled > 0 ? `, ${cancelled} cancelled` : '';
  return `${succeeded} succeeded, ${failed} failed${stopped}${part}`;
}

function eventLine({ type, occurred_at: at, message, attributes }: EventJson): string {
  const { initiator } = attributes;
  const by = typeof initiator === 'string' ? ` by ${shown(initiator)}` : '';
  return `${shownTime(at)} ${shown(type)}${by}${message ? `: ${shown(message)}` : ''}`;
}

interface FlightReport extends ReturnType<typeof flightReportJson> {
  readonly log?: ReturnType<typeof flightLogJson>;
}

/** Prints everything known about one Flight, by its id. */
export async function flightsShow(
  edge: Edge,
  id: string,
  options: PrintOptions & { readonly log: boolean },
): Promise<Answer> {
  const { flights: [flight] = [] } = await readList<Flight>(edge, 'flights', [`flight=${id}`], options);
  if (!flight) throw new NestwatchError('usage', `no Flight ${shown(id)} is kept`);
  const path = `/api/v1/flights/${encodeURIComponent(flight.region)}/${encodeURIComponent(flight.flight_id)}${options.log ? '?log=true' : ''}`;
  const report = await daemonJson<FlightReport>(edge, options, { path }, 'flight_id');
  return { json: report, text: factText(edge, flightLines(report)) };
}

function flightLines(data: FlightReport): string[] {
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
    ...(step(data) ? [`step       ${step(data)}`] : []),
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

function logLines(log: FlightReport['log']): string[] {
  if (!log) return [];
  if ('refused' in log) return [`log        ${shown(log.refused)}`];
  return [
    ...(log.older > 0 ? [`log        ${log.older} older entries are not shown`] : []),
    ...log.entries.map((one) => {
      const at = step(one) && `, step ${step(one)}`;
      const wentOn = one.went_on === null ? '' : `, ${shown(one.went_on)}`;
      return `log        ${shownTime(one.at)} ${shown(one.level ?? one.type)}${at}${wentOn}: ${shown(one.message)}`;
    }),
  ];
}

interface ShownDelivery extends Delivery {
  readonly alerts: readonly string[];
  readonly events: readonly string[];
  readonly refused_by: string;
  readonly message: string | null;
}

/** Prints one delivery: its state, what it is about, and its message as sent. */
export async function deliveriesShow(edge: Edge, id: string, options: PrintOptions): Promise<Answer> {
  const path = `/api/v1/deliveries/${encodeURIComponent(id)}`;
  const delivery = await daemonJson<ShownDelivery>(edge, options, { path }, 'refused_by');
  return { json: delivery, text: deliveryText(edge, delivery) };
}

function deliveryText(edge: Edge, one: ShownDelivery): string {
  const settled = one.settled_at ? `ended ${shownTime(one.settled_at)}` : '';
  const next = one.next_attempt_at ? nextTryWords(one, edge.clock.nowUs()) : '';
  const lines = [
    `${shown(one.id)}: ${one.state} to ${shown(one.receiver)} by ${shown(one.integration_name)}`,
    `queued     ${shownTime(one.created_at)}, ${settled || next}`,
    `tries      ${one.attempts}${one.last_error ? `: ${shown(one.last_error)}` : ''}`,
    ...(one.refused_by ? [`not sent   to ${shown(one.refused_by)}`] : []),
    ...one.alerts.map((id) => `alert      ${shown(id)}`),
    ...one.events.map((key) => `event      ${shown(key)}`),
  ];
  const message = one.message === null ? '' : `\n${shownLines(one.message).trimEnd()}\n`;
  return factText(edge, lines) + message;
}

/** Queues dead deliveries again. Exits with 1 if one of them was not dead or is unknown. */
export async function deliveriesRetry(
  edge: Edge,
  ids: readonly string[],
  options: PrintOptions,
): Promise<Answer> {
  const request = { method: 'POST', path: '/api/v1/deliveries/retry', body: { ids } } as const;
  const answer = await daemonJson<{ retried: readonly string[] }>(edge, options, request, 'retried');
  const missing = ids.filter((id) => !answer.retried.includes(id));
  for (const id of missing) edge.stderr.write(`nestwatch: ${shown(id)} is no delivery that was given up\n`);
  return { json: answer, text: linesOfIds(answer.retried), exit: missing.length === 0 ? 0 : EXIT.failed };
}
