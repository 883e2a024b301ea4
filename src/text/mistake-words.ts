/** Words the mistakes that a shape finds in what people write, and finds the word that they most likely meant. */
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

/** The candidate that a person most likely meant; undefined if none is close enough. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    if (candidate === '' || Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** What to say of a word that is not among the candidates: which one was probably meant, or else `otherwise`. */
export function meantOr(
  word: unknown,
  candidates: readonly string[],
  otherwise = `there are ${candidates.join(', ')}`,
): string {
  const meant = typeof word === 'string' ? nearest(word, candidates) : undefined;
  return meant === undefined ? otherwise : `did you mean ${meant}?`;
}

/** Counts insertions, deletions, substitutions and swaps of neighbours (the optimal string alignment distance). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1);
      }
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
