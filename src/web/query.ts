/** Reads the parameters of a request. Everything that cannot be meant is refused with `usage`, which becomes a 400. */
import { NestwatchError } from '../errors.ts';
import { parseInstant } from '../time/instant.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
export const MAX_VALUE_LENGTH = 500;

/** The parameters that were given, each once; a name that is not allowed is an error, as it may be misspelt. */
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
    if (value.length > MAX_VALUE_LENGTH) throw refuse(`${name}: longer than ${MAX_VALUE_LENGTH} characters`);
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
  if (choice === undefined) throw refuse(`${name}: must be one of ${choices.join(', ')}`);
  return choice;
}

/** Undefined where it was not given. */
export function flag(name: string, value: string | undefined): boolean | undefined {
  const given = oneOf(name, value, ['true', 'false']);
  return given === undefined ? undefined : given === 'true';
}

/** Microseconds of an RFC 3339 instant. */
export function instant(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  // A plus sign that was not encoded arrives as a space.
  const parsed = parseInstant(value) ?? parseInstant(value.replace(/ (\d\d:?\d\d)$/, '+$1'));
  if (!parsed) throw refuse(`${name}: must be an RFC 3339 instant like 2026-07-02T13:59:34Z`);
  return parsed.us;
}

export function limit(value: string | undefined): number {
  if (value === undefined) return DEFAULT_LIMIT;
  const number = /^\d{1,6}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > MAX_LIMIT) throw refuse(`limit: must be a whole number from 1 to ${MAX_LIMIT}`);
  return number;
}

export function refuse(message: string): NestwatchError {
  return new NestwatchError('usage', message);
}
