/** Reads the parameters of a request. Invalid ones are refused with `usage`, which becomes a 400. */
import type * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import { parseInstant } from '../../time/instant.ts';

const MAX_LIMIT = 1_000;
export const MAX_VALUE_LENGTH = 500;

/** The given parameters. A repeated or unknown one is an error, since it may be misspelt. */
export function readQuery<Name extends string>(
  search: URLSearchParams,
  allowed: readonly Name[],
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const [name, value] of search) {
    const known = allowed.find((one) => one === name);
    if (!known) {
      const others = allowed.length > 0 ? `there are: ${allowed.join(', ')}` : 'it takes none';
      throw refuse(`there is no parameter ${JSON.stringify(name.slice(0, 50))}; ${others}`);
    }
    if (known in found) throw refuse(`${name}: given more than once`);
    if (value.length > MAX_VALUE_LENGTH)
      throw new QueryError({ says: 'too_long', name, most: MAX_VALUE_LENGTH });
    if (value !== '') found[known] = value;
  }
  return found;
}

export function oneOf<Choice extends string>(
  name: string,
  value: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (value === undefined) return undefined;
  const choice = choices.find((one) => one === value);
  if (choice === undefined) throw new QueryError({ says: 'choice', name, choices: choices.join(', ') });
  return choice;
}

/** Undefined if it was not given. */
export function flag(name: string, value: string | undefined): boolean | undefined {
  const given = oneOf(name, value, ['true', 'false']);
  return given === undefined ? undefined : given === 'true';
}

/** An RFC 3339 instant, in microseconds. */
export function instant(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  // A plus sign that was not encoded arrives as a space.
  const parsed = parseInstant(value) ?? parseInstant(value.replace(/ (\d\d:?\d\d)$/, '+$1'));
  if (!parsed) throw new QueryError({ says: 'instant', name });
  return parsed.us;
}

export function limit(value: string): number {
  const number = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > MAX_LIMIT) throw refuse(`limit: must be a whole number from 1 to ${MAX_LIMIT}`);
  return number;
}

/** What is invalid in a request, without its wording: pages say it in the reader's language. */
export type QueryMistake =
  | { readonly says: 'choice'; readonly name: string; readonly choices: string }
  | { readonly says: 'instant'; readonly name: string }
  | { readonly says: 'zone'; readonly name: string }
  | { readonly says: 'too_long'; readonly name: string; readonly most: number }
  /** `since` is not before `until`. */
  | { readonly says: 'order' }
  /** What is over is neither silenced nor not. */
  | { readonly says: 'silenced' };

export class QueryError extends NestwatchError {
  readonly mistake: QueryMistake;

  constructor(mistake: QueryMistake) {
    super('usage', sayMistake(mistake));
    this.mistake = mistake;
  }
}

/** In English, for the API. */
export function sayMistake(mistake: QueryMistake): string {
  switch (mistake.says) {
    case 'choice':
      return `${mistake.name}: must be one of ${mistake.choices}`;
    case 'instant':
      return `${mistake.name}: must be a duration like 2h, or an instant like 2026-07-02T13:59:34Z`;
    case 'zone':
      return `${mistake.name}: must be a time zone such as Europe/Amsterdam`;
    case 'too_long':
      return `${mistake.name}: longer than ${mistake.most} characters`;
    case 'order':
      return 'since: must be before until';
    case 'silenced':
      return 'silenced: only what fires is silenced or not, so ask for it without state, or leave out silenced';
  }
}

/** Reads a body of JSON; `expected` says what it must be. */
export function readBody<Shape extends z.ZodType>(
  body: string,
  shape: Shape,
  expected: string,
): z.output<Shape> {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw refuse(`the body must be ${expected}`);
  }
  const { data, error } = shape.safeParse(json);
  if (!error) return data;
  const long = error.issues.find((one) => one.code === 'too_big' && one.origin === 'string');
  if (long?.code !== 'too_big') throw refuse(`the body must be ${expected}`);
  throw new QueryError({ says: 'too_long', name: long.path.join('.'), most: Number(long.maximum) });
}

export function refuse(message: string): NestwatchError {
  return new NestwatchError('usage', message);
}
