/**
 * A Flight waits for a person: its log ends in a step that the rule's `steps` name, and nothing was written for `after`.
 * The service does not say what a Flight waits for, so rules must name the steps. Flights of a Bird that wait at the same
 * step share an alert. Resolves when the last of them goes on or ends.
 */

import { matchesGlob } from '../../text/glob.ts';
import { dayAndTime, durationWords } from '../../text/instant-words.ts';
import { type Alert, type Change, fire, hash64, remember, resolve } from '../alert/alert.ts';
import { type FlightTail, stepName } from '../alert/fact.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import { FLIGHT_ENDS, type FlightEnd, flightEnd } from './flight-stuck.ts';
import { isLogAwaited } from './judge.ts';
import { type Context, defineKind, endVanished, PLACE_LABELS, subjectPart } from './kind.ts';

/** FlightStuck waits for a log that may show a wait for no longer than this. */
const LOG_PATIENCE_US = 3_600_000_000;

/** A log is read no more often. */
const LEAST_LOG_INTERVAL_US = 3_600_000_000;

/** Flights that one alert remembers: no more logs of a region are read. */
const MOST_WAITS = 500;

interface Wait {
  readonly flightId: string;
  readonly startedAtUs: number;
  /** When it last wrote to its log. */
  readonly sinceUs: number;
}

const PARAMETERS = {
  steps: {
    type: 'texts',
    description:
      'Globs on the name or id of a step, in any case of letters: the steps at which Flights wait for a person. What counts is the step that wrote last to the log of the Flight, which may be the one before the wait; `nestwatch doctor` shows it for Flights in the air. Without it the rule never fires.',
  },
  afterMs: {
    type: 'duration',
    leastMs: 300_000,
    default: 14_400_000,
    description: 'How long nothing was written to the log of the Flight.',
  },
} as const satisfies Parameters;

type WaitingRule = RuleOf<typeof PARAMETERS>;

export const flightWaiting = defineKind({
  name: 'FlightWaiting',
  fires:
    'a rule asks for it, and a Flight has written nothing to its log for `after` since a step that one of `steps` matches',
  resolves: 'the Flight writes to its log again, or ends',
  isOnRequest: true,
  words: { firing: 'Waiting', still: 'Still waiting', over: 'Went on', hasOwnDescription: true },
  runbook: {
    look: 'the step, and since when it waits. The service does not say whose turn it is.',
    act: 'ask those who review or approve there. If nobody has to act after that step, correct `steps` of the rule.',
  },
  parameters: PARAMETERS,
  mistakes(given) {
    if (given('max_duration') === undefined) return [];
    return [{ key: 'max_duration', isOfKey: true, message: 'belongs to FlightStuck: write `after`' }];
  },
  severities: ['info'],
  labels: [...PLACE_LABELS, 'step'],
  isResolvableByHand: () => false,
  remembers: { waits: 'waits' },

  judges: {
    of: 'flight',
    precedes: 'FlightStuck',
    leastMs: ({ afterMs }) => afterMs,
    async judge(flight, history, rule, nowUs) {
      if (rule.steps === undefined) return { nextUs: null };
      const { place, flightId, startedAtUs, tail, logDueUs } = flight;
      const dueUs = startedAtUs + rule.afterMs * 1000;
      const isWait = tail !== null && isWaitOf(tail, rule.steps);
      // If the log is due, or nobody wanted it until now, the Flight may have gone on long since.
      const isFresh = logDueUs > nowUs;
      return {
        nextUs: dueUs > nowUs ? dueUs : null,
        ...((dueUs <= nowUs || isWait) && { logByUs: logByUs(tail, isWait, rule) }),
        claims: isWait || isLogAwaited(flight, history, nowUs, LOG_PATIENCE_US),
        ...(tail &&
          isFresh && { fact: { fact: 'flight_wrote', place, flightId, startedAtUs, tail, isWait } }),
      };
    },
  },

  raisedBy: ['flight_wrote'],
  observes: ['flight_wrote', 'flight_gone', 'event', 'bird_vanished'],
  eventTypes: [...FLIGHT_ENDS.keys()],

  topic({ place, tail, isWait }) {
    if (!isWait) return undefined;
    const step = stepName(tail);
    return {
      subject: `bird/${subjectPart(place.birdId)}/step/${hash64([step])}`,
      labels: { ...placeLabels(place), step },
    };
  },

  raise(alert, { flightId, startedAtUs, tail }, context) {
    const sinceUs = tail.wroteAtUs;
    const known = waitsOf(alert).find((one) => one.flightId === flightId);
    const others = waitsOf(alert).filter((one) => one !== known);
    // It may have written since it was last read, and nobody was told that it went on.
    if (!hasWaited(tail, context.rule.afterMs)) {
      return known && known.sinceUs < sinceUs ? wentOn(alert, flightId, tail, context) : undefined;
    }
    const waits = [...others, { flightId, startedAtUs, sinceUs }]
      .sort((a, b) => a.sinceUs - b.sinceUs)
      .slice(0, MOST_WAITS);
    const annotations = annotationsOf(waits, context);
    const isSame = known?.sinceUs === sinceUs && annotations.description === alert.annotations.description;
    if (alert.state === 'firing' && isSame) return undefined;
    const firing = { startsAtUs: waits[0]!.sinceUs, labels: context.labels, annotations, memory: { waits } };
    return fire(alert, { ...firing, events: [], dueAtUs: null }, context.nowUs);
  },

  observe(alert, fact, context) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, context.nowUs);
    if (fact.fact === 'flight_wrote') return wentOn(alert, fact.flightId, fact.tail, context);
    const end = flightEnd(fact);
    return end && leave(alert, end, context);
  },
});

/** The Flights that an alert is about, the longest wait first. */
export function waitsOf({ memory }: Pick<Alert, 'memory'>): readonly Wait[] {
  return (memory as { readonly waits: readonly Wait[] } | null)?.waits ?? [];
}

/**
 * When the log may next show that the Flight has waited for long enough. The service's clock may be shown in whole seconds.
 */
function logByUs(tail: FlightTail | null, isWait: boolean, { afterMs }: WaitingRule): number {
  if (tail === null || !isWait || hasWaited(tail, afterMs)) return Number.POSITIVE_INFINITY;
  const showsAtUs = tail.wroteAtUs + afterMs * 1000 + 1_000_000;
  return Math.max(showsAtUs, tail.readAtUs + LEAST_LOG_INTERVAL_US);
}

/** Whether nothing was written for so long when the log was read: it may have been since. */
function hasWaited({ readAtUs, wroteAtUs }: FlightTail, afterMs: number): boolean {
  return readAtUs - wroteAtUs >= afterMs * 1000;
}

/** An error, an end, or a sort of entry that is not known today is no wait. */
function isWaitOf({ sort, scope, step }: FlightTail, steps: readonly string[]): boolean {
  if (sort !== 'start' && sort !== 'log') return false;
  const names = [scope, step].map((name) => name.toLowerCase());
  return steps.some((glob) => names.some((name) => matchesGlob(glob.toLowerCase(), name)));
}

function wentOn(alert: Alert, flightId: string, tail: FlightTail, context: Context): Change | undefined {
  const sinceUs = waitsOf(alert).find((one) => one.flightId === flightId)?.sinceUs;
  if (sinceUs === undefined) return undefined;
  if (tail.wroteAtUs <= sinceUs) {
    const by = `no rule says any more that Flights wait at ${alert.labels.step ?? 'take-off'}`;
    return leave(alert, { flightId, atUs: context.nowUs, by, ending: 'gone' }, context);
  }
  const atUs = tail.resumedAtUs > sinceUs ? tail.resumedAtUs : tail.wroteAtUs;
  return leave(alert, { flightId, atUs, by: `went on at ${dayAndTime(atUs)}`, ending: 'over' }, context);
}

/** A Flight waits no longer. The alert ends with the last one. */
function leave(alert: Alert, end: Omit<FlightEnd, 'birdId'>, context: Context) {
  const { flightId, atUs, by, ending } = end;
  const waits = waitsOf(alert);
  const left = waits.find((one) => one.flightId === flightId);
  if (!left || alert.state !== 'firing') return undefined;
  const rest = waits.filter((one) => one !== left);
  if (rest.length > 0) {
    const change = remember(alert, { waits: rest }, null, context.nowUs);
    return { ...change, alert: { ...change.alert, annotations: annotationsOf(rest, context) } };
  }
  const waited = durationWords((atUs - left.sinceUs) / 1000, 'two units');
  return resolve(alert, atUs, ending === 'over' ? `${by}, after ${waited}` : by, context.nowUs, ending);
}

/** `waits` has at least one, the longest first. */
function annotationsOf(waits: readonly Wait[], context: Pick<Context, 'rule' | 'labels' | 'nowUs'>) {
  const { region = '', nest_id: nestId = '', nest = '', bird_id: birdId = '', bird = '' } = context.labels;
  const { step = '' } = context.labels;
  const place = { region, nestId, nest, birdId, bird };
  const { flightId, startedAtUs, sinceUs } = waits[0]!;
  const lasted = durationWords((context.nowUs - sinceUs) / 1000, 'one unit');
  const since = `since ${dayAndTime(sinceUs)} (${lasted})`;
  const wrote = step === '' ? 'wrote nothing since its take-off' : `last wrote in step "${step}"`;
  const longest = `Flight ${flightId}, started ${dayAndTime(startedAtUs)}.`;
  const what =
    waits.length === 1
      ? `Waits ${since}; ${wrote}. ${longest}`
      : `${waits.length} Flights wait, the longest ${since}; ${wrote}. The longest: ${longest}`;
  const who = waits.length === 1 ? birdName(place) : `${waits.length} Flights of ${birdName(place)}`;
  const wait = waits.length === 1 ? 'waits' : 'wait';
  const at = step === '' ? '' : ` at step ${step}`;
  return annotate(context, `${who} ${wait}${at} ${whereabouts(place)}`, what);
}
