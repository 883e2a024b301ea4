import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { styleText } from 'node:util';
import type { Edge } from '../process-io.ts';
import { exactTime, shortClock } from '../text/instant-words.ts';
import { cap, manyLines, plainText } from '../text/plain-text.ts';
import { parseInstant } from '../time/instant.ts';
import { localTimezone } from '../time/zone-format.ts';

/** Even a text that names many is shown whole: each recipient of a mail, with a reason. */
const MAX_TEXT = 10_000;
const MAX_LINES = 1_000_000;

/** Makes text safe for the terminal. The daemon may quote the service, so the text may contain control sequences. */
export function shown(text: string): string {
  return plainText(text, MAX_TEXT);
}

/** `2026-07-02 13:59:34 UTC`; a dash if there is none. */
export function shownTime(text: string | null | undefined): string {
  return writtenAt(text, exactTime) || '-';
}

/** Each id on a line of its own, to be piped. */
export function linesOfIds(ids: readonly string[]): string {
  return ids.map((id) => `${shown(id)}\n`).join('');
}

/** For `--json`: the exact text, but with characters that could control the terminal as equivalent JSON escapes. */
export function jsonText(json: unknown): string {
  return `${JSON.stringify(json, null, 2).replace(STEERING, escaped)}\n`;
}

/** Control characters that JSON does not escape, and marks that change the writing direction. */
const STEERING = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Several lines that may quote file names or contents. */
export function shownLines(text: string): string {
  return manyLines(text, MAX_LINES);
}

/** Text that is safe to show, or an instant in RFC 3339, absent for none. */
type Cell = string | { readonly at: string | null | undefined };

/** The title of each column, and its cell for a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** How tables are laid out: for a terminal, or whole and in UTC for a pipe. */
export interface Layout {
  /** Characters in a line; undefined for any number. */
  readonly width?: number | undefined;
  readonly isColoured: boolean;
  /** Writes an instant, in microseconds. */
  readonly clock: (us: number) => string;
}

const PIPE: Layout = { isColoured: false, clock: exactTime };

/** The layout for a command's standard output. `--utc` is for terminals; in a pipe, instants are always in UTC. */
export function layoutOf({ stdout, environment }: Edge, { utc }: { readonly utc?: boolean }): Layout {
  if (stdout.isTTY !== true) return PIPE;
  const zone = (utc ? undefined : localTimezone()) ?? 'UTC';
  return { width: stdout.columns, isColoured: !environment.NO_COLOR, clock: shortClock(zone) };
}

/** Where the text of a fact begins: `status     active`. */
const FACT_AT = 11;

/** Facts, a line each. On a terminal a long one goes on below its text, broken between words. */
export function factText(edge: Edge, lines: readonly string[]): string {
  const indentOf = (line: string) => (line.slice(FACT_AT - 2, FACT_AT) === '  ' ? FACT_AT : 4);
  return lines.map((line) => `${wrapped(line, widthOf(edge), indentOf(line))}\n`).join('');
}

/** The characters in a line of the terminal, or any number in a pipe. */
export function widthOf({ stdout }: Edge): number {
  return (stdout.isTTY === true && stdout.columns) || Number.POSITIVE_INFINITY;
}

/** Breaks a line that is too long between words; what follows is indented by so many spaces. */
export function wrapped(line: string, width: number, indentBy: number): string {
  if (widthOfText(line) <= width) return line;
  const indent = ' '.repeat(indentBy);
  const [first = '', ...words] = line.split(/(?<=\S) (?=\S)/);
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (widthOfText(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(indent + word);
  }
  return lines.join('\n');
}

/** How many characters of a terminal a text takes: an ideograph or an emoji takes two. */
function widthOfText(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  // Node measures its own prompt.
  return createInterface({ input: new PassThrough(), prompt: text }).getCursorPos().cols;
}

/** The text cut at this width and filled up to it. */
function fitted(text: string, width: number): string {
  let cut = text;
  for (let most = width; widthOfText(cut) > width; most -= 1) cut = cap(text, most);
  return cut + ' '.repeat(width - widthOfText(cut));
}

/** The colour of a cell that is one of these words. */
const COLOURS = new Map(
  Object.entries({
    red: ['critical', 'failed', 'failing', 'dead', 'down'],
    yellow: ['warning', 'retry', 'ambiguous', 'off', 'degraded'],
    green: ['succeeded', 'delivered', 'up', 'well', 'resolved'],
    gray: ['info', 'cancelled', 'suppressed'],
  } as const).flatMap(([colour, words]) => words.map((word) => [word as string, colour as Colour])),
);
type Colour = 'red' | 'yellow' | 'green' | 'gray';

/** Columns of names and sentences are shortened to this at least. */
const LEAST_WIDTH = 20;
const LONGEST_ID = 120;
const GAP = '  ';

/**
 * Formats rows as columns. Where a line would be too long for the terminal, the columns named in `least` are left out, one
 * after the other, until names and sentences can be shortened enough. `none` stands for an empty text.
 */
export function table<Row>(
  columns: Columns<Row>,
  rows: readonly Row[],
  { width = Number.POSITIVE_INFINITY, isColoured, clock }: Layout,
  { none = '-', least = [] }: { readonly none?: string; readonly least?: readonly string[] } = {},
): string {
  let shown = Object.entries(columns).map(([title, cellOf]) =>
    columnOf(title, rows.map(cellOf), clock, none),
  );
  const lineWidth = (of: (one: Column) => number) =>
    shown.reduce((sum, one) => sum + of(one) + GAP.length, -GAP.length);
  for (const title of least) {
    if (lineWidth((one) => one.leastWidth) <= width) break;
    shown = shown.filter((one) => one.title !== title);
  }
  for (let over = lineWidth((one) => one.width) - width; over > 0; over -= 1) {
    const widest = shown.reduce((most, one) => (spare(one) > spare(most) ? one : most));
    if (spare(widest) === 0) break;
    widest.width -= 1;
  }
  const lines = [
    shown.map(({ title }) => title),
    ...rows.map((_, row) => shown.map((one) => one.cells[row]!)),
  ];
  const text = lines.map((line) =>
    line
      .map((cell, at) => {
        const padded = fitted(cell, shown[at]!.width);
        const colour = isColoured ? COLOURS.get(cell) : undefined;
        return colour === undefined ? padded : styleText(colour, padded, { validateStream: false });
      })
      .join(GAP)
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}

interface Column {
  readonly title: string;
  readonly cells: readonly string[];
  readonly leastWidth: number;
  width: number;
}

function columnOf(title: string, cells: readonly Cell[], clock: Layout['clock'], none: string): Column {
  const texts = cells.map((cell) => (typeof cell === 'string' ? cell : writtenAt(cell.at, clock)) || none);
  const width = Math.max(title.length, ...texts.map(widthOfText));
  // Ids and instants are of no use in part. Other scripts may write sentences without spaces.
  const isProse = cells.some((cell) => typeof cell === 'string' && /[^!-~]/.test(cell));
  const leastWidth = Math.min(width, isProse ? Math.max(LEAST_WIDTH, title.length) : LONGEST_ID);
  return { title, cells: texts, width, leastWidth };
}

const spare = ({ width, leastWidth }: Column) => width - leastWidth;

function writtenAt(text: string | null | undefined, clock: Layout['clock']): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? clock(at.us) : '';
}
