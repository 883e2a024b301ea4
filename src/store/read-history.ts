/**
 * Reads what several repositories together know of Birds, within one transaction: for the kinds that judge it their past,
 * each part only if one asks for it, and how they are now; for messages the context of alerts; for digests and pages their
 * deadlines and what is unusual about their Flights.
 */

import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { type Alert, hash64 } from '../domain/alert/alert.ts';
import { signature } from '../domain/alert/error-signature.ts';
import { type Event, wireText } from '../domain/alert/event.ts';
import type { Novelty } from '../domain/alert/fact.ts';
import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { LOST, MOST_FLIGHTS, noveltyOf, type Past, type SeenError } from '../domain/context/findings.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { SWITCHES, switchedOffBy } from '../domain/kinds/bird-deactivated.ts';
import { MOST_LISTED } from '../domain/kinds/failures/shared-cause.ts';
import { flightOverdue } from '../domain/kinds/flight-overdue.ts';
import { findSlow, flightSlow, slowWords } from '../domain/kinds/flight-slow.ts';
import { countFlights, flightsUnusual, unusualWords } from '../domain/kinds/flights-unusual.ts';
import type { ListedBird } from '../domain/kinds/inventory/compare-birds.ts';
import type { BirdToJudge, History } from '../domain/kinds/judge.ts';
import { defaultRule, KINDS } from '../domain/kinds/kinds.ts';
import { isWithinAny, type TimeIntervals } from '../domain/muting/muting.ts';
import {
  countOutcomes,
  type Deadline,
  matchesOf,
  outcomesOf,
  scheduleOf,
} from '../domain/statistics/deadlines.ts';
import { type Period, periodsOf } from '../time/zone-format.ts';
import type { UnjudgedBirds } from './sql/alerted/digests.ts';
import type { Store, Transaction } from './store.ts';

export interface HistoryOptions {
  /** When the last reading of a Bird's Flights since the start of the process began; undefined if there was none. */
  readonly flightsReadUs: (region: string, birdId: string) => number | undefined;
  readonly timeIntervals: TimeIntervals;
  /** How long before it was first watched a region's Flights are known, and those of a Bird before its events are news. */
  readonly lookbackMs: number;
  /** Whether logs of Flights are read for kinds that want them. */
  readonly areLogsRead?: boolean;
}

const DAY_US = 86_400_000_000;

/** Flights whose durations show what is usual. */
const LAST_FLIGHTS = 500;

const NO_GAPS = { count: 0, longestUs: 0, spanUs: 0 };

/** Alerts of these kinds say that Flights of a region may be missing; late ones are read in the end. */
const BLIND = KINDS.filter(({ name, inhibitsRegion }) => inhibitsRegion || name === 'FeedIncomplete');

/** A Flight has no `newsSinceUs`. */
type Subject = Pick<BirdToJudge, 'place' | 'stream'> & Partial<Pick<BirdToJudge, 'newsSinceUs'>>;

/** Returns the past of one after another; that of a Bird is read once for all its Flights. */
export function createHistories(
  tx: Transaction,
  { flightsReadUs, timeIntervals, lookbackMs, areLogsRead = false }: HistoryOptions,
) {
  const once = readingOnce();
  return ({ place: { region, birdId }, stream, ...subject }: Subject): History => {
    const ofFlights = async <T>(before: T, read: (stream: number) => Promise<T>) =>
      stream === undefined ? before : read(stream);
    return {
      readAtUs: flightsReadUs(region, birdId) ?? 0,
      areLogsRead,
      async knownFromUs() {
        const sinceUs = await once(`known ${region}`, () => tx.inventory.knownSince(region));
        if (sinceUs === undefined) return undefined;
        return Math.max(sinceUs, subject.newsSinceUs ?? 0) - lookbackMs * 1000;
      },
      flightsSince: (us) => ofFlights([], (of) => tx.flights.since(of, us)),
      endOf: ({ flightId, status }) => tx.events.find(`${region}/flight/${flightId}/${status}`),
      switchedOff: async () => switchedOffBy(await tx.birds.lastOfTypes(region, birdId, SWITCHES)),
      isWithin: isWithinAny(timeIntervals),
      durations: () => ofFlights([], (of) => once(`durations ${of}`, () => durationsOf(tx, of))),
      landed: (most) => ofFlights([], (of) => tx.flights.landed(of, most)),
      starts: (fromUs, untilUs) => ofFlights(0, (of) => tx.flights.countStarts(of, fromUs, untilUs)),
      firstStartUs: () => ofFlights(undefined, (of) => tx.flights.firstStart(of)),
      blindSpans(sinceUs) {
        // To the day, so that the Birds of a region share it.
        const dayUs = sinceUs - (sinceUs % DAY_US);
        return once(`blind ${region} ${dayUs}`, () => readBlindSpans(tx, region, dayUs));
      },
      gaps: () => ofFlights(NO_GAPS, (of) => once(`gaps ${of}`, () => tx.flights.gaps(of))),
    };
  };
}

async function durationsOf(tx: Transaction, stream: number): Promise<readonly number[]> {
  return (await tx.flights.landed(stream, LAST_FLIGHTS)).map((one) => one.endedAtUs - one.startedAtUs);
}

/** When the region could not be read since that instant, at least in part. */
export async function readBlindSpans(tx: Transaction, region: string, sinceUs: number): Promise<Period[]> {
  const firing = (await tx.alerts.ofScopes([region])).filter(
    ({ state, alertname }) => state === 'firing' && BLIND.some(({ name }) => name === alertname),
  );
  const spans = firing.map(({ startsAtUs: fromUs }) => ({ fromUs, untilUs: Number.POSITIVE_INFINITY }));
  for (const { name } of BLIND) {
    for (const { startsAtUs, endsAtUs } of await tx.alerts.episodesSince(name, region, sinceUs)) {
      spans.push({ fromUs: startsAtUs, untilUs: endsAtUs });
    }
  }
  return spans;
}

/** The Birds of a region that the service has and nestwatch watches. */
export async function readListedBirds(
  { inventory }: Pick<Transaction, 'inventory'>,
  region: string,
): Promise<ListedBird[]> {
  const nests = new Map((await inventory.nests(region)).map(({ nestId, name }) => [nestId, name]));
  return (await inventory.birds(region))
    .filter(({ present }) => present)
    .map(({ nestId, birdId: id, name, status, triggerType, isPublished }) => ({
      ...{ region, nest: wireText(nests.get(nestId) || nestId), bird: wireText(name || id), id },
      ...{ status: status || undefined, trigger: triggerType || undefined },
      // Unknown until the first reading after an update; then the status tells as much.
      ...{ published: isPublished ?? (status === '' ? undefined : status !== 'unpublished'), nestId },
    }));
}

/** Returns a function that reads each thing once, by its name, however many ask for it. */
function readingOnce() {
  const read = new Map<string, Promise<unknown>>();
  return <T>(name: string, reading: () => Promise<T>): Promise<T> => {
    const found = (read.get(name) as Promise<T> | undefined) ?? reading();
    read.set(name, found);
    return found;
  };
}

// Reads what the context of alerts is made from (`domain/context`), and how new the errors of failures are.

/** Changes of a Bird that are counted. */
const MOST_CHANGES = 50;
/** Lost connections of a region that are looked at. */
const MOST_LOST = 50;

/** What several alerts of one message share is read once. */
export function readPast(tx: Transaction): Past {
  const once = readingOnce();
  const eventAt = async ({ id }: Alert, seq: number) =>
    (await tx.alerts.events(id, seq - 1, 1, seq))[0]?.event;
  return {
    firstEvent: (alert) => eventAt(alert, alert.lastSeq - alert.eventsTotal + 1),
    lastEvent: (alert) => eventAt(alert, alert.lastSeq),
    changes: (region, birdId, fromUs, untilUs) =>
      tx.birds.changes(region, birdId, fromUs, untilUs, MOST_CHANGES),
    ends: (region, birdId) => tx.flights.ends(region, birdId, MOST_FLIGHTS),
    async watchedSinceUs(region, birdId) {
      const joinedUs = (await tx.overdue.bird(region, birdId))?.joinedUs ?? 0;
      return Math.max(joinedUs, (await tx.inventory.knownSince(region)) ?? 0);
    },
    failing: (region, error) =>
      once(`error ${region} ${error}`, async () => {
        const regions = region === 'all' ? await tx.alerts.regions() : [region];
        return tx.alerts.failingWith(regions, error, MOST_LISTED);
      }),
    lostConnections: (region) =>
      once(`connections ${region}`, () => tx.alerts.ofKind(LOST.alertname, LOST.severity, region, MOST_LOST)),
  };
}

/**
 * Notes the errors of failed Flights of a region. Returns how new each error was before these and before all that were
 * noted; failures about which nothing can be said are absent.
 */
export async function noteErrors(
  tx: Transaction,
  region: string,
  events: readonly Event[],
  backAfterMs: number,
): Promise<ReadonlyMap<Event, Novelty>> {
  const failures = events
    .flatMap((event) => {
      const error = event.type === 'flight.failed' ? signature(event.message) : '';
      if (error === '') return [];
      const flightId = String(event.attributes.flight_id ?? '');
      return [{ event, hash: hash64([error]), atUs: event.occurredAtUs, flightId, birdId: event.birdId }];
    })
    .sort((a, b) => a.atUs - b.atUs);
  if (failures.length === 0) return new Map();
  const known = await tx.errors.note(region, failures);
  const isAnyNew = failures.some(({ hash }) => !known.has(hash));
  const remembered = await tx.errors.remembered(region, isAnyNew);
  const found = new Map<Event, Novelty>();
  const seen = new Map<string, SeenError>(known);
  for (const { event, hash, atUs, flightId, birdId } of failures) {
    const before = seen.get(hash);
    const novelty = remembered && noveltyOf({ region, atUs }, before, remembered, backAfterMs);
    if (novelty) found.set(event, novelty);
    if (atUs >= (before?.lastUs ?? 0)) {
      seen.set(hash, { lastUs: atUs, flightId, bird: event.bird || `Bird ${birdId}` });
    }
  }
  return found;
}

/** What determines which deadlines a Bird has, and since when its Flights are known. */
export interface DeadlineConfig {
  readonly rules: readonly Rule[];
  readonly timeIntervals: TimeIntervals;
  readonly poll: { readonly initialLookbackMs: number };
  readonly store: { readonly retentionMs: number };
}

/** The deadlines of one rule for one Bird, as rule and Flights are now. */
interface RuleDeadlines {
  /** The rule's id. */
  readonly rule: string;
  readonly zone: string;
  /** The next one that will be judged; undefined if it is far away. */
  readonly nextUs: number | undefined;
  /** The last ones that were judged, oldest first. */
  readonly last: readonly Deadline[];
  /** While none was: the one of these days that is not judged, since the Bird is watched only since an instant. */
  readonly notJudged: { readonly atUs: number; readonly sinceUs: number } | undefined;
}

interface DeadlineSpan {
  readonly afterUs: number;
  readonly most: number;
  /** Matches of each rule by its id, where they are known. */
  readonly matches?: ReadonlyMap<string, readonly number[]>;
}

/** Loads the deadlines after `afterUs` of every rule that fits a Bird, at most `most` of each. */
export async function loadDeadlines(
  tx: Transaction,
  bird: BirdToJudge,
  config: DeadlineConfig,
  { afterUs, most, matches }: DeadlineSpan,
  nowUs: number,
): Promise<RuleDeadlines[]> {
  const rules = rulesFor(flightOverdue, placeLabels(bird.place), config.rules);
  const { timeIntervals, poll, store } = config;
  const options = { timeIntervals, flightsReadUs: () => nowUs, lookbackMs: poll.initialLookbackMs };
  const history = createHistories(tx, options)(bird);
  const knownFromUs = rules.length === 0 ? undefined : await history.knownFromUs();
  if (knownFromUs === undefined) return [];
  // Of what is older, Flights may never have been read, or are already deleted.
  const knownUs = Math.max(knownFromUs, nowUs - store.retentionMs * 1000);
  const found: RuleDeadlines[] = [];
  for (const rule of rules) {
    const schedule = scheduleOf(rule, history.isWithin);
    const due = schedule
      .between(Math.max(afterUs, knownUs, bird.joinedUs), bird.deadlineUs, most, matches?.get(rule.id))
      .filter(({ fromUs }) => fromUs >= knownUs);
    const flights = due[0] ? await history.flightsSince(due[0].fromUs) : [];
    const followingUs = due.at(-1) && schedule.after(due.at(-1)!.atUs)?.atUs;
    const { id, timezone: zone, withinMs = 0 } = rule;
    const next = schedule.after(Math.max(nowUs, knownUs + withinMs * 1000 - 1));
    const judged = next && next.fromUs < knownUs ? schedule.after(next.atUs) : next;
    const near = due[0] ? [] : [schedule.after(nowUs), ...schedule.between(nowUs - DAY_US, nowUs, 1)];
    const tooEarly = near.find((one) => one && (one.fromUs < knownFromUs || one.atUs <= bird.joinedUs));
    const sinceUs = Math.max(bird.joinedUs, knownFromUs + poll.initialLookbackMs * 1000);
    found.push({
      ...{ rule: id, zone, nextUs: judged?.atUs, last: outcomesOf(due, flights, followingUs) },
      notJudged: tooEarly && { atUs: tooEarly.atUs, sinceUs },
    });
  }
  return found;
}

/** Birds that are counted, and deadlines of each by a rule: those of a month with one each two minutes. */
const MOST_COUNTED = { birds: 2_000, ofEach: 23_000 };

/** How long before a period deadlines are counted that were judged only in it: more than a week for weekly ones. */
const UNJUDGED_US = 8 * DAY_US;

/**
 * How each Bird met its deadlines in [fromUs, untilUs), as far as they are judged and its Flights are still known now. Each
 * is read in its own transaction. Returns also which Birds have deadlines in it that are not judged yet; those of the
 * period before are given as `before`, and counted as far as they are judged now.
 */
export async function countDeadlines(
  store: Store,
  config: DeadlineConfig,
  { fromUs, untilUs }: Period,
  nowUs: number,
  before: UnjudgedBirds = {},
) {
  if (!config.rules.some(({ kind }) => kind === flightOverdue.name)) return { counted: [], unjudged: {} };
  const counted = [];
  const unjudged = new Map<string, number>();
  const judgedBefore = new Map(Object.entries(before));
  const earliestUs = fromUs - UNJUDGED_US;
  const leastUs = judgedBefore.values().reduce((least, us) => Math.min(least, us), fromUs - 1);
  const whole = { fromUs: Math.max(leastUs, earliestUs) + 1, untilUs };
  const birds = await store.transaction((tx) =>
    tx.overdue.birdsWithDeadlines(earliestUs, MOST_COUNTED.birds),
  );
  const isWithin = isWithinAny(config.timeIntervals);
  // The same for all Birds of a rule: those of a month may take over a second.
  const matches = new Map<string, readonly number[]>();
  for (const bird of birds) {
    const key = `${bird.place.region} ${bird.place.birdId}`;
    for (const rule of rulesFor(flightOverdue, placeLabels(bird.place), config.rules)) {
      if (!matches.has(rule.id)) matches.set(rule.id, await matchesOf(rule, whole, turnOfEventLoop));
      const isUnjudged = (us: number) => us > bird.deadlineUs && !isWithin(rule.except, us);
      if (matches.get(rule.id)!.some(isUnjudged)) unjudged.set(key, bird.deadlineUs);
    }
    const until = { ...bird, deadlineUs: Math.min(bird.deadlineUs, untilUs - 1) };
    const span = { afterUs: judgedBefore.get(key) ?? fromUs - 1, most: MOST_COUNTED.ofEach, matches };
    if (until.deadlineUs <= span.afterUs) continue;
    const each = await store.transaction((tx) => loadDeadlines(tx, until, config, span, nowUs));
    const outcomes = countOutcomes(each.flatMap(({ last }) => last));
    if (outcomes.met + outcomes.late + outcomes.missed > 0) counted.push({ place: bird.place, ...outcomes });
  }
  return { counted, unjudged: Object.fromEntries(unjudged) };
}

// Says of a Bird what is unusual about its Flights, by the rule that asks for it or, without one, by the defaults.

export interface UnusualSetting {
  readonly rules: readonly Rule[];
  readonly timeIntervals: TimeIntervals;
  /** Of days that no rule asks for. */
  readonly timezone: string;
}

interface UnusualFlights {
  /** `unjudged`: whether there were too few is not known. */
  readonly sort: 'slow' | 'fewer' | 'more' | 'unjudged';
  /** Sentences for people. */
  readonly text: string;
}

/** A week of days, or a day of hours. */
const MOST_PERIODS = 25;

/** What is unusual about Flights that landed after `fromUs`, and about periods that ended after it. */
export async function unusualFlights(
  tx: Transaction,
  { region, birdId }: { readonly region: string; readonly birdId: string },
  { rules, timeIntervals, timezone }: UnusualSetting,
  fromUs: number,
  nowUs: number,
): Promise<UnusualFlights[]> {
  const bird = await tx.overdue.bird(region, birdId);
  if (!bird) return [];
  const history = createHistories(tx, { timeIntervals, flightsReadUs: () => nowUs, lookbackMs: 0 })(bird);
  const labels = placeLabels(bird.place);
  const found: UnusualFlights[] = [];
  const slow = await findSlow(history, rulesFor(flightSlow, labels, rules)[0] ?? defaultRule('FlightSlow'));
  if (slow && slow.landedAtUs > fromUs && bird.status === 'active') {
    found.push({ sort: 'slow', text: slowWords(slow) });
  }
  const rule = rulesFor(flightsUnusual, labels, rules)[0] ?? { ...defaultRule('FlightsUnusual'), timezone };
  const periods = periodsOf(rule.per, rule.timezone);
  let period = periods.at(nowUs);
  for (let count = 0; count < MOST_PERIODS && period.untilUs > fromUs; count += 1) {
    const counted = await countFlights(bird, history, rule, period, count > 0);
    const { verdict } = counted;
    if (verdict === 'fewer' || verdict === 'more' || verdict === 'blind') {
      const text = unusualWords(counted, rule, region);
      found.push({ sort: verdict === 'blind' ? 'unjudged' : verdict, text });
    }
    period = periods.at(period.fromUs - 1);
  }
  return found;
}
