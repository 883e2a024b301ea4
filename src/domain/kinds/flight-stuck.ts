/**
 * A Flight has been active for too long: longer than the rule's `max_duration`, or else than three times the 99th
 * percentile of its Bird's Flights. Flights that wait for a person may last days, and earlier Flights of such a Bird
 * did too, so the Bird's own Flights are the measure. Resolves when the Flight ends or is no longer watched.
 */
import { dayAndTime, durationWords } from '../../text/instant-words.ts';
import { clear, type Ending } from '../alert/alert.ts';
import { type FactOf, type FlightTail, stepName } from '../alert/fact.ts';
import { birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import { percentile } from '../statistics/flight-statistics.ts';
import { isLogAwaited } from './judge.ts';
import { defineKind, endVanished, fireMeasured, PLACE_LABELS, subjectPart } from './kind.ts';

/** How many times the usual duration is too long. */
const TIMES_USUAL = 3;

/** The minimum for what is learned: the durations of short Flights vary for no reason. */
const LEAST_LEARNED_DURATION_MS = 900_000;

/** Fewer Flights do not show how long one usually takes. */
const ENOUGH_DURATIONS = 20;

/** How long the alert waits for the end of the log, so that its first message has the step. */
const LOG_PATIENCE_US = 120_000_000;
const LOG_AGAIN_US = 5_000_000;

/** How Flights end, by the type of the event. */
export const FLIGHT_ENDS: ReadonlyMap<string, string> = new Map([
  ['flight.succeeded', 'the Flight succeeded'],
  ['flight.failed', 'the Flight failed'],
  ['flight.cancelled', 'the Flight was cancelled'],
]);

const PARAMETERS = {
  maxDurationMs: {
    type: 'duration',
    leastMs: 60_000,
    description:
      "How long a Flight may be active. Without it, the limit is learned from the Bird's past Flights.",
  },
} as const satisfies Parameters;

/** How long a Flight may be active, in milliseconds; null if unknown. */
function stuckAfterMs({ maxDurationMs }: RuleOf<typeof PARAMETERS>, usualMs: number | null): number | null {
  if (maxDurationMs !== undefined) return maxDurationMs;
  return usualMs === null ? null : Math.max(LEAST_LEARNED_DURATION_MS, TIMES_USUAL * usualMs);
}

/** The duration that 99 of 100 Flights do not exceed, in milliseconds; null if too few are known. */
export function usualDurationMs(durationsUs: readonly number[]): number | null {
  if (durationsUs.length < ENOUGH_DURATIONS) return null;
  return percentile(durationsUs, 0.99)! / 1000;
}

export const flightStuck = defineKind({
  name: 'FlightStuck',
  fires:
    "a Flight is active for longer than `max_duration` or, without that, 3 times the 99th percentile of its Bird's last 500 Flights (at least 15 minutes; needs 20 Flights)",
  resolves: 'the Flight ends',
  words: {
    firing: 'Flight stuck',
    still: 'Flight still stuck',
    over: 'Flight ended',
    superseded: 'Flight waits for a person',
    hasOwnDescription: true,
  },
  runbook: {
    look: 'which step it is at. The alert says in which one it last wrote to its log, if the log could be read.',
    act: 'cancel or fix it in the service. If it waits for a person there, name the step in a `FlightWaiting` rule. If such Flights are normal, set `max_duration` for that Bird.',
  },
  parameters: PARAMETERS,
  severities: ['warning'],
  labels: [...PLACE_LABELS, 'flight_id'],
  isResolvableByHand: () => false,
  remembers: { startedAtUs: 'number' },

  judges: {
    of: 'flight',
    leastMs: ({ maxDurationMs = LEAST_LEARNED_DURATION_MS }) => maxDurationMs,
    async judge(flight, history, rule, nowUs) {
      const { place, flightId, startedAtUs, tail } = flight;
      const { readAtUs, durations, areLogsRead } = history;
      const usualMs = rule.maxDurationMs === undefined ? usualDurationMs(await durations()) : null;
      const limitMs = stuckAfterMs(rule, usualMs);
      if (limitMs === null) return { nextUs: null };
      const overdueUs = startedAtUs + limitMs * 1000;
      if (overdueUs > Math.min(nowUs, readAtUs)) return { nextUs: overdueUs };
      const log = areLogsRead && tail === null ? { logByUs: Number.POSITIVE_INFINITY } : {};
      if (isLogAwaited(flight, history, nowUs, LOG_PATIENCE_US)) {
        return { nextUs: nowUs + LOG_AGAIN_US, ...log };
      }
      return {
        nextUs: null,
        ...log,
        fact: { fact: 'flight_in_air', place, flightId, startedAtUs, usualMs, tail, readAtUs },
      };
    },
  },

  raisedBy: ['flight_in_air'],
  observes: ['flight_wrote', 'flight_gone', 'event', 'bird_vanished'],
  eventTypes: [...FLIGHT_ENDS.keys()],

  topic: ({ place, flightId }) => ({
    subject: subjectOf(place.birdId, flightId),
    labels: { ...placeLabels(place), flight_id: flightId },
  }),

  raise(alert, fact, context) {
    if (alert.state === 'firing') return undefined;
    const { rule, nowUs } = context;
    const { place, startedAtUs, usualMs } = fact;
    const limitMs = stuckAfterMs(rule, usualMs);
    const startsAtUs = startedAtUs + (limitMs ?? 0) * 1000;
    // If the Flight was not read since, it may have ended in time.
    if (limitMs === null || startsAtUs > Math.min(nowUs, fact.readAtUs)) return undefined;
    const since = dayAndTime(startedAtUs);
    const why =
      rule.maxDurationMs === undefined && usualMs !== null
        ? `99 % of its Flights take at most ${durationWords(usualMs, 'rounded')}.`
        : 'The rule allows no longer.';
    const description = `Active since ${since}, for more than ${durationWords(limitMs, 'rounded')}. ${why} ${toDo(fact.tail)}`;
    const summary = `A Flight of ${birdName(place)} does not end ${whereabouts(place)}`;
    return fireMeasured(alert, { startsAtUs, summary, description, memory: { startedAtUs } }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    const end = fact.fact === 'flight_wrote' ? waitOf(fact) : flightEnd(fact);
    if (!end || alert.subject !== subjectOf(end.birdId, end.flightId)) return undefined;
    return clear(alert, end.atUs, end.by, nowUs, end.ending);
  },
});

function subjectOf(birdId: string, flightId: string): string {
  return `bird/${subjectPart(birdId)}/flight/${subjectPart(flightId)}`;
}

export interface FlightEnd {
  readonly birdId: string;
  readonly flightId: string;
  readonly atUs: number;
  readonly by: string;
  readonly ending: Ending;
}

/** What the end of the log adds, and what to do. */
function toDo(tail: FlightTail | null): string {
  if (tail === null || tail.wroteAtUs === 0) {
    return 'Check in the service which step it is at, and cancel it there if it hangs.';
  }
  const step = stepName(tail);
  const wrote =
    tail.sort === 'start'
      ? 'It wrote nothing since its take-off.'
      : `It last wrote at ${dayAndTime(tail.wroteAtUs)}${step === '' ? '' : `, in step ${step}`}.`;
  return `${wrote} Cancel it in the service if it hangs.`;
}

function waitOf({ place, flightId, tail, isWait }: FactOf<'flight_wrote'>): FlightEnd | undefined {
  const step = stepName(tail);
  const by = `it waits at ${step === '' ? 'take-off' : `step ${step}`}`;
  const wait = { birdId: place.birdId, flightId, atUs: tail.wroteAtUs, by, ending: 'superseded' } as const;
  return isWait ? wait : undefined;
}

/** How a Flight ended, if that is what the fact says. */
export function flightEnd(fact: FactOf<'flight_gone' | 'event'>): FlightEnd | undefined {
  if (fact.fact === 'flight_gone') {
    const { place, flightId, atUs } = fact;
    const by = 'the service no longer knows the Flight';
    return { birdId: place.birdId, flightId, atUs, by, ending: 'gone' };
  }
  const how = FLIGHT_ENDS.get(fact.event.type);
  if (how === undefined) return undefined;
  const { birdId, attributes, occurredAtUs: atUs } = fact.event;
  return {
    birdId,
    flightId: String(attributes.flight_id ?? ''),
    atUs,
    by: `${how} on ${dayAndTime(atUs)}`,
    ending: 'over',
  };
}
