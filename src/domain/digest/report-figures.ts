/** What a report of a month holds, and how its figures are written: the same on the page, in mails and as CSV. */
import { durationWords } from '../../text/duration-words.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Labels } from '../alert/alert.ts';

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
    /** It goes to people who see nothing else of nestwatch, so nothing in it leads there. */
    readonly isForOthers?: true;
  };
}

const SHARES = new Set(['success', 'success_the_month_before']);
const DURATIONS = /time$|time_|^watch_|_for$/;
const MESSAGE_LENGTH = 300;
/** Tables with texts of errors, or names of people. */
const NOT_COUNTS = new Set(['causes', 'acknowledged_by']);

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
