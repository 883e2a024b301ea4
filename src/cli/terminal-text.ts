import { exactTime } from '../text/instant-words.ts';
import { manyLines, plainText } from '../text/plain-text.ts';
import { parseInstant } from '../time/instant.ts';

const MAX_CELL = 120;
/** Even thousands of mistakes in one configuration are all printed. */
const MAX_SENTENCE = 1_000;
const MAX_LIST = 10_000;
const MAX_LINES = 1_000_000;

/** Makes text safe for the terminal. The daemon may quote the service, so the text may contain control sequences. */
export function shown(text: string): string {
  return plainText(text, MAX_CELL);
}

/** The same for one or two sentences, without shortening them to a table cell. */
export function shownSentence(text: string): string {
  return plainText(text, MAX_SENTENCE);
}

/** The same for a text that may name many: each recipient of a mail, with a reason. */
export function shownList(text: string): string {
  return plainText(text, MAX_LIST);
}

/** `2026-07-02 13:59:34 UTC`; a dash if there is none. */
export function shownTime(text: string | null | undefined): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? exactTime(at.us) : '-';
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

/** The title of each column, and its text for a row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;

/**
 * Formats rows as columns, for a terminal or a pipe. The texts must be safe to show; `none` stands for an empty one.
 */
export function table<Row>(columns: Columns<Row>, rows: readonly Row[], none = '-'): string {
  const cells = rows.map((row) => Object.values(columns).map((text) => text(row) || none));
  const lines = [Object.keys(columns), ...cells];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}
