/**
 * Matches whole texts against RE2 patterns as Alertmanager does. RE2JS takes no longer than program times text, but
 * bounds the program only at a million instructions: a pattern that would cost seconds or a gigabyte stops here.
 */
import { RE2JS, RE2JSException } from 're2js';

/** Longer patterns are refused: nobody writes them, and each instruction costs for each character. */
const MAX_PATTERN_LENGTH = 4096;
const MAX_INSTRUCTIONS = 5000;
/** Beyond this a pattern is not even compiled: that alone may take seconds. */
const MAX_ESTIMATE = 30_000;
/** RE2's own bound of a repetition, and of all that are nested in each other. */
const MAX_REPEAT = 1000;

export class RegexSyntaxError extends Error {
  override readonly name = 'RegexSyntaxError';
}

/** Returns a test for whole texts. Throws a `RegexSyntaxError` for what RE2 refuses, and for what is too large. */
export function compileRegex(pattern: string): (text: string) => boolean {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new RegexSyntaxError(`longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  // By itself first: so the message quotes what was written, and `a)|(b` cannot slip out of the anchors.
  if (estimate(pattern) > MAX_ESTIMATE || compile(pattern).programSize() > MAX_INSTRUCTIONS) {
    throw new RegexSyntaxError('its repetitions make it too large');
  }
  const anchored = compile(`^(?:${pattern})$`);
  // Not `test`: it keeps up to 8 MB of states a pattern, and a hostile one makes it fill them again for each text.
  return (text) => anchored.matcher(text).matches();
}

function compile(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) throw new RegexSyntaxError(error.message);
    throw error;
  }
}

/** About as many instructions as the pattern can have at most: every repeated group counts as if it held the others. */
function estimate(pattern: string): number {
  let size = pattern.length;
  let groups = 1;
  for (const [, group, min, max] of pattern.matchAll(/(\)?)\{(\d+)(?:,(\d*))?\}/g)) {
    const count = Math.min(Math.max(1, Number(min), Number(max ?? 0)), MAX_REPEAT);
    if (group) groups = Math.min(groups * count, MAX_REPEAT);
    else size += count;
  }
  return groups * size;
}
