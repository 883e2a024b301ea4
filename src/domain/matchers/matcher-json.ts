import type { MatchOp } from './matcher-syntax.ts';

/** A matcher in the JSON of Alertmanager's API v2. */
export interface MatcherJson {
  readonly name: string;
  readonly value: string;
  readonly isRegex: boolean;
  readonly isEqual: boolean;
}

interface MatcherParts {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
}

export function matcherJson({ name, op, value }: MatcherParts): MatcherJson {
  return { isEqual: op === '=' || op === '=~', isRegex: op === '=~' || op === '!~', name, value };
}

export function matcherParts({ name, value, isRegex, isEqual }: MatcherJson): MatcherParts {
  return { name, op: isRegex ? (isEqual ? '=~' : '!~') : isEqual ? '=' : '!=', value };
}
