/**
 * A Bird started an unusual number of Flights in a day or an hour: fewer, or more, than at the same time of the last four
 * weeks, or than a rule's fixed bounds. Fewer is judged once the period is over and all of it was read, more as soon as
 * it is passed. A period in which the region could not be read completely, and one inside `except`, is neither judged nor
 * shows what is usual. Resolves after the next usual period, but not after one without any Flight. One that cannot be
 * judged ends only what was too many, or too few more than a week ago, and that is no recovery.
 */
import { clockIn, dayAndTime, howMany } from '../../text/instant-words.ts';
import { regionName } from '../../text/plain-text.ts';
import { createZoneFormats, type Period, periodsOf } from '../../time/zone-format.ts';
import { resolve } from '../alert/alert.ts';
import type { Counted } from '../alert/fact.ts';
import { birdName, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import { zonePlace } from '../statistics/deadlines.ts';
import type { BirdToJudge, History } from './judge.ts';
import {
  birdTopic,
  defineKind,
  endInactive,
  endVanished,
  fireMeasured,
  PLACE_LABELS,
  zoneMistakes,
} from './kind.ts';

/** What started in time is visible by then: the least lateness that sweeps expect (`intake/lateness.ts`). */
const VISIBLE_AFTER_US = 10_000_000;

/** What is usual is learned from so many weeks. */
export const UNUSUAL_WEEKS = 4;
const WEEK_US = 7 * 86_400_000_000;
const ENOUGH_PERIODS = 3;
const LEAST_MEDIAN = 10;

/** How far the root of a count must be from that of the median: four times as far as it varies by chance. */
const CHANCE = 2;

/** So many times the most that is usual is critical. */
const RUNAWAY = 10;

interface Memory {
  /** The begin of the unusual period. */
  readonly fromUs: number;
  readonly isFewer: boolean;
}

const PARAMETERS = {
  per: {
    type: 'choice',
    of: ['1h', '1d'],
    default: '1d',
    description: 'Whether the Flights of a day or of an hour are counted.',
  },
  timezone: {
    type: 'text',
    default: 'UTC',
    description: 'The time zone of days and hours, such as Europe/Amsterdam.',
  },
  fewerThan: {
    type: 'part',
    default: 0.5,
    description:
      'Too few are fewer than this × the median of the same weekday (and hour) in the last 4 weeks, fewer than in each of them, and fewer than by chance. Needs 3 of them, and a median of 10.',
  },
  moreThan: {
    type: 'factor',
    default: 3,
    description: 'Too many are more than this × the most of them; above 10 × the most it is critical.',
  },
  atLeast: {
    type: 'count',
    least: 1,
    most: 100_000,
    description: 'A fixed bound instead: fewer are too few.',
  },
  atMost: {
    type: 'count',
    least: 1,
    most: 10_000,
    description: 'A fixed bound instead: more are too many; above 10 × as many it is critical.',
  },
  except: {
    type: 'time intervals',
    default: [],
    description:
      'Names of `time_intervals`: a day or hour whose middle is inside one of them does not count.',
  },
} as const satisfies Parameters;

type UnusualRule = RuleOf<typeof PARAMETERS>;

export const flightsUnusual = defineKind({
  name: 'FlightsUnusual',
  fires:
    'a rule asks for it, and a Bird started fewer Flights in a day or hour than `fewer_than` or `at_least` says, or more than `more_than` or `at_most` says',
  resolves:
    'the next day or hour is over and was usual, but had Flights; after too many, also if too little shows what is usual then',
  isOnRequest: true,
  words: {
    firing: 'Unusual',
    still: 'Still unusual',
    over: 'Usual again',
    quiet: 'No longer known to be unusual',
    superseded: 'No longer active',
    hasOwnDescription: true,
  },
  runbook: {
    look: 'fewer: whether its source or trigger still sends anything. More: whether two Birds start each other, or a source sends the same again and again.',
    act: 'fewer: mend the source. More: suspend the Bird in the service before it does harm. If the number is right, widen the bounds, or name such days in `except`.',
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const fixed = ['at_least', 'at_most'].filter((key) => given(key) !== undefined);
    const learned = ['fewer_than', 'more_than'].filter((key) => given(key) !== undefined);
    const found = zoneMistakes(given);
    if (fixed.length > 0) {
      const message = `cannot be combined with ${fixed.join(' and ')}: bounds are either learned or fixed`;
      found.push(...learned.map((key) => ({ key, isOfKey: true, message })));
    }
    const [least, most] = [given('at_least'), given('at_most')];
    if (typeof least === 'number' && typeof most === 'number' && least > most) {
      found.push({ key: 'at_least', isOfKey: false, message: `must not be more than at_most, ${most}` });
    }
    return found;
  },
  severities: ['warning', 'critical'],
  labels: PLACE_LABELS,
  laterLabels: ['unusual'],
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => false,
  remembers: { fromUs: 'number', isFewer: 'flag' },

  judges: {
    of: 'bird',
    isWokenByFlights: true,
    async judge(bird, history, rule, nowUs) {
      const periods = periodsOf(rule.per, rule.timezone);
      const now = periods.at(nowUs);
      const last = periods.at(now.fromUs - 1);
      const running = await countFlights(bird, history, rule, now, false);
      const visibleUs = now.fromUs + VISIBLE_AFTER_US;
      const seenUs = Math.min(nowUs, history.readAtUs);
      const isDue = bird.countedUs < visibleUs;
      const isVisible = seenUs >= visibleUs;
      const nextUs = isDue && !isVisible ? visibleUs : now.untilUs + VISIBLE_AFTER_US;
      const over = isDue && isVisible ? await countFlights(bird, history, rule, last, true) : undefined;
      const counted = running.verdict === 'more' ? running : over;
      return {
        nextUs,
        ...(over && { countedUs: seenUs }),
        ...(counted && { fact: { fact: 'flights_counted', place: bird.place, counted } }),
      };
    },
  },

  raisedBy: ['flights_counted'],
  observes: ['flights_counted', 'bird_vanished', 'bird_status'],

  topic({ place, counted }) {
    if (counted.verdict !== 'fewer' && counted.verdict !== 'more') return undefined;
    return { ...birdTopic(place), severity: counted.isRunaway ? 'critical' : 'warning' };
  },

  // Too many after too few, or the other way round, is news: an alert that fires would only change its text.
  narrow({ subject, labels }, { counted }) {
    const { verdict: unusual } = counted;
    return { subject: unusual === 'fewer' ? `${subject}/fewer` : subject, labels: { ...labels, unusual } };
  },

  raise(alert, { place, counted }, context) {
    const { rule, nowUs } = context;
    const { period, verdict, isOver } = counted;
    const before = alert.memory as Memory | null;
    if (before && before.fromUs >= period.fromUs) return undefined;
    const memory: Memory = { fromUs: period.fromUs, isFewer: verdict === 'fewer' };
    const started = `started ${startedWords(counted, rule)}`;
    const summary = `${hintOf(counted)}${birdName(place)} ${started} ${whereabouts(place)}`;
    const description = unusualWords(counted, rule, place.region);
    const startsAtUs = isOver ? period.untilUs : nowUs;
    return fireMeasured(alert, { startsAtUs, summary, description, memory }, context);
  },

  observe(alert, fact, { rule, nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    const memory = alert.memory as Memory | null;
    if (alert.state !== 'firing') return undefined;
    if (fact.fact === 'bird_status') {
      return memory?.isFewer === false ? undefined : endInactive(alert, fact, nowUs);
    }
    const { counted } = fact;
    if (!counted.isOver || (memory && counted.period.fromUs <= memory.fromUs)) return undefined;
    const by = `it started ${startedWords(counted, rule)}`;
    const { untilUs } = counted.period;
    // By lasting it becomes usual that a Bird starts nothing any more.
    if (memory?.isFewer && counted.count === 0) return undefined;
    if (counted.verdict === 'usual') return resolve(alert, untilUs, by, nowUs);
    const isLongAgo = memory && counted.period.fromUs - memory.fromUs > WEEK_US;
    if (counted.verdict !== 'unknown' || (memory?.isFewer !== false && !isLongAgo)) return undefined;
    return resolve(alert, untilUs, `${by}; ${usualWords(counted, rule)}`, nowUs, 'quiet');
  },
});

type Status = Pick<BirdToJudge, 'status' | 'statusSinceUs' | 'hasFirstStatus' | 'joinedUs'>;

/** Counts the Flights of a period, and judges them by a rule. */
export async function countFlights(
  bird: Status,
  history: History,
  rule: UnusualRule,
  period: Period,
  isOver: boolean,
): Promise<Counted> {
  const count = await history.starts(period.fromUs, period.untilUs);
  const counted = { period, isOver, count, isRunaway: false, usual: null };
  const knownUs = await history.knownFromUs();
  if (knownUs === undefined || period.fromUs < knownUs) return { ...counted, verdict: 'unknown' };
  if (isExcepted(history, rule, period)) return { ...counted, verdict: 'excepted' };
  const { atLeast, atMost } = rule;
  const isFixed = atLeast !== undefined || atMost !== undefined;
  // What is usual need not be read for what cannot be too many.
  if (!isOver && !isFixed && count <= LEAST_MEDIAN * rule.moreThan) return { ...counted, verdict: 'unknown' };
  const learned = isFixed ? undefined : await usualCounts(history, rule, period);
  if (!isFixed && !learned) return { ...counted, verdict: 'unknown' };
  const usual = { isFixed, least: learned ? learned[0] : atLeast, most: learned ? learned.at(-1) : atMost };
  const { least = 0, most = Number.POSITIVE_INFINITY } = usual;
  const judged = { ...counted, usual };
  if (count > most * (learned ? rule.moreThan : 1)) {
    return { ...judged, verdict: 'more', isRunaway: count > most * RUNAWAY };
  }
  if (!isOver) return { ...judged, verdict: 'usual' };
  const blind = await blindSpan(history, period);
  if (blind) return { ...judged, verdict: 'blind', blind };
  const { status, statusSinceUs, hasFirstStatus, joinedUs } = bird;
  const activeUs = hasFirstStatus ? joinedUs : Math.max(joinedUs, statusSinceUs);
  const isActive = status === 'active' && activeUs <= period.fromUs;
  const isFewer = count < least && (!learned || isFarBelow(count, medianOf(learned), rule.fewerThan));
  if (isFewer && !isActive) return { ...judged, verdict: 'inactive' };
  return { ...judged, verdict: isFewer ? 'fewer' : 'usual' };
}

/** The counts of the same period in the weeks before, sorted; undefined if they do not show what is usual. */
async function usualCounts(
  history: History,
  rule: UnusualRule,
  period: Period,
): Promise<readonly number[] | undefined> {
  const periods = periodsOf(rule.per, rule.timezone);
  const knownUs = await history.knownFromUs();
  const firstUs = await history.firstStartUs();
  if (knownUs === undefined || firstUs === undefined) return undefined;
  const counts: number[] = [];
  for (let weeks = 1; weeks <= UNUSUAL_WEEKS; weeks += 1) {
    const before = periods.weeksBefore(period, weeks);
    // Of the period in which the first one started, some may not be kept any more: that makes only fewer rarer.
    if (before.fromUs < knownUs || before.untilUs <= firstUs) break;
    if (isExcepted(history, rule, before) || (await blindSpan(history, before))) continue;
    counts.push(await history.starts(before.fromUs, before.untilUs));
  }
  const sorted = counts.sort((a, b) => a - b);
  return sorted.length >= ENOUGH_PERIODS && medianOf(sorted) >= LEAST_MEDIAN ? sorted : undefined;
}

/** Also by more than chance: the root of a count of events that come at random varies by a half, whatever the count. */
function isFarBelow(count: number, median: number, part: number): boolean {
  return count < part * median && Math.sqrt(median) - Math.sqrt(count) > CHANCE;
}

function medianOf(sorted: readonly number[]): number {
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

function isExcepted(history: History, { except }: UnusualRule, { fromUs, untilUs }: Period): boolean {
  return except.length > 0 && history.isWithin(except, (fromUs + untilUs) / 2);
}

/** When the region could not be read completely within the period, the longest of several times. */
async function blindSpan(history: History, { fromUs, untilUs }: Period): Promise<Period | undefined> {
  const spans = await history.blindSpans(untilUs - (UNUSUAL_WEEKS * 7 + 2) * 86_400_000_000);
  return spans
    .filter((span) => span.fromUs < untilUs && span.untilUs > fromUs)
    .sort((a, b) => b.untilUs - b.fromUs - (a.untilUs - a.fromUs))[0];
}

type Clock = Pick<UnusualRule, 'per' | 'timezone'>;

const weekdaysIn = createZoneFormats('en', { weekday: 'long' });

/** `Started 3 Flights on Thursday; Thursdays usually have 180 to 220.` */
export function unusualWords(counted: Counted, clock: Clock, region: string): string {
  const { blind } = counted;
  const until = blind && Number.isFinite(blind.untilUs) ? ` until ${dayAndTime(blind.untilUs)}` : '';
  const why = blind
    ? ` It is not judged: ${regionName(region)} could not be read since ${dayAndTime(blind.fromUs)}${until}.`
    : '';
  return `${hintOf(counted)}Started ${startedWords(counted, clock)}; ${usualWords(counted, clock)}.${why}`;
}

function hintOf({ verdict }: Counted): string {
  return verdict === 'more' ? 'Runaway? ' : '';
}

/** `3 Flights on Thursday`, `3 Flights since 07:00 (Amsterdam)` */
function startedWords({ period, isOver, count }: Counted, { per, timezone }: Clock): string {
  const [from, until] = [period.fromUs, period.untilUs].map((us) => clockIn(timezone, us)(us));
  const weekday = weekdaysIn(timezone).format(period.fromUs / 1000);
  const place = zonePlace(timezone);
  const over = per === '1d' ? weekday : `${weekday} from ${from} to ${until} (${place})`;
  const since = per === '1d' ? 'midnight' : from;
  return `${howMany(count, 'Flight')} ${isOver ? `on ${over}` : `since ${since} (${place})`}`;
}

/** `Thursdays usually have 180 to 220` */
function usualWords({ period, usual, verdict }: Counted, { per, timezone }: Clock): string {
  const weekday = weekdaysIn(timezone).format(period.fromUs / 1000);
  const same = per === '1d' ? `${weekday}s` : `${weekday}s at this hour`;
  if (!usual) return `too little shows what is usual on ${same}`;
  const { isFixed, least, most } = usual;
  if (isFixed) return verdict === 'more' ? `at most ${most} are allowed` : `at least ${least} are expected`;
  if (verdict === 'more') return `${same} have at most ${most}`;
  return `${same} usually have ${least === most ? least : `${least} to ${most}`}`;
}
