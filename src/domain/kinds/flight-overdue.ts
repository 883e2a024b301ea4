/**
 * A Bird has not landed by a deadline: no Flight that started in time has succeeded. Only rules give deadlines, by a cron
 * expression. What counts is when a Flight ended, not when that was read: a deadline is judged once its Bird's Flights were
 * read after it. A Bird that is not active is late too. Resolves when a Flight that counts succeeds, and when a later
 * deadline is met.
 */
import { clockIn, durationWords } from '../../text/instant-words.ts';
import { regionName } from '../../text/plain-text.ts';
import { createCron, cronProblem } from '../../time/cron.ts';
import { type Alert, fire, type Labels, resolve } from '../alert/alert.ts';
import { reasonOf } from '../alert/error-signature.ts';
import type { FactOf } from '../alert/fact.ts';
import { annotate, birdName, whereabouts } from '../alert/labels.ts';
import type { Parameters, RuleOf } from '../alert/rule.ts';
import {
  type Due,
  MOST_LOOKED_AT,
  outcomesOf,
  scheduleOf,
  startOf,
  zonePlace,
} from '../statistics/deadlines.ts';
import type { BirdToJudge, History } from './judge.ts';
import { birdTopic, type Context, defineKind, endVanished, PLACE_LABELS, zoneMistakes } from './kind.ts';

const DAY_US = 86_400_000_000;

/** What ended in time is visible by then: the least lateness that sweeps expect (`intake/lateness.ts`). */
const VISIBLE_AFTER_US = 10_000_000;

/** More deadlines a day are a mistake: one each two minutes. */
const MOST_A_DAY = 720;

/** What is usual for a Bird is learned from so many days, and from so many deadlines or Flights. */
const LEARNED_US = 28 * DAY_US;
const ENOUGH_BEFORE = 10;
const ENOUGH = 3;

/** A judgement so long after the deadline says when it was: longer than two of the longest intervals between two polls. */
const TOLD_LATE_US = 660_000_000;

interface Memory {
  readonly deadlineUs: number;
  /** A Flight that started before does not count. */
  readonly fromUs: number;
  /** Deadlines missed in a row; 0 while the deadline is ahead. */
  readonly missed: number;
}

const PARAMETERS = {
  landedBy: {
    type: 'text',
    description:
      'A cron expression: each match is a deadline, by which a Flight of the Bird must have succeeded. Required.',
  },
  timezone: {
    type: 'text',
    default: 'UTC',
    description: 'The time zone of `landed_by`, such as Europe/Amsterdam.',
  },
  withinMs: {
    type: 'duration',
    leastMs: 60_000,
    mostMs: 7 * 86_400_000,
    description:
      'A success counts if its Flight started this long before the deadline or later. By default since the deadline before, for a day at most.',
  },
  except: {
    type: 'time intervals',
    default: [],
    description: 'Names of `time_intervals`: a deadline inside one of them is none.',
  },
  warnBeforeMs: {
    type: 'duration',
    leastMs: 60_000,
    mostMs: 86_400_000,
    description:
      'A warning so long before a deadline, unless a Flight has landed, or would by then as fast and as late as usual.',
  },
  tellLate: {
    type: 'flag',
    default: false,
    description:
      'Whether to tell of a Flight too that landed after the deadline, but before that was judged.',
  },
} as const satisfies Parameters;

type OverdueRule = RuleOf<typeof PARAMETERS>;
type Missed = FactOf<'deadline_missed'>;

export const flightOverdue = defineKind({
  name: 'FlightOverdue',
  fires: 'a rule asks for it, and no Flight of the Bird has succeeded by a deadline of `landed_by`',
  resolves: 'a Flight that counts succeeds, or the next deadline is met',
  isOnRequest: true,
  words: {
    firing: 'Overdue',
    still: 'Still overdue',
    over: 'Landed',
    ahead: 'May be overdue soon',
    superseded: 'Overdue now',
    events: 'failure',
    hasOwnDescription: true,
    hasWholeDescription: true,
  },
  runbook: {
    look: "whether it failed, is still in the air, did not start, or is suspended, on the Bird's page.",
    act: 'mend what failed, or start it by hand; its next success ends the alert. If the deadline is wrong, change the rule.',
  },
  contains: 'FlightFailed',
  parameters: PARAMETERS,
  mistakes(given) {
    const found = zoneMistakes(given);
    const wrongCron = cronMistake(given('landed_by'));
    if (wrongCron !== undefined) found.push({ key: 'landed_by', isOfKey: false, message: wrongCron });
    const severity = given('severity') ?? 'critical';
    if (given('warn_before') !== undefined && severity !== 'critical') {
      const message = 'needs severity critical: it makes a warning, which becomes critical at the deadline';
      found.push({ key: 'warn_before', isOfKey: true, message });
    }
    return found;
  },
  severities: ['critical', 'warning'],
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
      const judgedUs = Math.max(bird.deadlineUs, knownFromUs, bird.joinedUs);
      const next = schedule.after(Math.max(judgedUs, shownUs));
      // Of those before the first judgement only the last matters.
      const most = bird.deadlineUs === 0 ? 1 : MOST_LOOKED_AT;
      const due = schedule.between(judgedUs, shownUs, most).filter(({ fromUs }) => fromUs >= knownFromUs);
      const deadlines = due[0] ? outcomesOf(due, await history.flightsSince(due[0].fromUs)) : [];
      const last = deadlines.at(-1);
      const judged = {
        nextUs: next ? next.atUs + VISIBLE_AFTER_US : null,
        deadlines,
        judgedUs: bird.joinedUs,
      };
      const { readAtUs } = history;
      const isToldLate = last !== undefined && readAtUs - last.atUs >= TOLD_LATE_US;
      const wasUnread = isToldLate && (await couldNotBeRead(last.atUs, history));
      const about = { place: bird.place, readAtUs, wasUnread };
      const factOf = ({ atUs, fromUs }: Due, found: Pick<Missed, 'outcome' | 'missed' | 'how'>) =>
        ({ fact: 'deadline_missed', ...about, deadlineUs: atUs, fromUs, ...found }) as const;
      if (last?.outcome === 'missed') {
        const missed = deadlines.length - 1 - deadlines.findLastIndex(({ outcome }) => outcome !== 'missed');
        const how = await stateAt(last.atUs, bird, rule, last, history);
        return { ...judged, fact: factOf(last, { outcome: 'missed', missed, how }) };
      }
      const landed = rule.tellLate ? last?.landed : undefined;
      const event = landed && (await history.endOf({ flightId: landed.flightId, status: 'succeeded' }));
      if (last && landed && event) {
        const how = { what: 'landed', atUs: landed.atUs, event } as const;
        return { ...judged, fact: factOf(last, { outcome: 'late', missed: 0, how }) };
      }
      const warnUs = next && rule.warnBeforeMs && next.atUs - rule.warnBeforeMs * 1000;
      // One that will not be judged either is not warned of.
      if (!next || !warnUs || nowUs >= next.atUs || next.fromUs < knownFromUs) return judged;
      if (Math.min(nowUs, history.readAtUs) < warnUs) return { ...judged, nextUs: warnUs };
      const how = await stateAt(nowUs, bird, rule, next, history);
      if (!(await wouldMiss(how, next, nowUs, history))) return judged;
      return { ...judged, fact: factOf(next, { outcome: 'near', missed: 0, how }) };
    },
  },

  raisedBy: ['deadline_missed'],
  observes: ['event', 'bird_vanished'],
  eventTypes: ['flight.succeeded'],

  topic: ({ place, outcome }) => ({
    ...birdTopic(place),
    ...(outcome === 'near' && { severity: 'warning' }),
  }),

  // What is ahead is a warning, whatever severity the rule has for what has happened.
  narrow: (topic) => topic,

  raise(alert, fact, context) {
    const { deadlineUs, fromUs, outcome, how } = fact;
    const { labels, nowUs } = context;
    const isFiring = alert.state === 'firing';
    const before = isFiring ? (alert.memory as Memory | null) : null;
    if (isFiring && (outcome !== 'missed' || (before && before.deadlineUs >= deadlineUs))) return undefined;
    // That it landed is told with the end of its warning, or of the alert about the deadline before.
    if (how.what === 'landed' && context.levels.some((one) => one.endsAtUs === how.atUs)) return undefined;
    const memory: Memory = { deadlineUs, fromUs, missed: (before?.missed ?? 0) + fact.missed };
    const annotations = annotationsOf(fact, context);
    const startsAtUs = outcome === 'near' ? fact.readAtUs : deadlineUs;
    const events = how.what === 'landed' ? [how.event] : [];
    const fired = fire(alert, { startsAtUs, labels, annotations, events, memory, dueAtUs: null }, nowUs);
    if (how.what !== 'landed') return fired;
    // It is over when it is told; the event is its news.
    const by = landedWords(how.atUs, deadlineUs, context.rule.timezone);
    return { ...resolve(fired.alert, how.atUs, by, nowUs), events };
  },

  observe(alert, fact, { rule, nowUs }) {
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    const memory = alert.memory as Memory | null;
    const { occurredAtUs, attributes } = fact.event;
    if (fact.event.type !== 'flight.succeeded' || alert.state !== 'firing' || !memory) return undefined;
    const startedUs = attributes.started_at_us;
    if ((typeof startedUs === 'number' ? startedUs : occurredAtUs) < memory.fromUs) return undefined;
    const words = landedWords(occurredAtUs, memory.deadlineUs, rule.timezone);
    return resolve(alert, occurredAtUs, words, nowUs);
  },

  still(alert, nowUs) {
    const { deadlineUs, missed } = (alert.memory as Memory | null) ?? {
      deadlineUs: alert.startsAtUs,
      missed: 1,
    };
    if (missed === 0) return undefined;
    const late = durationWords((nowUs - deadlineUs) / 1000, 'two units');
    return `Still not landed, ${late} late${missed > 1 ? `; ${missed} deadlines missed in a row` : ''}.`;
  },
});

/** A Flight that started before does not end the alert. */
export function countsFromUs({ memory }: Pick<Alert, 'memory'>): number {
  return (memory as Memory | null)?.fromUs ?? Number.POSITIVE_INFINITY;
}

/** Whether the region could not be read completely when the deadline would have been judged. */
async function couldNotBeRead(deadlineUs: number, history: History): Promise<boolean> {
  const spans = await history.blindSpans(deadlineUs);
  return spans.some(({ fromUs, untilUs }) => fromUs < deadlineUs + TOLD_LATE_US && untilUs > deadlineUs);
}

/** How it stands at an instant, which is the deadline or before it. */
async function stateAt(
  instantUs: number,
  { status, statusSinceUs, hasFirstStatus }: BirdToJudge,
  rule: OverdueRule,
  { atUs, fromUs }: Due,
  history: History,
): Promise<Missed['how']> {
  const before = scheduleOf(rule, history.isWithin).between(atUs - LEARNED_US, atUs - 1, ENOUGH_BEFORE);
  const flights = await history.flightsSince(Math.min(before[0]?.fromUs ?? fromUs, fromUs - DAY_US));
  const last =
    flights
      .filter((one) => startOf(one) >= fromUs && startOf(one) <= instantUs)
      .toSorted((a, b) => startOf(a) - startOf(b))
      .at(-1) ??
    // What does not say when it started, and has not ended, may be in the air for as long.
    flights.find(({ startedAtUs, endedAtUs = Infinity }) => startedAtUs === 0 && endedAtUs > instantUs);
  if (last && (last.endedAtUs === undefined || last.endedAtUs > instantUs)) {
    const usualMs = middle(await history.durations(), 1000);
    return { what: 'in_air', atUs: last.startedAtUs, usualMs, isStill: last.endedAtUs === undefined };
  }
  if (last?.status === 'failed') {
    return { what: 'failed', atUs: last.endedAtUs!, message: (await history.endOf(last))?.message ?? '' };
  }
  if (last) return { what: 'ended', status: last.status, atUs: last.endedAtUs! };
  if (status !== 'active') {
    const off = await history.switchedOff();
    const seen = { status, atUs: statusSinceUs, by: '', isOlder: hasFirstStatus && off === undefined };
    const inactive = { ...seen, ...off };
    if (inactive.atUs <= instantUs) return { what: 'inactive', ...inactive };
  }
  const early = flights.findLast(
    ({ startedAtUs: us, endedAtUs = Infinity }) => us > 0 && us < fromUs && endedAtUs > fromUs,
  );
  if (early) {
    const { startedAtUs, status: ending, endedAtUs } = early;
    const hasEnded = endedAtUs !== undefined && endedAtUs <= instantUs;
    const end = hasEnded && { end: { status: ending, atUs: endedAtUs } };
    return { what: 'too_early', atUs: startedAtUs, ...end };
  }
  // How long before such a deadline the first Flight that counts started.
  const leads = before.flatMap((one) => {
    const first = flights.find(({ startedAtUs }) => startedAtUs >= one.fromUs && startedAtUs <= one.atUs);
    return first ? [one.atUs - first.startedAtUs] : [];
  });
  const leadUs = middle(leads, 1);
  return { what: 'not_started', usuallyAtUs: leadUs === null ? null : atUs - leadUs };
}

/** Whether what stands so before a deadline would miss it as fast and as late as usual. */
async function wouldMiss(how: Missed['how'], due: Due, nowUs: number, history: History): Promise<boolean> {
  const [now] = outcomesOf([due], await history.flightsSince(due.fromUs));
  if (now!.outcome !== 'missed') return false;
  if (how.what !== 'in_air' && how.what !== 'not_started') return true;
  const durations = await history.durations();
  const usualUs = middle(durations, 1);
  const startUs = how.what === 'in_air' ? how.atUs : how.usuallyAtUs;
  // One that should have started, or has flown for longer than any before, does not go as usual.
  if (startUs === null || usualUs === null || (how.what === 'not_started' && startUs < nowUs)) return true;
  const longestUs = durations.reduce((longest, us) => Math.max(longest, us), 0);
  return nowUs - startUs > longestUs || startUs + usualUs > due.atUs;
}

/** The median in another unit; null of too few. */
function middle(values: readonly number[], unit: number): number | null {
  if (values.length < ENOUGH) return null;
  return values.toSorted((a, b) => a - b)[values.length >> 1]! / unit;
}

function annotationsOf(fact: Missed, context: Context<OverdueRule>): Labels {
  const { place, deadlineUs, readAtUs, outcome, wasUnread, how } = fact;
  const { timezone: zone } = context.rule;
  const when = clockIn(zone, readAtUs);
  const deadline = `${when(deadlineUs)} (${zonePlace(zone)})`;
  const about = (what: string) => `${birdName(place)} ${what} ${when(deadlineUs)} ${whereabouts(place)}`;
  if (outcome === 'late') return annotate(context, about('landed after'), '');
  const state = sentenceOf(how, when);
  if (outcome === 'near') {
    const said = annotate(context, about('may not land by'), `Not landed yet, due by ${deadline}. ${state}`);
    return { due_by: deadline, ...said };
  }
  const missed = `Not landed by ${deadline}. ${state}`;
  const reason = wasUnread ? `, ${regionName(place.region)} could not be read before` : '';
  const judged = ` (Judged at ${when(readAtUs)}${reason}.)`;
  const isToldLate = readAtUs - deadlineUs >= TOLD_LATE_US;
  return annotate(context, about('has not landed by'), isToldLate ? missed + judged : missed);
}

/** `landed at 07:24, 24 min late` */
function landedWords(atUs: number, deadlineUs: number, zone: string): string {
  const late = durationWords((atUs - deadlineUs) / 1000, 'two units');
  return `landed at ${clockIn(zone, atUs)(atUs)}, ${atUs > deadlineUs ? `${late} late` : 'in time'}`;
}

function sentenceOf(how: Missed['how'], when: (us: number) => string): string {
  const at = (us: number) =>
    when(us)
      .replace(/^\d\d:/, 'at $&')
      .replace(/^\d+ /, 'on $&');
  switch (how.what) {
    case 'failed': {
      const reason = reasonOf(how.message);
      return `It failed ${at(how.atUs)}${reason === '' ? '.' : `: ${reason}`}`;
    }
    case 'ended':
      return `It was ${how.status} ${at(how.atUs)}.`;
    case 'in_air':
      return `It ${how.isStill ? 'is' : 'was'} in the air${how.atUs > 0 ? ` since ${when(how.atUs)}` : ''}${how.usualMs === null ? '' : `; it usually takes ${durationWords(how.usualMs, 'rounded')}`}.`;
    case 'inactive':
      if (how.isOlder) return `It was ${how.status}, at least since ${when(how.atUs)}.`;
      return `It was ${how.status} ${at(how.atUs)}${how.by === '' ? '' : `, by ${how.by}`}.`;
    case 'too_early': {
      const { end } = how;
      const verb = { succeeded: 'landed', failed: 'failed' }[end?.status ?? ''] ?? `was ${end?.status}`;
      const then = end ? `${verb} ${at(end.atUs)}` : 'was in the air';
      return `Its Flight started ${at(how.atUs)}, too early to count, and ${then}.`;
    }
    case 'not_started':
      return `It did not start${how.usuallyAtUs === null ? '' : `; it usually starts ${at(how.usuallyAtUs)}`}.`;
    case 'landed':
      return `It landed ${at(how.atUs)}.`;
  }
}

/** What is wrong with `landed_by`. Anything but a text is refused by its type. */
function cronMistake(cron: unknown): string | undefined {
  if (cron === undefined) {
    return 'is missing: a cron expression whose matches are deadlines, such as "0 7 * * 1-5"';
  }
  if (typeof cron !== 'string') return undefined;
  const problem = cronProblem(cron, 'UTC');
  if (problem !== undefined) return `is no cron expression: ${problem}`;
  const search = createCron(cron, 'UTC');
  const firstUs = search.next(0, Number.MAX_SAFE_INTEGER);
  let atUs = firstUs;
  for (let count = 0; atUs !== undefined && firstUs !== undefined; count += 1) {
    if (count === MOST_A_DAY) return `has more than ${MOST_A_DAY} deadlines a day`;
    atUs = search.next(atUs + 1, firstUs + DAY_US);
  }
  return undefined;
}
