/**
 * A Flight failed, or several did: within a window, in a row, or among the Bird's last ones.
 *
 * Resolves when a Flight of the Bird succeeds that started later than the latest failed one (for a share of the last
 * Flights, when a success brings it below the limit), or after `resolve_after`. Flights overlap: a success seen
 * before the failure of a long Flight that started earlier does not cancel that failure. It fires all the same, and
 * the alert lasts until the next success or `resolve_after`.
 */
import { dayAndTime, durationWords } from '../../../text/instant-words.ts';
import {
  type Alert,
  type Change,
  fire,
  hash64,
  type Labels,
  remember,
  resolve,
  waitingEvent,
} from '../../alert/alert.ts';
import { signature } from '../../alert/error-signature.ts';
import type { Event } from '../../alert/event.ts';
import type { FactOf, FlightEnded } from '../../alert/fact.ts';
import { annotate, birdName, placeLabels, placeOf, tidyLabels, whereabouts } from '../../alert/labels.ts';
import { lasting, type Parameters, type Rule, type RuleOf, resolvedAfter } from '../../alert/rule.ts';
import {
  type Context,
  defineKind,
  endQuiet,
  endVanished,
  type Given,
  isRuleOf,
  type Mistake,
  PLACE_LABELS,
  quietAtUs,
  subjectPart,
} from '../kind.ts';

interface Memory {
  /** Failures that do not make an alert yet: the newest, as many as can count. */
  readonly waiting: readonly Event[];
  /** When the latest failed Flight of the episode started. */
  readonly failedStartUs: number;
  /** How the last Flights ended, while it fires because of a share of them. */
  readonly ends?: readonly FlightEnded[];
  /** The error of the newest failure, as in the label; empty for none. */
  readonly error?: string;
  /** How new the error of the label was, in words; empty if nothing is to be said. */
  readonly seenBefore?: string;
}

const NOTHING: Memory = { waiting: [], failedStartUs: 0 };

/** How long failures below the threshold are remembered if no rule says otherwise. */
const LONGEST_WAIT_MS = 7 * 86_400_000;

const PARAMETERS = {
  forEach: {
    type: 'choice',
    of: ['bird', 'flight', 'error'],
    default: 'bird',
    description: 'What each alert is about: a Bird, a Flight, or one kind of error of a Bird.',
  },
  threshold: {
    type: 'count',
    least: 1,
    most: 100,
    default: 1,
    description: 'Failures within `window`.',
  },
  windowMs: {
    type: 'duration',
    leastMs: 1000,
    default: 600_000,
    description: 'The time within which `threshold` counts.',
  },
  consecutive: {
    type: 'count',
    least: 1,
    most: 100,
    description: 'Instead of `threshold`: this many Flights of the Bird failed in a row.',
  },
  ratio: {
    type: 'part',
    description:
      'Instead of `threshold`: this share of the last `of_last` Flights of the Bird failed. Cancelled ones do not count.',
  },
  ofLast: {
    type: 'count',
    least: 2,
    most: 100,
    description: 'Number of Flights that `ratio` considers.',
  },
  ...lasting(),
  ...resolvedAfter(86_400_000),
} as const satisfies Parameters;

type FlightFailedRule = RuleOf<typeof PARAMETERS>;

export const flightFailed = defineKind({
  name: 'FlightFailed',
  fires:
    'Flights of the Bird failed: `threshold` of them within `window`, `consecutive` ones in a row, or a `ratio` of the last `of_last`',
  resolves:
    'a Flight that started later succeeds (with `ratio`: the share is lower again), or there was no new failure for `resolve_after`',
  words: {
    firing: 'Flight failed',
    still: 'Flights still failing',
    over: 'Recovered',
    verbs: {
      firing: ['failed', 'failed'],
      still: ['still fails', 'still fail'],
      over: ['lands again', 'land again'],
    },
    quiet: 'No new failures',
    events: 'failure',
  },
  runbook: {
    look: 'the message comes from the failed step. The same error in many Birds points to something they share: a connection, a quota, a system that is down.',
    act: 'fix what the message names, then start the Bird again. Where failures are expected, give the rule a `threshold`, `consecutive` or `ratio`.',
  },
  parameters: PARAMETERS,
  mistakes,
  severities: ['warning'],
  labels: [...PLACE_LABELS, 'error', 'error_type'],
  laterLabels: ['novelty'],
  isResolvableByHand: () => true,
  counting: {
    asksForSeveral: ({ threshold, consecutive = 1, ratio }) =>
      ratio !== undefined || Math.max(threshold, consecutive) > 1,
    waiting: ({ memory }) => (memory as Memory | null)?.waiting ?? [],
  },
  remembers: {
    waiting: 'events',
    failedStartUs: 'number',
    ends: 'ends',
    error: 'text or absent',
    seenBefore: 'text or absent',
  },

  raisedBy: ['event'],
  observes: ['event', 'bird_vanished'],
  eventTypes: ['flight.failed', 'flight.succeeded'],

  topic({ event, historic }) {
    if (event.type !== 'flight.failed' || historic) return undefined;
    return {
      subject: `bird/${subjectPart(event.birdId)}`,
      labels: {
        ...placeLabels(event),
        error: signature(event.message),
        error_type: errorTypeOf(event),
      },
    };
  },

  narrow(found, fact, rule) {
    const topic =
      rule.labels.error_type === undefined ? found : { ...found, labels: withoutErrorType(found.labels) };
    if (rule.forEach === 'bird') return topic;
    if (rule.forEach === 'error') {
      return { ...topic, subject: `${topic.subject}/error/${hash64([topic.labels.error ?? ''])}` };
    }
    const flightId = String(fact.event.attributes.flight_id ?? '');
    return {
      ...topic,
      subject: `${topic.subject}/flight/${subjectPart(flightId)}`,
      // Otherwise alerts of two Flights would have the same labels, and receivers would take them for one alert.
      labels: { ...topic.labels, flight_id: flightId },
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    const { latestEnds: known = [] } = fact;
    const event = withNovelty(fact);
    const memory = (alert.memory as Memory | null) ?? NOTHING;
    const renews = alert.state === 'firing';
    const ends = [...(memory.ends ?? []), ...known];
    const { counted, isEnough } = weigh(rule, [...memory.waiting, event], ends);
    // What ended long before it was seen may be none of those that are enough.
    if (!renews && (!isEnough || counted.length === 0)) {
      const forgetMs = isCounted(rule) ? rule.windowMs : (rule.resolveAfterMs ?? LONGEST_WAIT_MS);
      const forgetAtUs = event.observedAtUs + forgetMs * 1000;
      return remember(alert, { ...NOTHING, waiting: counted.map(waitingEvent) }, forgetAtUs, nowUs);
    }
    const events = renews ? [event] : counted;
    const ofLabel = events.find(({ message }) => errorOf(message) === (labels.error ?? '')) ?? event;
    const { novelty = '', seen_before: seen = '' } = ofLabel.attributes;
    // An alert that was last written by an earlier version does not remember it.
    const ofFirst = memory.seenBefore ?? alert.annotations.seen_before ?? '';
    const seenBefore = renews ? ofFirst : String(seen);
    const saysSo = seenBefore !== '' && (!renews || labels.error === alert.labels.error);
    const part = partOf(rule);
    const place = placeOf(event);
    const what = `${thresholdWords(rule, birdName(place), ends)} ${whereabouts(place)}`;
    const next: Memory = {
      waiting: [],
      failedStartUs: Math.max(memory.failedStartUs, ...events.map(startOf)),
      ...(part && { ends: latestEnds(ends, part.ofLast) }),
      ...{ error: labels.error ?? '', seenBefore },
    };
    return fire(
      alert,
      {
        startsAtUs: events[0]!.occurredAtUs,
        labels: novelty === '' ? labels : tidyLabels({ novelty: String(novelty), ...labels }),
        annotations: {
          ...(saysSo && { seen_before: seenBefore }),
          ...annotate({ rule, labels }, what, event.message),
        },
        events,
        memory: next,
        dueAtUs: quietAtUs(rule, event.observedAtUs),
      },
      nowUs,
    );
  },

  observe(alert, fact, context) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, context.nowUs);
    if (fact.event.type !== 'flight.succeeded') return undefined;
    return alert.state === 'firing'
      ? recovered(alert, fact.event, context)
      : interrupted(alert, fact.event, context);
  },

  tick(alert, context) {
    if (alert.state !== 'firing') return remember(alert, null, null, context.nowUs);
    return endQuiet(alert, 'there was no further failure', context);
  },
});

/**
 * The error of the newest failure that the alert tells, as its label would have it. An alert that was last written by an
 * earlier version does not remember it, but its text says it, unless the message was long or the text is the rule's own.
 */
export function newestError({ memory, annotations }: Pick<Alert, 'memory' | 'annotations'>): string {
  const { error } = (memory as Memory | null) ?? NOTHING;
  return error ?? errorOf(annotations.description ?? '');
}

/** The error of a message, as the label would have it. */
export function errorOf(message: string): string {
  return tidyLabels({ error: signature(message) }).error ?? '';
}

/** The most latest ends of a Bird that any rule needs to know; 0 for none. */
export function endsAskedFor(rules: readonly Rule[]): number {
  const asked = rules.flatMap((rule) =>
    isRuleOf(rule, flightFailed) ? [rule.consecutive ?? 0, partOf(rule)?.ofLast ?? 0] : [],
  );
  return Math.max(0, ...asked);
}

/** A rule has one way to say how many failures are too many, and each way has its own companion keys. */
function mistakes(given: Given): readonly Mistake[] {
  const found: Mistake[] = [];
  const add = (key: string, message: string, isOfKey = true) => found.push({ key, isOfKey, message });
  const isGiven = (key: string) => given(key) !== undefined;
  const [own = 'threshold', ...others] = ['threshold', 'consecutive', 'ratio'].filter(isGiven);
  for (const key of others) add(key, 'give only one of `threshold`, `consecutive` and `ratio`');
  const forEach = given('for_each') ?? 'bird';
  if (own === 'threshold') {
    if (forEach === 'flight' && (given('threshold') ?? 1) !== 1) {
      add('threshold', 'must be left out with `for_each: flight`, because a Flight fails only once');
    }
  } else if (forEach !== 'bird') {
    const message = `\`${own}\` considers all Flights of a Bird: leave out \`for_each\`, or set it to bird`;
    add('for_each', message, false);
  }
  if (own !== 'threshold' && isGiven('window')) add('window', 'belongs to `threshold`: leave it out');
  if (own !== 'ratio' && isGiven('of_last')) {
    add('of_last', 'belongs to `ratio`: set that too, or leave this out');
  }
  if (own === 'ratio' && !isGiven('of_last')) {
    add('ratio', 'needs `of_last`: the number of last Flights to consider');
  }
  return found;
}

function isCounted({ consecutive, ratio }: FlightFailedRule): boolean {
  return consecutive === undefined && ratio === undefined;
}

/** A Flight succeeded while the alert fires. */
function recovered(
  alert: Alert,
  event: Event,
  { rule, nowUs }: Context<FlightFailedRule>,
): Change | undefined {
  const memory = (alert.memory as Memory | null) ?? NOTHING;
  const part = partOf(rule);
  if (part) {
    const success = { key: event.key, atUs: event.occurredAtUs, failed: false };
    const ends = latestEnds([...(memory.ends ?? []), success], part.ofLast);
    if (isReached(part, ends)) return remember(alert, { ...memory, ends }, alert.dueAtUs, nowUs);
    return resolve(alert, event.occurredAtUs, successWords(event), nowUs);
  }
  if (startOf(event) <= memory.failedStartUs) return undefined;
  return resolve(alert, event.occurredAtUs, successWords(event), nowUs);
}

function successWords(event: Event): string {
  return `a Flight that started on ${dayAndTime(startOf(event))} succeeded`;
}

/** A Flight succeeded before there were enough failures in a row: earlier failures no longer count. */
function interrupted(
  alert: Alert,
  event: Event,
  { rule, nowUs }: Context<FlightFailedRule>,
): Change | undefined {
  const memory = alert.memory as Memory | null;
  if (rule.consecutive === undefined || memory === null) return undefined;
  const waiting = memory.waiting.filter((one) => one.occurredAtUs > event.occurredAtUs);
  if (waiting.length === memory.waiting.length) return undefined;
  if (waiting.length === 0) return remember(alert, null, null, nowUs);
  return remember(alert, { ...memory, waiting }, alert.dueAtUs, nowUs);
}

/** The service's word for the type of its error; empty if it gives none, or only a number that has no word today. */
function errorTypeOf({ attributes: { error_type: type = '' } }: Event): string {
  return type === 'None' || /^\d+$/.test(String(type)) ? '' : String(type);
}

/** A rule may give the label itself. */
function withoutErrorType({ error_type: _, ...labels }: Labels): Labels {
  return labels;
}

/** Failures that are counted keep how new their errors were: the first one with the error of the label decides. */
function withNovelty({ event, novelty }: FactOf<'event'>): Event {
  if (!novelty) return event;
  const { label, words } = novelty;
  const attributes = { ...event.attributes, novelty: label, seen_before: words };
  return { ...event, attributes };
}

/** When the Flight started; if the service does not say, as near to its end as is known. */
export function startOf({ attributes, occurredAtUs }: Event): number {
  if (typeof attributes.started_at_us === 'number') return attributes.started_at_us;
  const seconds = attributes.duration_seconds;
  return occurredAtUs - (typeof seconds === 'number' ? seconds * 1_000_000 : 0);
}

// Decides how many failed Flights make an alert: a number within a window, a number in a row, or a share of the last
// ones. The first is counted in the alert's memory. The other two also depend on succeeded Flights, which change no
// alert, so the store supplies how the latest Flights ended.

type Threshold = Pick<FlightFailedRule, 'threshold' | 'windowMs' | 'consecutive' | 'ratio' | 'ofLast'>;

interface Part {
  readonly least: number;
  readonly ofLast: number;
}

/** The share of the last Flights that is too much; undefined if the rule counts otherwise. */
function partOf({ ratio, ofLast = 1 }: Threshold): Part | undefined {
  return ratio === undefined ? undefined : { least: ratio, ofLast };
}

/**
 * The failures that count, oldest first, and whether they are enough. `failures` are those that belong to no episode
 * yet, including the current one; `ends` is how the Bird's latest Flights ended, including the current one.
 */
export function weigh(
  rule: Threshold,
  failures: readonly Event[],
  ends: readonly FlightEnded[],
): { counted: readonly Event[]; isEnough: boolean } {
  const sorted = failures.toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const part = partOf(rule);
  if (part) {
    const [oldest] = latestEnds(ends, part.ofLast);
    const counted = sorted.filter((event) => event.occurredAtUs >= (oldest?.atUs ?? 0));
    return { counted: counted.slice(-part.ofLast), isEnough: isReached(part, ends) };
  }
  if (rule.consecutive !== undefined) {
    const latest = latestEnds(ends, ends.length);
    const success = latest.findLast((one) => !one.failed);
    const inRow = latest.filter((one) => one.failed && one.atUs > (success?.atUs ?? 0)).length;
    const counted = sorted.filter((event) => event.occurredAtUs > (success?.atUs ?? 0));
    const isEnough = Math.max(inRow, counted.length) >= rule.consecutive;
    return { counted: counted.slice(-rule.consecutive), isEnough };
  }
  const sinceUs = sorted.at(-1)!.occurredAtUs - rule.windowMs * 1000;
  const counted = sorted.filter((event) => event.occurredAtUs >= sinceUs).slice(-rule.threshold);
  return { counted, isEnough: counted.length >= rule.threshold };
}

/** True if this share of the last Flights failed; never before that many have ended. */
export function isReached({ least, ofLast }: Part, ends: readonly FlightEnded[]): boolean {
  const last = latestEnds(ends, ofLast);
  return last.length === ofLast && failedOf(last) / last.length >= least;
}

/** The latest ends, each once, oldest first. */
export function latestEnds(ends: readonly FlightEnded[], limit: number): readonly FlightEnded[] {
  const byKey = new Map(ends.map((one) => [one.key, one]));
  return [...byKey.values()]
    .toSorted((a, b) => a.atUs - b.atUs || (a.key < b.key ? -1 : 1))
    .slice(-Math.max(1, limit));
}

/** What exceeded the threshold, in words: `3 or more Flights of Publish failed within 10 min`. */
function thresholdWords(rule: Threshold, bird: string, ends: readonly FlightEnded[]): string {
  const part = partOf(rule);
  if (part) {
    const last = latestEnds(ends, part.ofLast);
    return `${failedOf(last)} of the last ${last.length} Flights of ${bird} failed`;
  }
  if ((rule.consecutive ?? 1) > 1) return `${rule.consecutive} or more Flights of ${bird} failed in a row`;
  if (rule.consecutive === 1 || rule.threshold === 1) return `Flight of ${bird} failed`;
  return `${rule.threshold} or more Flights of ${bird} failed within ${durationWords(rule.windowMs, 'exact')}`;
}

function failedOf(ends: readonly FlightEnded[]): number {
  return ends.filter((one) => one.failed).length;
}
