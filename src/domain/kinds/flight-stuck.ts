/**
 * A Flight has been active for too long: longer than the rule's `max_duration`, or else than three times the 99th
 * percentile of its Bird's Flights. Flights that wait for a person may last days, and earlier Flights of such a Bird
 * did too, so the Bird's own Flights are the measure. Resolves when the Flight ends or is no longer watched.
 */

import { durationWords } from '../../text/duration-words.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import type { Ending } from '../alert/alert.ts';
import type { FactOf } from '../alert/fact.ts';
import { type FlightTail, stepName } from '../alert/flight-step.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import { clear, fire, remember } from '../alert/lifecycle.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import { isLogAwaited } from './judge.ts';
import { defineKind, endVanished, PLACE_LABELS, subjectPart } from './kind.ts';

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
    key: 'max_duration',
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
  const sorted = durationsUs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1]! / 1000;
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

  raise(alert, fact, { rule, labels, nowUs }) {
    if (alert.state === 'firing') return undefined;
    const { place, startedAtUs, usualMs } = fact;
    const limitMs = stuckAfterMs(rule, usualMs);
    const overdueUs = startedAtUs + (limitMs ?? 0) * 1000;
    // If the Flight was not read since, it may have ended in time.
    if (limitMs === null || overdueUs > Math.min(nowUs, fact.readAtUs)) return undefined;
    const since = dayAndTime(startedAtUs);
    const why =
      rule.maxDurationMs === undefined && usualMs !== null
        ? `99 % of its Flights take at most ${durationWords(usualMs, 'rounded')}.`
        : 'The rule allows no longer.';
    const words = `Active since ${since}, for more than ${durationWords(limitMs, 'rounded')}. ${why} ${toDo(fact.tail)}`;
    const summary = `A Flight of ${birdName(place)} does not end ${whereabouts(place)}`;
    return fire(
      alert,
      {
        startsAtUs: overdueUs,
        labels,
        annotations: annotate({ rule, labels }, summary, words),
        events: [],
        memory: { startedAtUs },
        dueAtUs: null,
      },
      nowUs,
    );
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    const end = endOf(fact);
    if (!end || alert.subject !== subjectOf(end.birdId, end.flightId)) return undefined;
    return clear(alert, end.atUs, end.by, nowUs, end.ending);
  },

  tick: (alert, { nowUs }) => remember(alert, alert.memory, null, nowUs),
});

function subjectOf(birdId: string, flightId: string): string {
  return `bird/${subjectPart(birdId)}/flight/${subjectPart(flightId)}`;
}

interface End {
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

function endOf(fact: FactOf<'flight_wrote' | 'flight_gone' | 'event'>): End | undefined {
  if (fact.fact === 'flight_wrote') {
    const { place, flightId, tail, isWait } = fact;
    const by = `it waits at step ${stepName(tail)}`;
    return isWait
      ? { birdId: place.birdId, flightId, atUs: tail.wroteAtUs, by, ending: 'superseded' }
      : undefined;
  }
  if (fact.fact === 'flight_gone') {
    const { place, flightId, atUs } = fact;
    return {
      birdId: place.birdId,
      flightId,
      atUs,
      by: 'the service no longer knows the Flight',
      ending: 'gone',
    };
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
