/**
 * The stable part of a failure's message, so that the same failure of many Flights and Birds has one name: what
 * differs from one time to the next is masked: numbers and ids as `#`, times, quoted values, paths and the variable
 * parts of addresses as `…`.
 */
import { cap, oneLine } from './plain-text.ts';

export const MAX_SIGNATURE_LENGTH = 120;

/** Text beyond these is not looked at: signatures are short, messages may be megabytes. */
const MAX_TEXT_LENGTH = 16_384;
const MAX_LINE_LENGTH = 2048;

/** Lines that say where a program was, not what went wrong. */
const STACK_LINE =
  /^\s*(?:at\s.*[(:].*|at\s+[\w.$<>[\]`]+|File ".*", line \d+.*|Traceback \(most recent call last\):|-{3}.*-{3}|\.{3} \d+ more|goroutine \d+.*|\^+)\s*$/;

/** In which order an object that is an error says what went wrong. */
const SPEAKING_KEYS = ['message', 'error_description', 'detail', 'error', 'title', 'reason', 'description'];

const MASKS: readonly (readonly [RegExp, string])[] = [
  // Addresses keep their host: it says which system failed.
  [/\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/@"'<>]*@)?([^\s/?#"'<>:,;)]+)[^\s"'<>]*/gi, '$1$2/…'],
  [/(?<![^\s@<>"'(),:;])[^\s@<>"'(),:;]+@[^\s@<>"'(),:;]+/g, '…'],
  [/"(?:[^"\\]|\\.){0,1000}"|“[^”]{0,1000}”|„[^“”]{0,1000}[“”]|«[^»]{0,1000}»|`[^`]{0,1000}`/g, '…'],
  // An apostrophe within a word opens nothing.
  [/(?<![\p{L}\p{N}])'[^']{0,1000}'(?![\p{L}\p{N}])/gu, '…'],
  [/\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b/gi, '#'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?\s?(?:Z\b|[+-]\d\d:?\d\d\b)?/g, '…'],
  [/\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b/g, '…'],
  [/(?<![\w.:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AP]M\b)?/gi, '…'],
  [/(?<![\w/\\])(?:[a-z]:)?(?:[\\/][\w.@%~+-]+){2,}[\\/]?/gi, '…'],
  // A long word with digits is an id; a short one keeps its letters (HTTP#, S#).
  [/(?<![\p{L}\p{N}_-])(?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]{8,}(?![\p{L}\p{N}_-])/gu, '#'],
  [/\p{N}+(?:[.,:]\p{N}+)*/gu, '#'],
  // Lists of masked things differ in length.
  [/([#…])(?:[\s,;|/]+\1)+/g, '$1'],
];

/** Empty when the message says nothing. At most 120 code points. */
export function signature(message: string): string {
  const lines = message.slice(0, MAX_TEXT_LENGTH).split(/\r\n|[\n\r\u2028\u2029]/);
  let fallback = '';
  for (const line of lines) {
    if (line.trim() === '' || STACK_LINE.test(line)) continue;
    const masked = mask(line);
    if (/\p{L}/u.test(masked)) return cap(masked, MAX_SIGNATURE_LENGTH);
    fallback ||= masked;
  }
  return cap(fallback, MAX_SIGNATURE_LENGTH);
}

function mask(line: string): string {
  let text = oneLine(speaking(line), MAX_LINE_LENGTH);
  for (const [pattern, replacement] of MASKS) text = text.replace(pattern, replacement);
  return text.trim();
}

/** Puts in the place of a JSON object, which masking would empty, what it says. */
function speaking(line: string): string {
  const from = line.indexOf('{');
  const to = line.lastIndexOf('}');
  if (from < 0 || to < from) return line;
  const said = saidBy(parsed(line.slice(from, to + 1)), 0);
  return said === undefined ? line : line.slice(0, from) + said + line.slice(to + 1);
}

function saidBy(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value !== 'object' || value === null || depth > 3) return undefined;
  for (const key of SPEAKING_KEYS) {
    const said = saidBy((value as Record<string, unknown>)[key], depth + 1);
    if (said !== undefined) return said;
  }
  return undefined;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
