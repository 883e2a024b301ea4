/** Decides which alerts are muted at one instant, and why: by silences, inhibition and a route's time intervals. */

import { wallClock } from '../../time/zone-format.ts';
import { fingerprint, type Labels, labelOf } from '../alert/alert.ts';
import { type Fault, FaultBox } from '../alert/fault.ts';
import { flightFailed } from '../kinds/failures/flight-failed.ts';
import { isPart, sharedCause } from '../kinds/failures/shared-cause.ts';
import { KINDS } from '../kinds/kinds.ts';
import { createMatcher, type Matcher, matchesAll, workOf } from '../matchers/matcher.ts';
import type { Route } from '../routing/route.ts';
import { concerns, isHiding, type Recurrences, type Silence, type Silenceable } from './silence.ts';
import type { SuppressionReason } from './suppression.ts';

export interface Mutes {
  /** The silences that mute it. */
  readonly silencedBy: readonly Silence[];
  /** Fingerprints of the alerts that inhibit it. */
  readonly inhibitedBy: readonly string[];
}

/** Why an alert is muted. */
export interface Mute {
  readonly reason: SuppressionReason;
  /** By whom or what, for people. */
  readonly detail: string;
  /** See `InhibitRule`. */
  readonly standsIn?: boolean;
}

/**
 * Lets other work run after much was done. `work` is measured in instructions of regular expressions, or steps as
 * simple. If it returns a promise, it is awaited.
 */
type GiveWay = (work: number) => Promise<unknown> | undefined;

export interface Muting {
  of(alert: Silenceable, giveWay: GiveWay): Promise<Mutes>;
  /** Adds the labels of one more firing alert: `firing` for alerts that are read later. */
  fires(labels: Labels): void;
  /** The names of the time intervals that mute everything of a route; empty for none. */
  ofRoute(route: Route): readonly string[];
  /** Why the alert is muted on this route; null if it is not. The order of reasons is Alertmanager's. */
  why(alert: Silenceable, route: Route, giveWay: GiveWay): Promise<Mute | null>;
  /** Silences and inhibit rules that have failed so far; they mute nothing. */
  faults(): readonly Fault[];
}

/** Whether a receiver is told of everything of which an alert with these labels tells. */
export type IsTold = (labels: Labels, receiver: string) => boolean;

export interface MutingOptions {
  readonly silences: readonly Silence[];
  readonly inhibitRules: readonly InhibitRule[];
  /**
   * Labels of the alerts that fire now, at least of those that `sourceNames` names. Alerts that are over and fire on
   * because they flap are excluded: nothing is a consequence of them.
   */
  readonly firing: readonly Labels[];
  readonly timeIntervals: TimeIntervals;
  readonly recurrences: Recurrences;
  /** Absent: every one is. */
  readonly isTold?: IsTold;
  readonly nowUs: number;
}

/** The least work of checking an alert, even if nothing mutes it. */
const LEAST_WORK = 50;

export async function createMuting(options: MutingOptions, giveWay: GiveWay): Promise<Muting> {
  const { silences, inhibitRules, firing, timeIntervals, recurrences, isTold = () => true, nowUs } = options;
  const faults = new FaultBox();
  const isHidingNow = (silence: Silence) =>
    faults.guard('silence', silence.id, () => isHiding(silence, nowUs, recurrences), false);
  const hides = (silence: Silence, alert: Silenceable) =>
    faults.guard('silence', silence.id, () => concerns(silence, alert), false);
  const inhibitors = inhibitRules.map((rule, index) => guarded(`inhibit_rules[${index}]`, rule, faults));
  const fires = (labels: Labels) => {
    for (const inhibitor of inhibitors) inhibitor.fires(labels);
  };
  for (const labels of firing) fires(labels);
  const inhibitedBy = (labels: Labels) => inhibitors.flatMap((one) => one.sourceOf(labels) ?? []);
  const byAlert = Map.groupBy(silences.filter(isHidingNow), ({ alertId }) => alertId);
  const leastWork = inhibitRules.reduce((sum, rule) => sum + workOfRule(rule), LEAST_WORK);
  const shares = await inShares(byAlert.get(null) ?? [], giveWay);
  /** The silences that could mute it; those that acknowledge it come last. */
  const sharesFor = ({ id }: Silenceable): readonly Share[] => {
    const own = byAlert.get(id);
    return own ? [...shares, { silences: own, work: own.length }] : shares;
  };
  const byRoute = new Map<Route, readonly string[]>();
  const ofRoute = (route: Route) => {
    const known = byRoute.get(route);
    if (known) return known;
    const names = mutingIntervals(route, timeIntervals, nowUs);
    byRoute.set(route, names);
    return names;
  };

  return {
    async of(alert, giveWay) {
      const sources = inhibitedBy(alert.labels);
      let pause = giveWay(leastWork);
      if (pause) await pause;
      const silencedBy: Silence[] = [];
      for (const { silences, work } of sharesFor(alert)) {
        for (const one of silences) if (hides(one, alert)) silencedBy.push(one);
        pause = giveWay(work);
        if (pause) await pause;
      }
      return { silencedBy, inhibitedBy: sources.map(({ fingerprint }) => fingerprint) };
    },
    fires,
    ofRoute,
    faults: () => faults.all(),
    async why(alert, route, giveWay) {
      const source = inhibitedBy(alert.labels).find(
        ({ standsIn, labels }) => !standsIn || (isPart(alert) && isTold(labels, route.receiver)),
      );
      let pause = giveWay(leastWork);
      if (pause) await pause;
      if (source) {
        const { labels, fingerprint, standsIn } = source;
        return {
          reason: 'inhibited',
          detail: `${standsIn ? 'part of' : 'by'} ${labels.alertname} (${fingerprint})`,
          standsIn,
        };
      }
      const intervals = ofRoute(route);
      if (intervals.length > 0) return { reason: 'time_interval', detail: intervals.join(', ') };
      for (const { silences, work } of sharesFor(alert)) {
        const silence = silences.find((one) => hides(one, alert));
        pause = giveWay(work);
        if (pause) await pause;
        if (!silence) continue;
        const { id, createdBy, comment } = silence;
        return { reason: 'silenced', detail: `by ${createdBy}: ${comment} (${id})` };
      }
      return null;
    },
  };
}

/** Silences that are checked one after another before other work may run. */
interface Share {
  readonly silences: readonly Silence[];
  readonly work: number;
}

/** The most work of a share; a single silence may exceed it. */
const MOST_OF_A_SHARE = 1_000;

/** Compiles their expressions, which takes as long as evaluating them. */
async function inShares(silences: readonly Silence[], giveWay: GiveWay): Promise<Share[]> {
  const shares: Share[] = [];
  let share: { silences: Silence[]; work: number } | undefined;
  for (const silence of silences) {
    const work = workOf(silence.matchers);
    if (!share || share.work + work > MOST_OF_A_SHARE) {
      share = { silences: [], work: 0 };
      shares.push(share);
    }
    share.silences.push(silence);
    share.work += work;
    const pause = giveWay(work);
    if (pause) await pause;
  }
  return shares;
}

/** A rule that failed, and so does not know everything that fires, inhibits nothing. */
function guarded(name: string, rule: InhibitRule, faults: FaultBox): Inhibitor {
  const inhibitor = createInhibitor(rule);
  let isWhole = true;
  return {
    fires(labels) {
      const heard = () => {
        inhibitor.fires(labels);
        return true;
      };
      isWhole &&= faults.guard('inhibit_rule', name, heard, false);
    },
    sourceOf: (labels) =>
      isWhole ? faults.guard('inhibit_rule', name, () => inhibitor.sourceOf(labels), undefined) : undefined,
  };
}

// Inhibition, with Alertmanager's meaning: while a source fires, its targets are muted.

export interface InhibitRule {
  readonly sourceMatchers: readonly Matcher[];
  readonly targetMatchers: readonly Matcher[];
  /** Labels whose values must be equal in source and target; a label that both lack counts as equal. */
  readonly equal: readonly string[];
  /**
   * The source tells of its targets, so it mutes them only for receivers that are told of the source, and neither the
   * end of what was told before nor a summary of what is old.
   */
  readonly standsIn?: true;
}

const SOURCES = KINDS.filter((kind) => kind.inhibitsRegion);
const OTHERS = KINDS.filter((kind) => kind.isOfNoRegion);

const causeOf = (region: '=' | '!=', equal: readonly string[]): InhibitRule => ({
  sourceMatchers: [
    createMatcher('alertname', '=', sharedCause.name),
    createMatcher('region', region, 'all'),
    createMatcher('error', '!=', ''),
  ],
  targetMatchers: [createMatcher('alertname', '=', flightFailed.name)],
  equal,
  standsIn: true,
});

/**
 * While a region cannot be read, its other alerts are a consequence of that. Deliveries belong to no region. While Birds
 * fail with one error, the alert about that stands for theirs.
 */
export const BUILT_IN_INHIBITIONS: readonly InhibitRule[] = [
  {
    sourceMatchers: [createMatcher('alertname', '=~', anyOf(SOURCES))],
    targetMatchers: [createMatcher('alertname', '!~', anyOf([...SOURCES, ...OTHERS]))],
    equal: ['region'],
  },
  causeOf('!=', ['region', 'error']),
  causeOf('=', ['error']),
];

function anyOf(kinds: typeof KINDS): string {
  return kinds.map(({ name }) => name).join('|');
}

/**
 * The alertnames that inhibiting alerts can have, so that only those need to be loaded; null if a rule does not
 * restrict them.
 */
export function sourceNames(rules: readonly InhibitRule[]): string[] | null {
  const names = new Set<string>();
  for (const { sourceMatchers } of rules) {
    const own = sourceMatchers.flatMap(namesOf);
    if (own.length === 0) return null;
    for (const name of own) names.add(name);
  }
  return [...names];
}

/** The names that a matcher lists; none if it is not about the name, or is more than a list. */
function namesOf({ name, op, value }: Matcher): string[] {
  if (name !== 'alertname' || value === '') return [];
  if (op === '=') return [value];
  return op === '=~' && /^[\w|]+$/.test(value) ? value.split('|') : [];
}

/** The work of evaluating a rule for one alert, in the unit of `workOf`. */
export function workOfRule({ sourceMatchers, targetMatchers }: InhibitRule): number {
  return workOf(sourceMatchers) + workOf(targetMatchers);
}

/** An alert that inhibits others. */
interface Source {
  readonly fingerprint: string;
  readonly labels: Labels;
  /** See `InhibitRule`. */
  readonly standsIn: boolean;
}

interface Inhibitor {
  /** Adds the labels of an alert that fires. */
  fires(labels: Labels): void;
  /** The alert that inhibits these labels, the first among the firing ones; undefined for none. */
  sourceOf(labels: Labels): Source | undefined;
}

/** Evaluates one rule against the firing alerts that it is told about. */
export function createInhibitor(rule: InhibitRule): Inhibitor {
  const { sourceMatchers, targetMatchers } = rule;
  /** By the values that must be equal: the first source, and the first that is not also a target. */
  const sources = new Map<string, { readonly first: Labels; noTarget: Labels | undefined }>();
  return {
    fires(labels) {
      if (!matchesAll(sourceMatchers, labels)) return;
      const key = keyOf(rule, labels);
      const known = sources.get(key) ?? { first: labels, noTarget: undefined };
      if (!known.noTarget && !matchesAll(targetMatchers, labels)) known.noTarget = labels;
      sources.set(key, known);
    },
    sourceOf(labels) {
      if (sources.size === 0 || !matchesAll(targetMatchers, labels)) return undefined;
      const known = sources.get(keyOf(rule, labels));
      // Alerts that are both source and target inhibit neither each other nor themselves.
      const source = matchesAll(sourceMatchers, labels) ? known?.noTarget : known?.first;
      return source && { fingerprint: fingerprint(source), labels: source, standsIn: rule.standsIn ?? false };
    },
  };
}

function keyOf({ equal }: InhibitRule, labels: Labels): string {
  return JSON.stringify(equal.map((name) => labelOf(labels, name) ?? ''));
}

// Time intervals, with Alertmanager's meaning: an instant is in an interval if every list of the interval contains
// the corresponding part of its date and time, by the clocks of the interval's location. Seconds do not matter.

/** Both ends are included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A missing list contains everything. */
export interface TimeIntervalSpec {
  /** Minutes of the day from 0 to 1440; the end is exclusive. */
  readonly times?: readonly Span[] | undefined;
  /** 0 for Sunday to 6. */
  readonly weekdays?: readonly Span[] | undefined;
  /** 1 to 31, or -1 for the last day of the month to -31. */
  readonly daysOfMonth?: readonly Span[] | undefined;
  /** 1 for January to 12. */
  readonly months?: readonly Span[] | undefined;
  readonly years?: readonly Span[] | undefined;
  /** An IANA name. */
  readonly location: string;
}

export interface TimeInterval {
  readonly spec: TimeIntervalSpec;
  contains(atUs: number): boolean;
}

/** By name. A name contains an instant if one of its intervals does. */
export type TimeIntervals = ReadonlyMap<string, readonly TimeInterval[]>;

/** Throws a `RangeError` for an unknown location. */
export function createTimeInterval(spec: TimeIntervalSpec): TimeInterval {
  const clock = wallTime(spec.location);
  return {
    spec,
    contains(atUs) {
      const { minute, weekday, day, month, year } = clock(atUs);
      const daysInMonth = new Date(Date.UTC(year, month, 0)).getUTCDate();
      return (
        isIn(spec.times, ({ from, to }) => minute >= from && minute < to) &&
        isIn(spec.daysOfMonth, (span) => isDayIn(span, day, daysInMonth)) &&
        isIn(spec.months, ({ from, to }) => month >= from && month <= to) &&
        isIn(spec.weekdays, ({ from, to }) => weekday >= from && weekday <= to) &&
        isIn(spec.years, ({ from, to }) => year >= from && year <= to)
      );
    },
  };
}

/** Tells whether any of some intervals contains an instant; an unknown name contains nothing. */
export function isWithinAny(intervals: TimeIntervals): (names: readonly string[], atUs: number) => boolean {
  return (names, atUs) => names.some((name) => intervals.get(name)?.some((one) => one.contains(atUs)));
}

/**
 * The names of the intervals that mute a route at an instant: those of its `mute_time_intervals` that contain it, and
 * all of its `active_time_intervals` if none of them contains it. An unknown name contains nothing.
 */
export function mutingIntervals(
  route: Pick<Route, 'muteTimeIntervals' | 'activeTimeIntervals'>,
  intervals: TimeIntervals,
  atUs: number,
): string[] {
  const { muteTimeIntervals = [], activeTimeIntervals = [] } = route;
  const isWithin = isWithinAny(intervals);
  const holds = (name: string) => isWithin([name], atUs);
  const muting = muteTimeIntervals.filter(holds);
  return activeTimeIntervals.length === 0 || activeTimeIntervals.some(holds)
    ? muting
    : [...activeTimeIntervals, ...muting];
}

function isIn(spans: readonly Span[] | undefined, holds: (span: Span) => boolean): boolean {
  return spans === undefined || spans.some(holds);
}

/**
 * Resolves negative days, and days beyond the month's end, by the month's length: a range from the 31st never begins
 * in April.
 */
function isDayIn({ from, to }: Span, day: number, daysInMonth: number): boolean {
  const first = from < 0 ? daysInMonth + from + 1 : from;
  const last = to < 0 ? daysInMonth + to + 1 : to;
  return day >= first && day <= last;
}

interface WallTime {
  /** Minute of the day. */
  readonly minute: number;
  readonly weekday: number;
  readonly day: number;
  readonly month: number;
  readonly year: number;
}

/** What the clocks of a location show. */
function wallTime(location: string): (atUs: number) => WallTime {
  const clock = wallClock(location);
  return (atUs) => {
    const { year, month, day, hour, minute } = clock(Math.floor(atUs / 1000));
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay();
    return { minute: hour * 60 + minute, weekday, day, month, year };
  };
}
