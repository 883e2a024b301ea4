/** Words the mistakes that a shape finds in what people write. */
import type * as z from 'zod';

/** The message for a mistake if the shape has none of its own. Values are never quoted, because they may be secrets. */
export function messageOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing';
      if (issue.input === null) return 'is empty';
      if (issue.expected === 'string' && typeof issue.input === 'object') {
        return `must be one text, not a ${Array.isArray(issue.input) ? 'list' : 'map'}`;
      }
      return TYPES.get(issue.expected) ?? `must be ${issue.expected}`;
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return 'must not be empty';
      return `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    default:
      return 'is not valid';
  }
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['string', 'must be text: put it in quotes'],
  ['number', 'must be a number'],
  ['int', 'must be a whole number'],
  ['boolean', 'must be true or false'],
  ['array', 'must be a list'],
  ['object', 'must be a map of keys and values'],
  ['record', 'must be a map of keys and values'],
]);
