/**
 * A Bird started an unusual number of Flights in a day or an hour: fewer, or more, than at the same time of the last four
 * weeks, or than a rule's fixed bounds. Fewer is judged once the period is over and all of it was read, more as soon as
 * it is passed. A period in which the region could not be read completely, and one inside `except`, is neither judged nor
 * shows what is usual. Resolves after the next usual period.
 */
import { howMany } from '../../text/counts.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import { regionName } from '../../text/region-name.ts';
import { type Period, periodsOf } from '../../time/calendar-period.ts';
import { wallClock } from '../../time/zone-format.ts';
import type { Alert } from '../alert/alert.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import { fire, remember, resolve } from '../alert/lifecycle.ts';
import type { Counted } from '../alert/measured-flights.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import type { BirdToJudge, History } from './judge.ts';
import { defineKind, endVanished, type Mistake, PLACE_LABELS, subjectPart } from './kind.ts';
import { zoneMistake } from './zone-mistake.ts';

/** What started in time is visible by then: the least lateness that sweeps expect (`intake/lateness.ts`). */
const VISIBLE_AFTER_US = 10_000_000;

/** What is usual is learned from so many weeks. */
export const UNUSUAL_WEEKS = 4;
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
    key: 'per',
    type: 'choice',
    of: ['1h', '1d'],
    default: '1d',
    description: 'Whether the Flights of a day or of an hour are counted.',
  },
  timezone: {
    key: 'timezone',
    type: 'text',
    default: 'UTC',
    description: 'The time zone of days and hours, such as Europe/Amsterdam.',
  },
  fewerThan: {
    key: 'fewer_than',
    type: 'part',
    default: 0.5,
    description:
      'Too few are fewer than this × the median of the same weekday (and hour) in the last 4 weeks, fewer than in each of them, and fewer than by chance. Needs 3 of them, and a median of 10.',
  },
  moreThan: {
    key: 'more_than',
    type: 'factor',
    default: 3,
    description: 'Too many are more than this × the most of them; above 10 × the most it is critical.',
  },
  atLeast: {
    key: 'at_least',
    type: 'count',
    least: 1,
    most: 100_000,
    description: 'A fixed bound instead: fewer are too few.',
  },
  atMost: {
    key: 'at_most',
    type: 'count',
    least: 1,
    most: 10_000,
    description: 'A fixed bound instead: more are too many; above 10 × as many it is critical.',
  },
  except: {
    key: 'except',
    type: 'time intervals',
    default: [],
    description:
      'Names of `time_intervals`: a day or hour whose middle is inside one of them does not count.',
  },
} as const satisfies Parameters;

export type UnusualRule = RuleOf<typeof PARAMETERS>;

export const flightsUnusual = defineKind({
  name: 'FlightsUnusual',
  fires:
    'a rule asks for it, and a Bird started fewer Flights in a day or hour than `fewer_than` or `at_least` says, or more than `more_than` or `at_most` says',
  resolves: 'the next day or hour is over and was usual',
  isOnRequest: true,
  words: {
    firing: 'Unusual',
    still: 'Still unusual',
    over: 'Usual again',
    superseded: 'No longer active',
    hasOwnDescription: true,
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const fixed = ['at_least', 'at_most'].filter((key) => given(key) !== undefined);
    const learned = ['fewer_than', 'more_than'].filter((key) => given(key) !== undefined);
    const found: (Mistake | undefined)[] = [zoneMistake(given)];
    if (fixed.length > 0) {
      const message = `cannot be combined with ${fixed.join(' and ')}: bounds are either learned or fixed`;
      found.push(...learned.map((key) => ({ key, isOfKey: true, message })));
    }
    const [least, most] = [given('at_least'), given('at_most')];
    if (typeof least === 'number' && typeof most === 'number' && least > most) {
      found.push({ key: 'at_least', isOfKey: false, message: `must not be more than at_most, ${most}` });
    }
    return found.filter((one) => one !== undefined);
  },
  severities: ['warning', 'critical'],
  labels: PLACE_LABELS,
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
      const factOf = (one: Counted) => ({
        ...{ fact: 'flights_counted' as const, place: bird.place, counted: one, rule: rule.id },
        ...{ readAtUs: history.readAtUs, per: rule.per, zone: rule.timezone },
      });
      const running = await countFlights(bird, history, rule, now, false);
      const visibleUs = now.fromUs + VISIBLE_AFTER_US;
      const seenUs = Math.min(nowUs, history.readAtUs);
      const isDue = bird.countedUs < visibleUs;
      const isVisible = seenUs >= visibleUs;
      const nextUs = isDue && !isVisible ? visibleUs : now.untilUs + VISIBLE_AFTER_US;
      const over = isDue && isVisible ? await countFlights(bird, history, rule, last, true) : undefined;
      const shown = running.verdict === 'more' ? running : over;
      return {
        nextUs,
        ...(over && { countedUs: seenUs }),
        ...(shown && hasVerdict(shown) && { fact: factOf(shown) }),
      };
    },
  },

  raisedBy: ['flights_counted'],
  observes: ['flights_counted', 'bird_vanished', 'bird_status'],

  topic({ place, counted }) {
    if (counted.verdict !== 'fewer' && counted.verdict !== 'more') return undefined;
    return {
      subject: `bird/${subjectPart(place.birdId)}`,
      labels: placeLabels(place),
      severity: counted.isRunaway ? 'critical' : 'warning',
    };
  },

  raise(alert, { place, counted, per, zone }, { rule, labels, nowUs }) {
    const { period, verdict, isOver } = counted;
    const before = memoryOf(alert);
    if (before && before.fromUs >= period.fromUs) return undefined;
    const memory: Memory = { fromUs: period.fromUs, isFewer: verdict === 'fewer' };
    const { started } = countWords(counted, per, zone);
    const hint = verdict === 'more' ? 'Runaway? ' : '';
    return fire(
      alert,
      {
        startsAtUs: isOver ? period.untilUs : nowUs,
        labels,
        annotations: annotate(
          { rule, labels },
          `${hint}${birdName(place)} started ${started} ${whereabouts(place)}`,
          unusualWords(counted, { per, timezone: zone }, place.region),
        ),
        events: [],
        memory,
        dueAtUs: null,
      },
      nowUs,
    );
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    const memory = memoryOf(alert);
    if (alert.state !== 'firing') return undefined;
    if (fact.fact === 'bird_status') {
      if (fact.status === 'active' || memory?.isFewer === false) return undefined;
      return resolve(alert, fact.readAtUs, 'the Bird is no longer active', nowUs, 'superseded');
    }
    const { counted, per, zone } = fact;
    if (alert.rule !== fact.rule) return undefined;
    if (!counted.isOver || (memory && counted.period.fromUs <= memory.fromUs)) return undefined;
    if (counted.verdict !== 'usual' && counted.verdict !== 'unknown') return undefined;
    const by = `it started ${countWords(counted, per, zone).started}`;
    return resolve(alert, counted.period.untilUs, by, nowUs);
  },

  tick: (alert, { nowUs }) => remember(alert, alert.memory, null, nowUs),
});

type Status = Pick<BirdToJudge, 'status' | 'statusSinceUs' | 'hasFirstStatus'>;

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
  const usual = learned
    ? { isFixed, least: learned[0]!, most: learned.at(-1)! }
    : {
        isFixed,
        ...(atLeast !== undefined && { least: atLeast }),
        ...(atMost !== undefined && { most: atMost }),
      };
  const { least = 0, most = Number.POSITIVE_INFINITY } = usual;
  const judged = { ...counted, usual };
  if (count > most * (learned ? rule.moreThan : 1)) {
    return { ...judged, verdict: 'more', isRunaway: count > most * RUNAWAY };
  }
  if (!isOver) return { ...judged, verdict: 'usual' };
  const blind = await blindSpan(history, period);
  if (blind) return { ...judged, verdict: 'blind', blind };
  const isActive = bird.status === 'active' && (bird.hasFirstStatus || bird.statusSinceUs <= period.fromUs);
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

function hasVerdict({ verdict }: Counted): boolean {
  return verdict === 'fewer' || verdict === 'more' || verdict === 'usual' || verdict === 'unknown';
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** `Started 3 Flights on Thursday; Thursdays usually have 180 to 220.` */
export function unusualWords(
  counted: Counted,
  { per, timezone }: Pick<UnusualRule, 'per' | 'timezone'>,
  region: string,
): string {
  const { started, usual } = countWords(counted, per, timezone);
  const { verdict, blind } = counted;
  const hint = verdict === 'more' ? 'Runaway? ' : '';
  const until = blind && Number.isFinite(blind.untilUs) ? ` until ${dayAndTime(blind.untilUs)}` : '';
  const why = blind
    ? ` It is not judged: ${regionName(region)} could not be read since ${dayAndTime(blind.fromUs)}${until}.`
    : '';
  return `${hint}Started ${started}; ${usual}.${why}`;
}

/** `3 Flights on Thursday` and `Thursdays usually have 180 to 220`. */
function countWords(
  { period, isOver, count, usual, verdict }: Counted,
  per: UnusualRule['per'],
  zone: string,
): { readonly started: string; readonly usual: string } {
  const { year, month, day } = wallClock(zone)(period.fromUs / 1000);
  const weekday = WEEKDAYS[new Date(Date.UTC(year, month - 1, day)).getUTCDay()]!;
  const [from, until] = [period.fromUs, period.untilUs].map((us) => timeIn(us, zone));
  const over = per === '1d' ? `on ${weekday}` : `on ${weekday} from ${from} to ${until}`;
  const since = per === '1d' ? 'since midnight' : `since ${from}`;
  const started = `${howMany(count, 'Flight')} ${isOver ? over : since}`;
  const same = per === '1d' ? `${weekday}s` : `${weekday}s at this hour`;
  if (!usual) return { started, usual: `too little shows what is usual on ${same}` };
  const { isFixed, least, most } = usual;
  if (isFixed) {
    const bound = verdict === 'more' ? `at most ${most} are allowed` : `at least ${least} are expected`;
    return { started, usual: bound };
  }
  const range = least === most ? `${least}` : `${least} to ${most}`;
  return {
    started,
    usual: `${same} ${verdict === 'more' ? `have at most ${most}` : `usually have ${range}`}`,
  };
}

function timeIn(us: number, zone: string): string {
  const { hour, minute } = wallClock(zone)(us / 1000);
  return [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
}

function memoryOf({ memory }: Pick<Alert, 'memory'>): Memory | null {
  return memory as Memory | null;
}
