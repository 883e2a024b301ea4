/**
 * An active Bird no longer flies: it started no Flight within the rule's `expect_every`, or, if it is scheduled,
 * within one and a half times its longest pause so far. This is judged only once the Bird's Flights were read again,
 * since one may have started meanwhile. Resolves when a Flight starts, or when the Bird is no longer active.
 */
import { dayAndTime, durationWords } from '../../text/instant-words.ts';
import { remember, resolve } from '../alert/alert.ts';
import { birdName, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import type { BirdToJudge, History } from './judge.ts';
import { birdTopic, defineKind, endInactive, endVanished, fireMeasured, PLACE_LABELS } from './kind.ts';

const TIMES_USUAL = 1.5;

/** The minimum for what is learned: schedules run every 5 minutes at most. */
const LEAST_LEARNED_PAUSE_MS = 900_000;

/** Fewer gaps do not show how often a Bird flies. Neither does less than a week, since a Bird may rest at weekends. */
const ENOUGH_GAPS = 4;
const ENOUGH_SPAN_US = 6.5 * 86_400_000_000;

interface Memory {
  /** Since when no Flight has started. */
  readonly sinceUs: number;
  readonly limitMs: number;
}

const PARAMETERS = {
  expectEveryMs: {
    type: 'duration',
    leastMs: 60_000,
    description:
      'How long a Bird may go without a Flight. Without it, the limit of a scheduled Bird is learned from its past pauses.',
  },
} as const satisfies Parameters;

/** How long a Bird may be without a Flight, in milliseconds; null if unknown. */
function staleAfterMs({ expectEveryMs }: RuleOf<typeof PARAMETERS>, usualMs: number | null): number | null {
  if (expectEveryMs !== undefined) return expectEveryMs;
  return usualMs === null ? null : Math.max(LEAST_LEARNED_PAUSE_MS, Math.ceil(TIMES_USUAL * usualMs));
}

/**
 * The longest gap between two Flights of a scheduled Bird, in milliseconds; null if it is not known. While it is too
 * early for the Bird to be stale, 0, and the gaps are not read.
 */
async function usualGapMs(
  { triggerType, lastStartUs }: BirdToJudge,
  history: History,
  nowUs: number,
): Promise<number | null> {
  if (triggerType !== 'scheduled') return null;
  if (nowUs - lastStartUs < LEAST_LEARNED_PAUSE_MS * 1000) return 0;
  const { count, longestUs, spanUs } = await history.gaps();
  return count >= ENOUGH_GAPS && spanUs >= ENOUGH_SPAN_US ? longestUs / 1000 : null;
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
  runbook: {
    look: 'whether its source has anything new, and whether its trigger or schedule was changed.',
    act: 'start it by hand once. If it is right that no Flight starts, set `expect_every`.',
  },
  parameters: PARAMETERS,
  severities: ['warning'],
  labels: PLACE_LABELS,
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => false,
  remembers: { sinceUs: 'number', limitMs: 'number' },

  judges: {
    of: 'bird',
    async judge(bird, history, rule, nowUs) {
      const { place, status, lastStartUs, statusSinceUs } = bird;
      if (status !== 'active') return { nextUs: null };
      // A Bird that was active when it was first seen may have been active ever since its last Flight.
      const sinceUs =
        bird.hasFirstStatus && lastStartUs > 0 ? lastStartUs : Math.max(lastStartUs, statusSinceUs);
      const usualMs = rule.expectEveryMs === undefined ? await usualGapMs(bird, history, nowUs) : null;
      const limitMs = staleAfterMs(rule, usualMs);
      if (limitMs === null) return { nextUs: null };
      const overdueUs = sinceUs + limitMs * 1000;
      const { readAtUs } = history;
      if (overdueUs > Math.min(nowUs, readAtUs)) return { nextUs: overdueUs };
      const hasFlown = lastStartUs === sinceUs;
      return {
        nextUs: nowUs + limitMs * 1000,
        fact: { fact: 'bird_idle', place, sinceUs, hasFlown, usualMs, readAtUs },
      };
    },
  },

  raisedBy: ['bird_idle'],
  observes: ['bird_vanished', 'bird_status', 'flight_started'],

  topic: ({ place }) => birdTopic(place),

  raise(alert, fact, context) {
    if (alert.state === 'firing') return undefined;
    const { rule, nowUs } = context;
    const { place, sinceUs, usualMs } = fact;
    const limitMs = staleAfterMs(rule, usualMs);
    const startsAtUs = sinceUs + (limitMs ?? 0) * 1000;
    if (limitMs === null || startsAtUs > Math.min(nowUs, fact.readAtUs)) return undefined;
    const since = dayAndTime(sinceUs);
    const last = fact.hasFlown ? `Its last Flight started on ${since}` : `No Flight was seen since ${since}`;
    const why =
      rule.expectEveryMs === undefined && usualMs !== null
        ? `there were never more than ${durationWords(usualMs, 'rounded')} between two Flights`
        : `one is expected every ${durationWords(limitMs, 'rounded')}`;
    const memory: Memory = { sinceUs, limitMs };
    const summary = `${birdName(place)} starts no Flights ${whereabouts(place)}`;
    return fireMeasured(alert, { startsAtUs, summary, description: `${last}; ${why}.`, memory }, context);
  },

  observe(alert, fact, { nowUs }) {
    const memory = alert.memory as Memory | null;
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    if (fact.fact === 'bird_status') return endInactive(alert, fact, nowUs);
    if (alert.state !== 'firing') return undefined;
    if (fact.startedAtUs <= (memory?.sinceUs ?? alert.startsAtUs)) return undefined;
    // A Flight that is found late may itself have started too long ago.
    if (memory && fact.startedAtUs + memory.limitMs * 1000 <= nowUs) {
      return remember(alert, { ...memory, sinceUs: fact.startedAtUs }, null, nowUs);
    }
    return resolve(alert, fact.startedAtUs, `a Flight started on ${dayAndTime(fact.startedAtUs)}`, nowUs);
  },
});
