/** Reads instants and files that are given to commands. What cannot be read is refused with `usage`. */
import { readFileSync } from 'node:fs';
import { whyUnreadable } from '../document/read-file.ts';
import { formatMatcher, type Matcher, parseMatcher } from '../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../domain/matchers/matcher-syntax.ts';
import { NestwatchError } from '../errors.ts';
import { parseInstant } from '../time/instant.ts';

/** The instant that an option gives, in microseconds; of a date, its beginning in UTC. */
export function instantOf(option: string, text: string): number {
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant) return instant.us;
  throw wrongUsage(`${option} must be an RFC 3339 instant like 2026-07-02T13:59:34Z, or a date`);
}

/** The text of a file that an option or argument names. */
export function textOfFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new NestwatchError('usage', `${file} ${whyUnreadable(error)}`, { cause: error });
  }
}

export function wrongUsage(message: string): NestwatchError {
  return new NestwatchError('usage', message);
}

/**
 * Reads matchers as amtool does: a first argument that is not a matcher is the name of an alert. Throws `usage` for
 * any other argument that is not a matcher.
 */
export function readMatcherArguments(args: readonly string[]): Matcher[] {
  return args.flatMap((arg, index) => {
    try {
      return parseMatcher(arg);
    } catch (error) {
      if (!(error instanceof MatcherSyntaxError)) throw error;
      if (index === 0 && !/[=~]/.test(arg))
        return parseMatcher(formatMatcher({ name: 'alertname', op: '=', value: arg }));
      throw new NestwatchError('usage', error.message);
    }
  });
}

/** The matchers as parameters of an address. */
export function filterParameters(matchers: readonly Matcher[]): URLSearchParams {
  return new URLSearchParams(matchers.map((matcher) => ['filter', formatMatcher(matcher)]));
}
