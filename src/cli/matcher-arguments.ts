import { formatMatcher, type Matcher, parseMatcher } from '../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../domain/matchers/matcher-syntax.ts';
import { NestwatchError } from '../errors.ts';

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
