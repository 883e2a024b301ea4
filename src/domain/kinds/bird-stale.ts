/**
 * An active Bird no longer flies: it started no Flight within the rule's `expect_every`, or, if it is scheduled,
 * within one and a half times its longest pause so far. This is judged only once the Bird's Flights were read again,
 * since one may have started meanwhile. Resolves when a Flight starts, or when the Bird is no longer active.
 */

import { durationWords } from '../../text/duration-words.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import { fire, remember, resolve } from '../alert/lifecycle.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import { defineKind, endVanished, PLACE_LABELS, subjectPart } from './kind.ts';

const TIMES_USUAL = 1.5;

/** The minimum for what is learned: schedules run every 5 minutes at most. */
export const LEAST_LEARNED_PAUSE_MS = 900_000;

interface Memory {
  /** Since when no Flight has started. */
  readonly sinceUs: number;
  readonly limitMs: number;
}

const PARAMETERS = {
  expectEveryMs: {
    key: 'expect_every',
    type: 'duration',
    leastMs: 60_000,
    description:
      'How long a Bird may go without a Flight. Without it, the limit of a scheduled Bird is learned from its past pauses.',
  },
} as const satisfies Parameters;

/** How long a Bird may be without a Flight, in milliseconds; null if unknown. */
export function staleAfterMs(
  { expectEveryMs }: RuleOf<typeof PARAMETERS>,
  usualMs: number | null,
): number | null {
  if (expectEveryMs !== undefined) return expectEveryMs;
  return usualMs === null ? null : Math.max(LEAST_LEARNED_PAUSE_MS, Math.ceil(TIMES_USUAL * usualMs));
}

export const birdStale = defineKind({
  name: 'BirdStale',
  fires:
    'an active Bird started no Flight within `expect_every` or, without that, a scheduled Bird within 1.5 times its longest past pause (at least 15 minutes; needs a week of history)',
  resolves: 'a Flight starts, or the Bird is no longer active',
  words: {
    firing: 'No Flight in time',
    still: 'Still no Flight',
    over: 'Flying again',
    superseded: 'No longer active',
    hasOwnDescription: true,
  },
  parameters: PARAMETERS,
  severities: ['warning'],
  labels: PLACE_LABELS,
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => false,
  remembers: { sinceUs: 'number', limitMs: 'number' },

  raisedBy: ['bird_idle'],
  observes: ['bird_vanished', 'bird_status', 'flight_started'],

  topic: ({ place }) => ({ subject: `bird/${subjectPart(place.birdId)}`, labels: placeLabels(place) }),

  raise(alert, fact, { rule, labels, nowUs }) {
    if (alert.state === 'firing') return undefined;
    const { place, sinceUs, usualMs } = fact;
    const limitMs = staleAfterMs(rule, usualMs);
    const overdueUs = sinceUs + (limitMs ?? 0) * 1000;
    if (limitMs === null || overdueUs > Math.min(nowUs, fact.readAtUs)) return undefined;
    const since = dayAndTime(sinceUs);
    const last = fact.hasFlown ? `Its last Flight started on ${since}` : `No Flight was seen since ${since}`;
    const why =
      rule.expectEveryMs === undefined && usualMs !== null
        ? `there were never more than ${durationWords(usualMs, 'rounded')} between two Flights`
        : `one is expected every ${durationWords(limitMs, 'rounded')}`;
    const memory: Memory = { sinceUs, limitMs };
    return fire(
      alert,
      {
        startsAtUs: overdueUs,
        labels,
        annotations: annotate(
          { rule, labels },
          `${birdName(place)} starts no Flights ${whereabouts(place)}`,
          `${last}; ${why}.`,
        ),
        events: [],
        memory,
        dueAtUs: null,
      },
      nowUs,
    );
  },

  observe(alert, fact, { nowUs }) {
    const memory = alert.memory as Memory | null;
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    if (alert.state !== 'firing') return undefined;
    if (fact.fact === 'bird_status') {
      if (fact.status === 'active') return undefined;
      return resolve(alert, fact.readAtUs, 'the Bird is no longer active', nowUs, 'superseded');
    }
    if (fact.startedAtUs <= (memory?.sinceUs ?? alert.startsAtUs)) return undefined;
    // A Flight that is found late may itself have started too long ago.
    if (memory && fact.startedAtUs + memory.limitMs * 1000 <= nowUs) {
      return remember(alert, { ...memory, sinceUs: fact.startedAtUs }, null, nowUs);
    }
    return resolve(alert, fact.startedAtUs, `a Flight started on ${dayAndTime(fact.startedAtUs)}`, nowUs);
  },

  tick: (alert, { nowUs }) => remember(alert, alert.memory, null, nowUs),
});
