import { exactTime } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { parseInstant } from '../time/instant.ts';

const MAX_CELL = 120;

/** Text from the daemon may quote what a service said: nothing in it may steer the terminal. */
export function shown(text: string): string {
  return plainText(text, MAX_CELL);
}

/** `2026-07-02 13:59:34 UTC`; a dash for none. */
export function shownTime(text: string | null | undefined): string {
  const at = text ? parseInstant(text) : undefined;
  return at ? exactTime(at.us) : '-';
}

/** For `--json`. */
export function jsonText(json: unknown): string {
  return `${JSON.stringify(json, null, 2)}\n`;
}
