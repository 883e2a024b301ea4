import { NestwatchError } from '../errors.ts';

/** The filters that every list has. */
export const FILTERS = ['region', 'nest', 'bird', 'flight', 'name', 'severity', 'text', 'since', 'until'];

/**
 * Reads the filters of a list as parameters of an address: `nest=Marketing`, `since=2h`. Words without an equals sign
 * are searched for in the text. Throws `usage` for an unknown name.
 */
export function filterArguments(args: readonly string[], names: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  const words: string[] = [];
  for (const arg of args) {
    const at = arg.indexOf('=');
    const name = arg.slice(0, at);
    if (at < 0) words.push(arg);
    else if (!names.includes(name)) {
      throw new NestwatchError(
        'usage',
        `there is no filter ${JSON.stringify(name)}; there are ${names.join(', ')}`,
      );
    } else if (query.has(name))
      throw new NestwatchError('usage', `the filter ${name} is given more than once`);
    else query.set(name, arg.slice(at + 1));
  }
  if (words.length > 0 && query.has('text')) {
    throw new NestwatchError(
      'usage',
      `${JSON.stringify(words.join(' '))} and text= both say what to look for`,
    );
  }
  if (words.length > 0) query.set('text', words.join(' '));
  return query;
}

/** Printed to stderr if an answer has a `next`: the first for lists ordered by time, the second for others. */
export const OLDER_ONES = 'There are older ones: give --limit, until= or another filter.\n';
export const MORE_ONES = 'There are more: give --limit or a filter.\n';
