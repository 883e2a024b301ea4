/** Reads what is given to commands: instants, durations, matchers and filters. What is wrong is refused with `usage`. */
import { formatMatcher, type Matcher, parseMatcher } from '../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../domain/matchers/matcher-syntax.ts';
import { NestwatchError } from '../errors.ts';
import { filterNames, type ListName } from '../operator/lists.ts';
import { LONGEST_MS, parseDuration } from '../time/duration.ts';
import { instantMistake, parseInstant } from '../time/instant.ts';

/** The instant that an option gives, in microseconds; of a date, its beginning in UTC. */
export function instantOf(option: string, text: string): number {
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant) return instant.us;
  const mistake = instantMistake(text, 'an RFC 3339 instant like 2026-07-02T13:59:34Z, or a date');
  throw wrongUsage(`${option} ${mistake}`);
}

/** In milliseconds. */
export function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0 && ms <= LONGEST_MS) return ms;
  throw wrongUsage(`${option} must be a duration such as 2h, not ${text}`);
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
      throw wrongUsage(error.message);
    }
  });
}

/** The matchers as parameters of an address. */
export function filterParameters(matchers: readonly Matcher[]): URLSearchParams {
  return new URLSearchParams(matchers.map((matcher) => ['filter', formatMatcher(matcher)]));
}

/**
 * Reads the filters of a list as parameters of an address: `nest=Marketing`, `since=2h`. Words without an equals sign
 * are searched for in the text. Throws `usage` for an unknown name.
 */
export function filterArguments(args: readonly string[], list: ListName): URLSearchParams {
  const names = filterNames(list);
  const query = new URLSearchParams();
  const words: string[] = [];
  for (const arg of args) {
    const at = arg.indexOf('=');
    const name = arg.slice(0, at);
    if (at < 0) words.push(arg);
    else if (!names.includes(name)) {
      throw wrongUsage(`there is no filter ${JSON.stringify(name)}; there are ${names.join(', ')}`);
    } else if (query.has(name)) throw wrongUsage(`the filter ${name} is given more than once`);
    else query.set(name, arg.slice(at + 1));
  }
  if (words.length > 0 && query.has('text')) {
    throw wrongUsage(`${JSON.stringify(words.join(' '))} and text= both say what to look for`);
  }
  if (words.length > 0) query.set('text', words.join(' '));
  return query;
}
