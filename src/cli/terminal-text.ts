import { exactTime } from '../text/instant-words.ts';
import { manyLines, plainText } from '../text/plain-text.ts';
import { parseInstant } from '../time/instant.ts';

const MAX_CELL = 120;
/** Thousands of mistakes in one configuration are still all said. */
const MAX_SENTENCE = 1_000;
const MAX_LINES = 1_000_000;

/** Text from the daemon may quote what a service said: nothing in it may steer the terminal. */
export function shown(text: string): string {
  return plainText(text, MAX_CELL);
}

/** A sentence or two, whole. */
export function shownSentence(text: string): string {
  return plainText(text, MAX_SENTENCE);
}

/** `2026-07-02 13:59:34 UTC`; a dash for none. */
export function shownTime(text: string | null | undefined): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? exactTime(at.us) : '-';
}

/** For `--json`: the very text, with what could steer the terminal written as escapes, which JSON reads as the same. */
export function jsonText(json: unknown): string {
  return `${JSON.stringify(json, null, 2).replace(STEERING, escaped)}\n`;
}

/** Controls that JSON does not escape itself, and marks that turn the direction of what follows. */
const STEERING = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Lines that repeat names of files or what stands in them. */
export function shownLines(text: string): string {
  return manyLines(text, MAX_LINES);
}
