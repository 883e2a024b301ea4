/**
 * Fires for what time alone makes wrong: Flights that do not end, and Birds that start none. The service reports
 * neither. So once a minute this step asks the store which of them are due to be judged, and applies the facts like any
 * others. When each is judged next is kept in the store; what this step remembers only saves work.
 *
 * Nothing is judged without a reading: while a region is down, or not read yet since the start, a Flight may have ended
 * and a Bird may have flown.
 */

import type { Fact, Place } from '../domain/alert/fact.ts';
import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { ruleFor } from '../domain/evaluate/choose-rule.ts';
import { birdStale, LEAST_LEARNED_PAUSE_MS, staleAfterMs } from '../domain/kinds/bird-stale.ts';
import { flightStuck, LEAST_LEARNED_DURATION_MS, stuckAfterMs } from '../domain/kinds/flight-stuck.ts';
import { isRuleOf } from '../domain/kinds/kind.ts';
import { applyFacts } from '../store/change-alerts.ts';
import type { BirdToJudge, FlightToJudge, JudgedBird, JudgedFlight } from '../store/overdue-store.ts';
import type { Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { NOTHING, type Step } from './step.ts';

export interface OverdueOptions {
  readonly rules: readonly Rule[];
  readonly clock: Clock;
  /** When the last reading of a Bird's Flights since the start of the process began; undefined if there was none. */
  readonly flightsReadUs: (region: string, birdId: string) => number | undefined;
}

interface Overdue {
  /** Whether it is time to look. */
  isDue(): boolean;
  /** A step of the alerting pass. */
  judge(tx: Transaction): Promise<Step>;
}

const LOOK_MS = 60_000;
const LOOK_US = LOOK_MS * 1000;

/** No judgement is put off for longer: what is usual for a Bird may have become known. */
const LONGEST_US = 3_600_000_000;

/** Without a reading, judgements are put off longer and longer, up to this. */
const UNREAD_US = 300_000_000;

/** Flights and Birds judged in one transaction. */
const BATCH = 200;

/** Fewer Flights do not show how long one usually takes. */
const ENOUGH_DURATIONS = 20;

/** Fewer gaps do not show how often a Bird flies. Neither does less than a week, since a Bird may rest at weekends. */
const ENOUGH_GAPS = 4;
const ENOUGH_SPAN_US = 6.5 * 86_400_000_000;

export function createOverdue(options: OverdueOptions): Overdue {
  const { rules, clock, flightsReadUs } = options;
  const leastMs = rules
    .filter((rule) => isRuleOf(rule, flightStuck))
    .reduce((least, { maxDurationMs }) => Math.min(least, maxDurationMs ?? least), LEAST_LEARNED_DURATION_MS);
  const beganUs = clock.nowUs();
  let nextLookMs = Number.NEGATIVE_INFINITY;
  let isFirst = true;

  const readUs = ({ region, birdId }: Place) => flightsReadUs(region, birdId) ?? 0;

  /** When something is judged next that is overdue at `overdueUs`; null if it is not known when. */
  function nextUs(overdueUs: number | null, place: Place, nowUs: number): number {
    if (overdueUs === null) return nowUs + LONGEST_US;
    // Right after the start nothing has been read yet, which is no reason to judge late.
    const unreadUs = nowUs - Math.max(readUs(place), beganUs);
    const soonestUs = nowUs + (unreadUs > LOOK_US ? Math.min(unreadUs, UNREAD_US) : LOOK_US);
    return Math.min(Math.max(overdueUs, soonestUs), nowUs + LONGEST_US);
  }

  async function judgeFlights(tx: Transaction, flights: readonly FlightToJudge[], nowUs: number) {
    const usual = new Map<number, number | null>();
    const facts: Fact[] = [];
    const judged: JudgedFlight[] = [];
    for (const { stream, startedAtUs, flightId, place } of flights) {
      const rule = ruleFor(flightStuck, { ...placeLabels(place), flight_id: flightId }, rules);
      if (!usual.has(stream)) usual.set(stream, usualDurationMs(await tx.flights.durations(stream)));
      const usualMs = usual.get(stream) ?? null;
      const limitMs = rule ? stuckAfterMs(rule, usualMs) : null;
      const overdueUs = limitMs === null ? null : startedAtUs + limitMs * 1000;
      const readAtUs = readUs(place);
      const isStuck = overdueUs !== null && overdueUs <= Math.min(nowUs, readAtUs);
      if (isStuck) facts.push({ fact: 'flight_in_air', place, flightId, startedAtUs, usualMs, readAtUs });
      const next = isStuck ? nowUs + LONGEST_US : nextUs(overdueUs, place, nowUs);
      judged.push({ stream, startedAtUs, flightId, nextUs: next });
    }
    await tx.overdue.judgeFlights(judged);
    return facts;
  }

  async function judgeBirds(tx: Transaction, birds: readonly BirdToJudge[], nowUs: number) {
    const facts: Fact[] = [];
    const judged: JudgedBird[] = [];
    for (const bird of birds) {
      const { place, lastStartUs } = bird;
      // A Bird that was active when it was first seen may have been active ever since its last Flight.
      const sinceUs =
        bird.hasFirstStatus && lastStartUs > 0 ? lastStartUs : Math.max(lastStartUs, bird.statusSinceUs);
      const rule = ruleFor(birdStale, placeLabels(place), rules);
      const usualMs = rule && rule.expectEveryMs === undefined ? await usualGapMs(tx, bird, nowUs) : null;
      const limitMs = rule ? staleAfterMs(rule, usualMs) : null;
      const overdueUs = limitMs === null ? null : sinceUs + limitMs * 1000;
      const readAtUs = readUs(place);
      const isStale = overdueUs !== null && overdueUs <= Math.min(nowUs, readAtUs);
      const hasFlown = lastStartUs === sinceUs;
      if (isStale) facts.push({ fact: 'bird_idle', place, sinceUs, hasFlown, usualMs, readAtUs });
      const next = nextUs(isStale ? nowUs + limitMs! * 1000 : overdueUs, place, nowUs);
      judged.push({ region: place.region, birdId: place.birdId, nextUs: next });
    }
    await tx.overdue.judgeBirds(judged);
    return facts;
  }

  const isDue = () => clock.monotonicMs() >= nextLookMs;

  async function judge(tx: Transaction): Promise<Step> {
    const nowMs = clock.monotonicMs();
    if (!isDue()) return NOTHING;
    const nowUs = clock.nowUs();
    if (isFirst) await tx.overdue.forget();
    isFirst = false;
    const flights = await tx.overdue.flights(nowUs - leastMs * 1000, nowUs, BATCH);
    const birds = await tx.overdue.birds(nowUs, BATCH);
    const done = flights.length + birds.length;
    const facts = [...(await judgeFlights(tx, flights, nowUs)), ...(await judgeBirds(tx, birds, nowUs))];
    if (done === 0) {
      nextLookMs = nowMs + LOOK_MS;
      for (const fact of await goneFlights(tx, nowUs)) facts.push(fact);
    }
    const { happenings } = await applyFacts(tx, facts, rules, nowUs);
    return { done, queued: 0, happenings };
  }

  return { isDue, judge };
}

/** The duration that 99 of 100 Flights do not exceed, in milliseconds; null if too few are known. */
export function usualDurationMs(durationsUs: readonly number[]): number | null {
  if (durationsUs.length < ENOUGH_DURATIONS) return null;
  const sorted = durationsUs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1]! / 1000;
}

/**
 * The longest gap between two Flights of a scheduled Bird, in milliseconds; null if it is not known. While it is too
 * early for the Bird to be stale, 0, and the gaps are not read.
 */
async function usualGapMs(
  tx: Transaction,
  { triggerType, stream, lastStartUs }: BirdToJudge,
  nowUs: number,
): Promise<number | null> {
  if (triggerType !== 'scheduled' || stream === undefined) return null;
  if (nowUs - lastStartUs < LEAST_LEARNED_PAUSE_MS * 1000) return 0;
  const { count, longestUs, spanUs } = await tx.flights.gaps(stream);
  return count >= ENOUGH_GAPS && spanUs >= ENOUGH_SPAN_US ? longestUs / 1000 : null;
}

/**
 * Says of Flights with a FlightStuck alert that they are no longer watched, mostly because the service deleted them.
 */
async function goneFlights(tx: Transaction, nowUs: number): Promise<Fact[]> {
  const alerts = await tx.overdue.alertsOfGoneFlights(flightStuck.name);
  return alerts.map(({ labels }) => {
    const { region = '', nest_id: nestId = '', nest = '', bird_id: birdId = '', bird = '' } = labels;
    const place = { region, nestId, nest, birdId, bird };
    return { fact: 'flight_gone', place, flightId: labels.flight_id ?? '', atUs: nowUs };
  });
}
