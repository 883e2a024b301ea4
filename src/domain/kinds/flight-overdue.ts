/**
 * A Bird has not landed by a deadline: no Flight that started in time has succeeded. Only rules give deadlines, by a cron
 * expression. What counts is when a Flight ended, not when that was read: a deadline is judged once its Bird's Flights were
 * read after it. A Bird that is not active is late too. Resolves when a Flight that counts succeeds, and when a later
 * deadline is met.
 */
import { durationWords } from '../../text/duration-words.ts';
import { dayAndMonth } from '../../text/instant-words.ts';
import { nearest } from '../../text/nearest.ts';
import { regionName } from '../../text/region-name.ts';
import { createCron, cronProblem } from '../../time/cron.ts';
import { wallClock } from '../../time/zone-format.ts';
import type { Alert } from '../alert/alert.ts';
import type { FactOf } from '../alert/fact.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import { fire, remember, resolve } from '../alert/lifecycle.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import { type Due, outcomesOf, scheduleOf } from './deadlines.ts';
import type { BirdToJudge, History } from './judge.ts';
import { defineKind, endVanished, PLACE_LABELS, subjectPart } from './kind.ts';

const DAY_US = 86_400_000_000;

/** What ended in time is visible by then: the least lateness that sweeps expect (`intake/lateness.ts`). */
const VISIBLE_AFTER_US = 10_000_000;

/** More deadlines a day are a mistake: one each five minutes. */
const MOST_A_DAY = 288;

/** What is usual for a Bird is learned from so many days, and from so many deadlines or Flights. */
const LEARNED_US = 28 * DAY_US;
const ENOUGH_BEFORE = 10;
const ENOUGH = 3;

/** A judgement so long after the deadline says why: longer than two of the longest intervals between two polls. */
const TOLD_LATE_US = 660_000_000;

interface Memory {
  readonly deadlineUs: number;
  /** A Flight that started before does not count. */
  readonly fromUs: number;
  /** Deadlines missed in a row. */
  readonly missed: number;
}

const PARAMETERS = {
  landedBy: {
    key: 'landed_by',
    type: 'text',
    description:
      'A cron expression: each match is a deadline, by which a Flight of the Bird must have succeeded. Required.',
  },
  timezone: {
    key: 'timezone',
    type: 'text',
    default: 'UTC',
    description: 'The time zone of `landed_by`, such as Europe/Amsterdam.',
  },
  withinMs: {
    key: 'within',
    type: 'duration',
    leastMs: 60_000,
    mostMs: 7 * 86_400_000,
    description:
      'A success counts if its Flight started this long before the deadline or later. By default since the deadline before, for a day at most.',
  },
  except: {
    key: 'except',
    type: 'time intervals',
    default: [],
    description: 'Names of `time_intervals`: a deadline inside one of them is none.',
  },
} as const satisfies Parameters;

type OverdueRule = RuleOf<typeof PARAMETERS>;

export const flightOverdue = defineKind({
  name: 'FlightOverdue',
  fires: 'a rule asks for it, and no Flight of the Bird has succeeded by a deadline of `landed_by`',
  resolves: 'a Flight that counts succeeds, or the next deadline is met',
  isOnRequest: true,
  words: {
    firing: 'Overdue',
    still: 'Still overdue',
    over: 'Landed',
    hasOwnDescription: true,
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const [cron, zone = PARAMETERS.timezone.default] = [given('landed_by'), given('timezone')];
    if (cron === undefined) {
      const message = 'is missing: a cron expression whose matches are deadlines, such as "0 7 * * 1-5"';
      return [{ key: 'landed_by', isOfKey: false, message }];
    }
    // Anything else is refused by its type.
    if (typeof cron !== 'string' || typeof zone !== 'string') return [];
    const zoneProblem = cronProblem('0 0 * * *', zone);
    if (zoneProblem !== undefined) {
      const meant = nearest(zone, Intl.supportedValuesOf('timeZone'));
      const message = meant === undefined ? zoneProblem : `${zoneProblem}; did you mean ${meant}?`;
      return [{ key: 'timezone', isOfKey: false, message }];
    }
    const problem = cronProblem(cron, zone);
    const message = problem === undefined ? tooMany(cron, zone) : `is no cron expression: ${problem}`;
    return message === undefined ? [] : [{ key: 'landed_by', isOfKey: false, message }];
  },
  severities: ['critical'],
  labels: PLACE_LABELS,
  isResolvableByHand: () => false,
  remembers: { deadlineUs: 'number', fromUs: 'number', missed: 'number' },

  judges: {
    of: 'bird',
    async judge(bird, history, rule, nowUs) {
      const schedule = scheduleOf(rule, history.isWithin);
      const knownFromUs = await history.knownFromUs();
      if (knownFromUs === undefined) return { nextUs: nowUs };
      // Up to here, what ended in time is known to be visible. All rules judge this far: the Bird has one mark for all.
      const shownUs = Math.min(nowUs, history.readAtUs) - VISIBLE_AFTER_US;
      const judgedUs = Math.max(bird.deadlineUs, knownFromUs);
      const next = schedule.after(Math.max(judgedUs, shownUs));
      const nextUs = next ? next.atUs + VISIBLE_AFTER_US : null;
      // Of those before the first judgement only the last matters.
      const most = bird.deadlineUs === 0 ? 1 : Number.POSITIVE_INFINITY;
      const due = schedule.between(judgedUs, shownUs, most).filter(({ fromUs }) => fromUs >= knownFromUs);
      const last = due.at(-1);
      if (last === undefined) return { nextUs };
      const flights = await history.flightsSince(due[0]!.fromUs);
      const deadlines = outcomesOf(due, flights);
      const judged = { nextUs, deadlines };
      if (deadlines.at(-1)!.outcome !== 'missed') return judged;
      const missed = deadlines.length - 1 - deadlines.findLastIndex(({ outcome }) => outcome !== 'missed');
      return {
        ...judged,
        fact: {
          fact: 'deadline_missed',
          place: bird.place,
          deadlineUs: last.atUs,
          fromUs: last.fromUs,
          missed,
          zone: rule.timezone,
          how: await howMissed(bird, rule, last, history),
          readAtUs: history.readAtUs,
        },
      };
    },
  },

  raisedBy: ['deadline_missed'],
  observes: ['event', 'bird_vanished'],
  eventTypes: ['flight.succeeded'],

  topic: ({ place }) => ({ subject: `bird/${subjectPart(place.birdId)}`, labels: placeLabels(place) }),

  raise(alert, fact, { rule, labels, nowUs }) {
    const { place, deadlineUs, fromUs } = fact;
    const before = memoryOf(alert);
    if (before && before.deadlineUs >= deadlineUs) return undefined;
    const isFurther = alert.state === 'firing' && before !== null;
    const missed = isFurther ? before.missed + fact.missed : fact.missed;
    const memory: Memory = { deadlineUs, fromUs, missed };
    if (isFurther) return remember(alert, memory, null, nowUs);
    return fire(
      alert,
      {
        startsAtUs: deadlineUs,
        labels,
        annotations: annotate(
          { rule, labels },
          `${birdName(place)} has not landed by ${whenSaid(fact)(deadlineUs)} ${whereabouts(place)}`,
          stateOf(fact),
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
    const { birdId, occurredAtUs, attributes } = fact.event;
    if (fact.event.type !== 'flight.succeeded' || alert.state !== 'firing' || !memory) return undefined;
    if (alert.subject !== `bird/${subjectPart(birdId)}`) return undefined;
    const startedUs = attributes.started_at_us;
    if ((typeof startedUs === 'number' ? startedUs : occurredAtUs) < memory.fromUs) return undefined;
    const late = durationWords(Math.max(0, occurredAtUs - memory.deadlineUs) / 1000, 'two units');
    return resolve(alert, occurredAtUs, `it landed ${late} late`, nowUs);
  },

  tick: (alert, { nowUs }) => remember(alert, alert.memory, null, nowUs),
});

async function howMissed(
  { status, statusSinceUs, hasFirstStatus }: BirdToJudge,
  rule: OverdueRule,
  { atUs, fromUs }: Due,
  history: History,
): Promise<FactOf<'deadline_missed'>['how']> {
  const before = scheduleOf(rule, history.isWithin).between(atUs - LEARNED_US, atUs - 1, ENOUGH_BEFORE);
  const flights = await history.flightsSince(before[0]?.fromUs ?? fromUs);
  const last = flights.findLast(({ startedAtUs }) => startedAtUs >= fromUs && startedAtUs <= atUs);
  if (last && (last.endedAtUs === undefined || last.endedAtUs > atUs)) {
    const usualMs = middle(await history.durations(), 1000);
    return { what: 'in_air', atUs: last.startedAtUs, usualMs, isStill: last.endedAtUs === undefined };
  }
  if (last?.status === 'failed') {
    return { what: 'failed', atUs: last.endedAtUs!, message: await history.messageOf(last.flightId) };
  }
  if (last) return { what: 'ended', status: last.status, atUs: last.endedAtUs! };
  if (status !== 'active') {
    const off = await history.switchedOff();
    const seen = { status, atUs: statusSinceUs, by: '', isOlder: hasFirstStatus && off === undefined };
    const inactive = { ...seen, ...off };
    if (inactive.atUs <= atUs) return { what: 'inactive', ...inactive };
  }
  // How long before such a deadline the first Flight that counts started.
  const leads = before.flatMap((one) => {
    const first = flights.find(({ startedAtUs }) => startedAtUs >= one.fromUs && startedAtUs <= one.atUs);
    return first ? [one.atUs - first.startedAtUs] : [];
  });
  const leadUs = middle(leads, 1);
  return { what: 'not_started', usuallyAtUs: leadUs === null ? null : atUs - leadUs };
}

/** The median in another unit; null of too few. */
function middle(values: readonly number[], unit: number): number | null {
  if (values.length < ENOUGH) return null;
  return values.toSorted((a, b) => a - b)[values.length >> 1]! / unit;
}

/** How it stood at the deadline, and why that is told late. */
function stateOf(fact: FactOf<'deadline_missed'>): string {
  const { place, deadlineUs, readAtUs } = fact;
  const when = whenSaid(fact);
  const missed = `Not landed by ${when(deadlineUs)} (${placeOfZone(fact.zone)}). ${sentenceOf(fact, when)}`;
  if (readAtUs - deadlineUs < TOLD_LATE_US) return missed;
  return `${missed} (Judged at ${when(readAtUs)}, ${regionName(place.region)} could not be read before.)`;
}

function sentenceOf({ how }: FactOf<'deadline_missed'>, when: (us: number) => string): string {
  const at = (us: number) =>
    when(us)
      .replace(/^\d\d:/, 'at $&')
      .replace(/^\d+ /, 'on $&');
  switch (how.what) {
    case 'failed':
      return `It failed ${at(how.atUs)}${how.message === '' ? '.' : `: ${how.message}`}`;
    case 'ended':
      return `It was ${how.status} ${at(how.atUs)}.`;
    case 'in_air':
      return `It ${how.isStill ? 'is' : 'was'} in the air since ${when(how.atUs)}${how.usualMs === null ? '' : `; it usually takes ${durationWords(how.usualMs, 'rounded')}`}.`;
    case 'inactive':
      if (how.isOlder) return `It was ${how.status}, at least since ${when(how.atUs)}.`;
      return `It was ${how.status} ${at(how.atUs)}${how.by === '' ? '' : `, by ${how.by}`}.`;
    case 'not_started':
      return `It did not start${how.usuallyAtUs === null ? '' : `; it usually starts ${at(how.usuallyAtUs)}`}.`;
  }
}

function memoryOf({ memory }: Pick<Alert, 'memory'>): Memory | null {
  return memory as Memory | null;
}

/** Writes instants in the rule's zone, as seen on the day of the reading: `07:00`, `yesterday, 16:02`, `25 Nov, 16:02`. */
function whenSaid({ zone, readAtUs }: Pick<FactOf<'deadline_missed'>, 'zone' | 'readAtUs'>) {
  const clock = wallClock(zone);
  const dayOf = (us: number) => {
    const { year, month, day } = clock(us / 1000);
    return Date.UTC(year, month - 1, day);
  };
  return (us: number): string => {
    const { hour, minute } = clock(us / 1000);
    const time = [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
    const days = (dayOf(readAtUs) - dayOf(us)) / 86_400_000;
    if (days === 0) return time;
    return days === 1 ? `yesterday, ${time}` : `${dayAndMonth(dayOf(us) * 1000)}, ${time}`;
  };
}

/** `Amsterdam` of `Europe/Amsterdam`. */
function placeOfZone(zone: string): string {
  return zone.split('/').at(-1)!.replaceAll('_', ' ');
}

function tooMany(cron: string, zone: string): string | undefined {
  const search = createCron(cron, zone);
  const firstUs = search.next(0, Number.MAX_SAFE_INTEGER);
  let atUs = firstUs;
  for (let count = 0; atUs !== undefined && firstUs !== undefined; count += 1) {
    if (count === MOST_A_DAY) return `has more than ${MOST_A_DAY} deadlines a day`;
    atUs = search.next(atUs + 1, firstUs + DAY_US);
  }
  return undefined;
}
