/**
 * Writes what a message says about single events; about a failed Flight when it started, how long it flew, its step and
 * its ids.
 */
import type { Labels } from '../../domain/alert/alert.ts';
import { reasonOf, signature } from '../../domain/alert/error-signature.ts';
import { type Event, shortId } from '../../domain/alert/event.ts';
import type { FlightOutcome } from '../../domain/grouping/notification.ts';
import { dayAndSecond, durationWords } from '../../text/instant-words.ts';
import { firstLines, plainText, regionName, shortGuid } from '../../text/plain-text.ts';
import { parseInstant } from '../../time/instant.ts';
import { NAME_CODE_POINTS } from './alert-subject.ts';

/** One event, or several that say the same. What is said around the list is left empty here. Clean, not escaped. */
export interface EventLine {
  /** The Bird or entity, with its Nest and region if the message is about several. */
  readonly where: string;
  /** `started 2 Jul 2026, 11:41:07 UTC, failed after 15 min` */
  readonly when: string;
  /** `step Translate` */
  readonly step: string;
  readonly message: string;
  /** `Flight 5f0c9a52`, `event 7hq2m9-x4t`, of the newest event. */
  readonly ids: readonly string[];
  readonly events: number;
}

/** What the message says around a list of events. */
export interface Said {
  /** The first line of the message that is shown. */
  readonly message: string;
  /** The labels that all have in common, which the head or the details of the message name. */
  readonly labels: Labels;
  /** True if the head of the list names the only place. */
  readonly place: boolean;
  /** The step of all Flights, or empty. */
  readonly step: string;
  /** What is said beside the message of an event, by its key. */
  readonly context?: ReadonlyMap<string, string>;
}

export const LINE_CODE_POINTS = 200;
/** More than a message lists. */
const SAID_EVENTS = 20;

/**
 * The first lines, newest first, and how many events are not in them. Every Flight has its own line; other events that
 * say the same about the same place share one. In `events`, those that must not be left out come first.
 */
export function eventLines(
  events: readonly Event[],
  said: Said,
  maxLines: number,
): { readonly lines: readonly EventLine[]; readonly more: number } {
  const alike = new Map<string, Event[]>();
  for (const event of withoutMute([...new Map(events.map((one) => [one.key, one])).values()])) {
    const key = isFlight(event) ? event.key : JSON.stringify([whereOf(event, {}), ownMessage(event, '')]);
    alike.set(key, [...(alike.get(key) ?? []), event]);
  }
  const shown = [...alike.values()].slice(0, maxLines).map((group) => group.toSorted(newestFirst));
  const lines = shown
    .sort(([a], [b]) => newestFirst(a!, b!))
    .map(([newest, ...others]) => lineOf(newest!, others.length + 1, said));
  const all = [...alike.values()].flat().length;
  return { lines, more: all - shown.flat().length };
}

/** Leaves out events without a message whose place another event tells more about. */
function withoutMute(events: readonly Event[]): readonly Event[] {
  const isMute = (event: Event) => !isFlight(event) && event.message === '';
  if (!events.some(isMute)) return events;
  const spoken = new Set(events.filter((event) => !isMute(event)).map((event) => whereOf(event, {})));
  return events.filter((event) => !isMute(event) || !spoken.has(whereOf(event, {})));
}

export function newestFirst(a: Event, b: Event): number {
  return b.occurredAtUs - a.occurredAtUs;
}

function lineOf(event: Event, events: number, { message, labels, place, step, context }: Said): EventLine {
  const own = stepOf(event);
  const said = [ownMessage(event, message), context?.get(event.key) ?? ''];
  return {
    where: place ? '' : whereOf(event, labels),
    when: isFlight(event) ? flightTimes(event).join(' ') : counted(event, events),
    step: own === step ? '' : own,
    message: said.filter((part) => part !== '').join(' · '),
    ids: idsOf(event),
    events,
  };
}

/** All of it on one line, for messages that have no room for more. */
export function eventWords({ where, when, step, message, ids }: EventLine): string {
  return [where, when, step, message, ...ids].filter((part) => part !== '').join(' · ');
}

export function isFlight({ feed }: Event): boolean {
  return feed === 'flight';
}

/** When the Flight started, and how long after that it ended; only its end if the start is not known. */
export function flightTimes({ type, attributes, occurredAtUs }: Event): [verb: string, times: string] {
  const ended = plainText(type.replace(/^[a-z_]+\./, ''), NAME_CODE_POINTS);
  const startedAtUs = parseInstant(String(attributes.started_at ?? ''))?.us;
  if (startedAtUs === undefined) return [ended, dayAndSecond(occurredAtUs)];
  return [
    'started',
    `${dayAndSecond(startedAtUs)}, ${ended} after ${durationWords((occurredAtUs - startedAtUs) / 1000, 'two units')}`,
  ];
}

/** `step Translate`: the step that failed, by its name (the service's scope) or else its id; empty if unknown. */
export function stepOf({ attributes }: Event): string {
  const [name, id] = [attributes.scope, attributes.step_id].map((part) =>
    plainText(String(part ?? ''), NAME_CODE_POINTS),
  );
  return name || id ? `step ${name || shortGuid(id!)}` : '';
}

/** The step that is the same for all of several events, and needs to be said only once; empty if there is none. */
export function stepOfAll(events: readonly Event[]): string {
  const [step = '', ...others] = new Set(events.map(stepOf));
  return others.length === 0 && events.length > 1 ? step : '';
}

/** The line that says what went wrong; the first one if none does. */
export function reasonLine(text: string): string {
  return plainText(reasonOf(text), LINE_CODE_POINTS) || (firstLines(text, 1, LINE_CODE_POINTS)[0] ?? '');
}

function counted({ occurredAtUs }: Event, events: number): string {
  const at = dayAndSecond(occurredAtUs);
  return events > 1 ? `${events} ×, the last ${at}` : at;
}

/**
 * The event's message if it is not said already. An event without one says so, or what it is, where another message
 * could be taken for its own.
 */
function ownMessage(event: Event, said: string): string {
  const message = reasonLine(event.message);
  if (message !== '') return message === said || said.endsWith(`: ${message}`) ? '' : message;
  if (!isFlight(event)) {
    const { initiator = '' } = event.attributes;
    const by = initiator === '' ? '' : `, by ${initiator}`;
    return plainText(`${event.type.replace(/^[a-z_]+\./, '')}${by}`, NAME_CODE_POINTS);
  }
  return said === '' ? '' : 'without a message';
}

function whereOf({ region, nest, nestId, bird, birdId, attributes }: Event, shared: Labels): string {
  const isSame = shared.bird_id ? shared.bird_id === birdId : Boolean(shared.entity_id);
  const entity = attributes.entity_name ?? attributes.entity_id ?? '';
  const parts = [
    shared.region === undefined && region ? regionName(region) : '',
    shared.nest === undefined ? nest || (nestId && `Nest ${nestId}`) : '',
    isSame ? '' : bird || (birdId && `Bird ${birdId}`) || String(entity),
  ];
  return parts
    .filter((part) => part !== '')
    .map((part) => plainText(part, NAME_CODE_POINTS))
    .join(' / ');
}

function idsOf(event: Event): string[] {
  const flightId = shortGuid(plainText(String(event.attributes.flight_id ?? ''), NAME_CODE_POINTS));
  return [...(flightId === '' ? [] : [`Flight ${flightId}`]), `event ${shortId(event)}`];
}

/** Whether one of these says something else than the message, apart from what varies in it. */
export function sayMore(events: readonly Event[], message: string): boolean {
  const said = signature(message);
  const others = new Set(events.slice(0, SAID_EVENTS).map((event) => reasonLine(event.message)));
  return [...others].some((other) => other !== '' && signature(other) !== said);
}

/** `Bird 148890`, `Nest 682`, without the ids that `shared` has. */
export function placeIds({ nest_id, bird_id, entity_id, entity_type }: Labels, shared: Labels): string[] {
  const ids = [
    ['Bird', bird_id, shared.bird_id],
    // A notification about a Bird names the Bird as its entity.
    [entity_type || 'entity', bird_id ? '' : entity_id, shared.entity_id],
    ['Nest', nest_id, shared.nest_id],
  ] as const;
  return ids
    .filter(([, id, known]) => id && id !== known)
    .map(([name, id]) => `${plainText(name, NAME_CODE_POINTS)} ${plainText(id!, NAME_CODE_POINTS)}`);
}

/** How a Bird's last Flights ended, the oldest first. */
export interface FlightHistory {
  /** `● ● ✕`: one mark for each. */
  readonly marks: readonly { readonly mark: string; readonly outcome: FlightOutcome }[];
  /**
   * `2 succeeded, then 1 failed`: the same in words, for people who cannot see or do not know the marks; totals if
   * there are many.
   */
  readonly words: string;
}

const MARKS: Readonly<Record<FlightOutcome, string>> = { succeeded: '●', failed: '✕', cancelled: '○' };

/** Nobody follows more changes than this. */
const MAX_RUNS = 3;

export function flightHistory(outcomes: readonly FlightOutcome[]): FlightHistory {
  const runs: { outcome: FlightOutcome; count: number }[] = [];
  for (const outcome of outcomes) {
    const last = runs.at(-1);
    if (last?.outcome === outcome) last.count += 1;
    else runs.push({ outcome, count: 1 });
  }
  return {
    marks: outcomes.map((outcome) => ({ mark: MARKS[outcome], outcome })),
    words: runs.length <= MAX_RUNS ? runs.map(run).join(', then ') : totals(outcomes),
  };
}

function totals(outcomes: readonly FlightOutcome[]): string {
  const sums = [...Map.groupBy(outcomes, (outcome) => outcome)].map(([outcome, all]) =>
    run({ outcome, count: all.length }),
  );
  return `${sums.join(', ')}; the last one ${outcomes.at(-1)}`;
}

function run({ outcome, count }: { outcome: FlightOutcome; count: number }): string {
  return `${count} ${outcome}`;
}

/** `Last Flights: ● ● ✕ (2 succeeded, then 1 failed)` */
export function historyLine({ marks, words }: FlightHistory): string {
  return `Last Flights: ${marks.map(({ mark }) => mark).join(' ')} (${words})`;
}
