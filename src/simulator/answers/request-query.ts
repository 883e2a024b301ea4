/**
 * Reads query parameters as the service does: names in any case, unknown ones ignored, empty values as absent. What
 * cannot be read is collected per parameter for the `errors` of a 400.
 */
import { parseInstant } from '../../time/instant.ts';

export type Query = ReturnType<typeof openQuery>;

const INT32_MAX = 2 ** 31 - 1;

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

export function openQuery(text: string) {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    const key = name.toLowerCase();
    if (value !== '' && !values.has(key)) values.set(key, value);
  }
  const errors = new Map<string, string[]>();
  const refuse = (name: string, why: string) => {
    errors.set(name, [...(errors.get(name) ?? []), why]);
  };
  const read = <T>(name: string, parse: (value: string) => T | undefined): T | undefined => {
    const value = values.get(name.toLowerCase());
    if (value === undefined) return undefined;
    const result = parse(value.trim());
    if (result === undefined) refuse(name, `The value '${value}' is not valid for ${name}.`);
    return result;
  };
  return {
    /** This and the other readers return undefined when the parameter is absent or invalid. */
    whole: (name: string, least: number) =>
      read(name, (value) => {
        const number = /^[+-]?\d{1,10}$/.test(value) ? Number(value) : Number.NaN;
        return number >= least && number <= INT32_MAX ? number : undefined;
      }),
    flag: (name: string) => read(name, (value) => FLAGS.get(value.toLowerCase())),
    instantUs: (name: string) => read(name, (value) => parseInstant(value)?.us),
    word: <T extends string>(name: string, words: readonly T[]) =>
      read(name, (value) => words.find((word) => word === value.toLowerCase())),
    /** Messages by parameter; empty when every parameter read so far is valid. */
    errors: (): Readonly<Record<string, readonly string[]>> => Object.fromEntries(errors),
    refuse,
  };
}
