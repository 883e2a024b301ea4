import { NestwatchError } from '../errors.ts';
import { LISTS, type ListName } from '../operator/lists.ts';

/** What a list can be narrowed down by. Instants in arguments without an offset are in UTC. */
export function filterNames(list: ListName): readonly string[] {
  return LISTS[list].filter((name) => name !== 'zone');
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
