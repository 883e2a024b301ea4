/** What a report of a month holds, and how its figures are written: the same on the page, in mails and as CSV. */
import { durationWords } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Period } from '../../time/zone-format.ts';
import type { Labels } from '../alert/alert.ts';
import { flightFailed } from '../kinds/failures/flight-failed.ts';
import { isMoment, kindOf } from '../kinds/kinds.ts';
import { objectiveBurning } from '../kinds/objectives/objective-burning.ts';
import { type Matcher, matchesAll } from '../matchers/matcher.ts';
import { successRatio } from '../statistics/flight-statistics.ts';
import { allowedFailures } from '../statistics/objective.ts';
import { type Episode, isRecovery, spanUs } from './digest.ts';

/** What figures are about: a Nest or Bird, by its labels, or else a text. */
export interface ReportRow {
  readonly labels?: Labels;
  readonly text?: string;
  /** Counts, shares from 0 to 1, and durations in microseconds; not finite, or undefined, if unknown. */
  readonly figures: Readonly<Record<string, number | undefined>>;
}

export type ReportTables = Readonly<Record<string, readonly ReportRow[]>>;

/** A report that is sent instead of a digest, by the schedule of one. */
export interface SentReport {
  readonly name: string;
  readonly fromUs: number;
  readonly toUs: number;
  readonly report: {
    /** As `2026-11`. */
    readonly month: string;
    /** The Nest that it is about; empty for all. */
    readonly nest: Labels;
    readonly tables: ReportTables;
    /** Alerts and deadlines are known since then, if that is after the month's begin. */
    readonly alertsUs?: number;
    /** It goes to people who see nothing else of nestwatch, so nothing in it leads there. */
    readonly isForOthers?: true;
  };
}

const SHARES = new Set(['success', 'success_the_month_before']);
const DURATIONS = /time$|time_|^watch_|_for$/;
const MESSAGE_LENGTH = 300;
/** Tables with texts of errors, or names of people. */
const NOT_COUNTS = new Set(['causes', 'acknowledged_by']);

/** How an alert ended, as a clause. */
export const ENDING_WORDS: ReadonlyMap<string, string> = new Map([
  ['over', 'its end was observed'],
  ['quiet', 'nothing new was reported'],
  ['superseded', 'it became worse, which another alert reports'],
  ['moved', 'it continues under other labels or another route'],
  ['gone', 'its subject is no longer watched'],
  ['by_hand', 'resolved by hand'],
]);

/** Only the names. */
export function withoutIds(labels: Labels): Labels {
  const named = Object.entries(labels).filter(([name]) => ['region', 'nest', 'bird'].includes(name));
  return Object.fromEntries(named);
}

/** Only what an agency may show its customers: no errors, no names of people, no ids. */
export function countsOnly(tables: ReportTables): ReportTables {
  const kept = Object.entries(tables).filter(([name]) => !NOT_COUNTS.has(name));
  const bare = (row: ReportRow): ReportRow => (row.labels ? { ...row, labels: withoutIds(row.labels) } : row);
  return Object.fromEntries(kept.map(([name, rows]) => [name, rows.map(bare)]));
}

/** `November 2026` of `2026-11` */
export function monthName(name: string): string {
  return new Date(name).toLocaleString('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
}

/** Said if that is after the month's begin. */
export function alertsSince(instant: string): string {
  return `Alerts and deadlines are kept from ${instant} on.`;
}

/** Names of tables, figures and parts are words. */
export function figureName(name: string): string {
  return name
    .replaceAll('_', ' ')
    .replaceAll(/^\w|\b(?=nest|bird|flight)\w/g, (letter) => letter.toUpperCase());
}

/** A figure for people; empty if it is not known. A share that succeeded is never 100 % if one failed. */
export function figureText(name: string, value = Number.NaN): string {
  if (!Number.isFinite(value)) return '';
  if (name === 'success_difference') {
    const points = Math.round(value * 1000) / 10;
    return `${points > 0 ? '+' : ''}${points} points`;
  }
  if (name === 'objective') return value === 1 ? 'met' : 'not met';
  if (name === 'target') return `${Number((value * 100).toPrecision(6))} %`;
  if (SHARES.has(name)) return `${Math.floor(value * 1000) / 10} %`;
  return DURATIONS.test(name) ? durationWords(Math.round(value / 1000), 'two units') : String(value);
}

/** Those that are known, for programs: durations in seconds. */
export function wireFigures(figures: ReportRow['figures']): [name: string, value: number][] {
  return Object.entries(figures)
    .filter(([, value]) => Number.isFinite(value))
    .map(([name, value = 0]) => [name, DURATIONS.test(name) ? value / 1e6 : value]);
}

/** A line for each figure (RFC 4180). An apostrophe keeps spreadsheets from computing what begins like a formula. */
export function reportCsv(tables: ReportTables): string {
  const quoted = (text: string) => `"${text.replace(/^(?=[=+\-@])/, "'").replaceAll('"', '""')}"`;
  const lines = Object.entries(tables).flatMap(([table, rows]) =>
    rows.flatMap(({ labels, text, figures }) => {
      const about = [labels?.region, labels?.nest, labels?.bird, text];
      const cells = about.map((one = '') => quoted(plainText(one, MESSAGE_LENGTH)));
      return wireFigures(figures).map(([name, value]) => [table, ...cells, name, value]);
    }),
  );
  return [['table', 'region', 'nest', 'bird', 'about', 'figure', 'value'], ...lines, []].join('\r\n');
}

// Computes what a report of a month says of alerts: how long they fired, what failed and why, and how it ended.

/**
 * `episodes` may begin or end outside the month; what fires ends when the month does, or later. Moments do not count, and
 * alerts about the watch itself only as what impaired it. Durations, in microseconds, are how long at least one of the alerts fired within
 * the month, but a time to recover is how long an alert about failed Flights fired until its end was observed or somebody
 * resolved it; not finite if there was none. The Birds that failed longest come first, and the most frequent causes.
 */
export function alertsOfMonth(episodes: readonly Episode[], month: Period) {
  const within = episodes.filter((one) => one.startsAtUs < month.untilUs && one.endsAtUs >= month.fromUs);
  const served = within.filter((one) => !impairsWatch(one) && !isMoment(one));
  // One about an objective goes on for days after the last failure.
  const isDown = ({ alertname, labels }: Episode) =>
    labels.severity === 'critical' && alertname !== objectiveBurning.name;
  const critical = served.filter(isDown);
  const ended = served.filter(({ endsAtUs }) => endsAtUs < month.untilUs);
  const failures = served.filter(isOfFailures);
  const recovered = ended.filter((one) => isOfFailures(one) && isRecovery(one));
  const lastedUs = recovered.map(({ startsAtUs, endsAtUs }) => endsAtUs - startsAtUs).sort((a, b) => a - b);
  return {
    figures: {
      critical_downtime: spanUs(critical, month),
      watch_impaired: spanUs(within.filter(impairsWatch), month),
      median_time_to_recover:
        ((lastedUs[(lastedUs.length - 1) >> 1] ?? NaN) + (lastedUs[lastedUs.length >> 1] ?? NaN)) / 2,
      longest_time_to_recover: lastedUs.at(-1),
    },
    endings: Map.groupBy(ended, ({ ending }) => ending ?? ''),
    birds: groupsOf(failures, birdOf, month),
    causes: groupsOf(failures, errorOf, month).sort((a, b) => b.figures.times - a.figures.times),
  };
}

export const impairsWatch = ({ alertname }: Episode) => kindOf(alertname)?.impairsWatch === true;
const isOfFailures = ({ alertname }: Episode) => alertname === flightFailed.name;
const errorOf = ({ labels }: Episode) => labels.error ?? '';
const birdOf = ({ labels }: Episode) => `${labels.region} ${labels.bird_id}`;

/** Those failing longest first. */
function groupsOf(episodes: readonly Episode[], keyOf: (one: Episode) => string, month: Period) {
  const groups = [...Map.groupBy(episodes, keyOf).values()].map((all) => ({
    newest: all.reduce((latest, one) => (one.startsAtUs > latest.startsAtUs ? one : latest)),
    figures: { times: all.length, failing_for: spanUs(all, month) },
  }));
  return groups.sort((a, b) => b.figures.failing_for - a.figures.failing_for);
}

// Computes what a report of a month says of objectives: how the Nests and regions met them with the Flights of the month.

export interface ReportedObjective {
  readonly name: string;
  readonly match: readonly Matcher[];
  readonly forEach: 'nest' | 'region';
  /** The share that must succeed, above 0 and below 1. */
  readonly success: number;
  readonly countsDeadlines: boolean;
}

interface Counted {
  readonly labels: Labels;
  readonly succeeded: number;
  readonly failed: number;
  /** Deadlines that were missed. */
  readonly missed: number;
}

/** Those that are not met first, then those with the least left. Nothing is said of what did not fly. */
export function objectiveRows(
  objectives: readonly ReportedObjective[],
  nests: readonly Counted[],
  regions: readonly Counted[],
): ReportRow[] {
  const rows = objectives.flatMap(({ name, match, forEach, success: target, countsDeadlines }) =>
    (forEach === 'nest' ? nests : regions)
      .filter(({ labels }) => matchesAll(match, { nest: '', nest_id: '', ...labels }))
      .flatMap(({ labels, succeeded, failed: failedFlights, missed }) => {
        const failed = failedFlights + (countsDeadlines ? missed : 0);
        const success = successRatio({ succeeded, failed });
        const allowance_left = allowedFailures(target, succeeded + failed) - failed;
        const objective = allowance_left >= 0 ? 1 : 0;
        const figures = { objective, allowance_left, success, target };
        return success === undefined ? [] : [{ labels, text: name, figures }];
      }),
  );
  return rows.sort((a, b) => a.figures.allowance_left - b.figures.allowance_left);
}
