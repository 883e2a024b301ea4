/**
 * A Bird's Flights take longer than usual, several in a row: longer than a multiple of what 95 of 100 took before. Each is
 * judged when it has succeeded; those that failed or were cancelled do not count. Resolves with the first Flight under
 * the limit. After a week what was slow is usual: it resolves, and until a Flight is under the old limit again, only what
 * is slower still fires.
 */
import { dayAndTime, durationWords } from '../../text/instant-words.ts';
import { type Alert, remember, resolve } from '../alert/alert.ts';
import type { Slow } from '../alert/fact.ts';
import { birdName, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import { percentile } from '../statistics/flight-statistics.ts';
import type { History, Landed } from './judge.ts';
import {
  birdTopic,
  defineKind,
  endInactive,
  endVanished,
  fireMeasured,
  isMemoryOf,
  PLACE_LABELS,
} from './kind.ts';

const WEEK_US = 7 * 86_400_000_000;

/** How many Flights before the slow ones show what is usual. */
const BASE = { least: 30, most: 500 };
const PART = 0.95;

/** The last Flights that are read, first of all the few that show whether reading more is worth it. */
const LOOK = 50;
const READ = 700;

/** Where slow Flights may have begun is tried at so many places at most. */
const MOST_TRIES = 20;

interface Memory extends Pick<Slow, 'usualUs' | 'sinceUs'> {
  readonly limitMs: number;
  /** When the last slow Flight started: earlier ones that are found late say nothing. */
  readonly startedAtUs: number;
  readonly longestMs: number;
  /** What was slow is usual now. */
  readonly isUsual: boolean;
}

const PARAMETERS = {
  times: {
    type: 'factor',
    default: 3,
    description: "A Flight is slow if it takes this × the 95th percentile of the Bird's Flights before …",
  },
  atLeastMs: {
    type: 'duration',
    leastMs: 1000,
    mostMs: 7 * 86_400_000,
    default: 120_000,
    description: '… and this much longer than that.',
  },
  inARow: {
    type: 'count',
    least: 1,
    most: 20,
    default: 3,
    description: 'How many Flights in a row must be slow.',
  },
} as const satisfies Parameters;

type SlowRule = RuleOf<typeof PARAMETERS>;

export const flightSlow = defineKind({
  name: 'FlightSlow',
  fires:
    'a rule asks for it, and `in_a_row` Flights of a Bird each took `times` the 95th percentile of its up to 500 Flights before (needs 30), and `at_least` more',
  resolves: 'a Flight takes no longer than that, or after 7 days, when it is usual',
  isOnRequest: true,
  words: {
    firing: 'Slow',
    still: 'Still slow',
    over: 'No longer slow',
    superseded: 'No longer active',
    hasOwnDescription: true,
  },
  runbook: {
    look: "since when, and what was changed or published then; whether one step takes the time, on a Flight's page.",
    act: 'mend or enlarge what became slow. If this is how long it takes now, wait: after a week it counts as usual.',
  },
  parameters: PARAMETERS,
  severities: ['warning'],
  labels: PLACE_LABELS,
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => false,
  remembers: {
    ...{ usualUs: 'number', sinceUs: 'number' },
    ...{ limitMs: 'number', startedAtUs: 'number', longestMs: 'number', isUsual: 'flag' },
  },

  judges: {
    of: 'bird',
    isWokenByFlights: true,
    async judge({ place, status }, history, rule) {
      const slow = status === 'active' ? await findSlow(history, rule) : undefined;
      return { nextUs: null, ...(slow && { fact: { fact: 'flights_slow', place, ...slow } }) };
    },
  },

  raisedBy: ['flights_slow'],
  observes: ['event', 'bird_vanished', 'bird_status'],
  eventTypes: ['flight.succeeded'],

  topic: ({ place }) => birdTopic(place),

  raise(alert, fact, context) {
    const before = alert.memory as Memory | null;
    if (alert.state === 'firing') return undefined;
    if (before?.isUsual && fact.shortestMs <= context.rule.times * before.longestMs) return undefined;
    const { place, limitMs, usualUs, sinceUs, startedAtUs, longestMs, landedAtUs } = fact;
    const memory: Memory = { limitMs, usualUs, sinceUs, startedAtUs, longestMs, isUsual: false };
    const summary = `${birdName(place)} takes ${tookWords(fact)} ${whereabouts(place)}`;
    const until = { startsAtUs: landedAtUs, dueAtUs: landedAtUs + WEEK_US };
    return fireMeasured(alert, { ...until, summary, description: slowWords(fact), memory }, context);
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    if (fact.fact === 'bird_status') return endInactive(alert, fact, nowUs);
    const memory = alert.memory as Memory | null;
    const { type, occurredAtUs, attributes } = fact.event;
    const startedUs = attributes.started_at_us;
    if (type !== 'flight.succeeded' || typeof startedUs !== 'number' || !memory) return undefined;
    if (startedUs <= memory.startedAtUs) return undefined;
    const tookMs = (occurredAtUs - startedUs) / 1000;
    if (tookMs < 0 || tookMs > memory.limitMs) return undefined;
    if (alert.state !== 'firing') return remember(alert, null, null, nowUs);
    return resolve(alert, occurredAtUs, `a Flight took ${durationWords(tookMs, 'rounded')}`, nowUs);
  },

  tick(alert, { nowUs }) {
    const memory = alert.memory as Memory | null;
    const change = resolve(alert, alert.dueAtUs ?? nowUs, 'this is usual now', nowUs);
    return { ...change, alert: { ...change.alert, memory: memory && { ...memory, isUsual: true } } };
  },
});

/** `12 min, usually up to 3 min` */
function tookWords({ tookMs, usualMs }: Slow): string {
  return `${durationWords(tookMs, 'rounded')}, usually up to ${durationWords(usualMs, 'rounded')}`;
}

/** `Takes 12 min, usually up to 3 min (last 3 Flights; slower since 2 Jul 2026, 14:00 UTC).` */
export function slowWords(slow: Slow): string {
  return `Takes ${tookWords(slow)} (last ${slow.flights} Flights; slower since ${dayAndTime(slow.sinceUs)}).`;
}

/** Undefined if the last Flights were not slow, or too little is known. */
export async function findSlow(history: Pick<History, 'landed'>, rule: SlowRule): Promise<Slow | undefined> {
  const last = (await history.landed(LOOK)).slice(-rule.inARow);
  if (last.length < rule.inARow || last.some((one) => tookMs(one) <= rule.atLeastMs)) return undefined;
  return slowAmong(await history.landed(READ), rule);
}

/**
 * `flights` are in order of their starts. What is usual must not contain the slow ones, of which many may have landed
 * since the last judgement. So the run may have begun wherever a Flight was quicker than all that follow.
 */
function slowAmong(flights: readonly Landed[], rule: SlowRule): Slow | undefined {
  const took = flights.map(tookMs);
  let shortestMs = Number.POSITIVE_INFINITY;
  let tries = 0;
  for (let from = took.length - 1; from >= BASE.least && tries < MOST_TRIES; from -= 1) {
    shortestMs = Math.min(shortestMs, took[from]!);
    if (took.length - from < rule.inARow || took[from - 1]! >= shortestMs) continue;
    tries += 1;
    const usualMs = percentile(took.slice(Math.max(0, from - BASE.most), from), PART)!;
    const limitMs = Math.max(rule.times * usualMs, usualMs + rule.atLeastMs);
    if (shortestMs <= limitMs) continue;
    // Before those that were slower than all before, others may have been slow.
    const first = took.findLastIndex((ms, at) => at < from && ms <= limitMs) + 1;
    const run = took.slice(first);
    const last = flights.at(-1)!;
    return {
      flights: run.length,
      tookMs: percentile(run, 0.5)!,
      shortestMs,
      longestMs: Math.max(...run),
      usualMs,
      limitMs,
      usualUs: flights[first - 1]!.startedAtUs,
      sinceUs: flights[first]!.startedAtUs,
      startedAtUs: last.startedAtUs,
      landedAtUs: last.endedAtUs,
    };
  }
  return undefined;
}

function tookMs({ startedAtUs, endedAtUs }: Landed): number {
  return (endedAtUs - startedAtUs) / 1000;
}

/** When what an alert is about began, and when the last Flight before started; undefined if it is not remembered. */
export function slowSince({ memory }: Alert): Pick<Slow, 'usualUs' | 'sinceUs'> | undefined {
  return isMemoryOf(flightSlow.remembers, memory) ? (memory as Memory) : undefined;
}
