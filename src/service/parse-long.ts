/**
 * Parses JSON of any length a part at a time, between which the event loop turns: what `parseJson` makes of it at once,
 * or the `SyntaxError` that it throws.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { JsonScan } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

/** Values parsed in a row, which takes a millisecond. */
const VALUES_AT_ONCE = 1_000;

/** A list or an object that is still open; `key` is of the member that is being read. */
type Open = { readonly list: unknown[] } | { readonly members: Map<string, unknown>; key: string };

/** The value that the walk comes to next, which it passes over. */
export async function parseLong(scan: JsonScan): Promise<unknown> {
  const open: Open[] = [];
  let values = 0;
  for (;;) {
    let value = await begin(scan, open);
    // What is whole may be the last value of what it stands in.
    while (value !== BEGUN) {
      values += 1;
      if (values % VALUES_AT_ONCE === 0) await turnOfEventLoop();
      const parent = open.at(-1);
      if (!parent) return value;
      if ('list' in parent) parent.list.push(value);
      else parent.members.set(parent.key, value);
      if (await passes(scan, ',')) {
        if ('members' in parent) parent.key = await parseKey(scan);
        break;
      }
      if (!(await passes(scan, endOf(parent)))) throw new SyntaxError('a list or an object has no end');
      value = contentOf(parent);
      open.pop();
    }
  }
}

/** Instead of a value, of which only the beginning was passed over. */
const BEGUN = Symbol('begun');

/** Passes over a text, a word or an empty list or object; or over the beginning of one that is not, which is then open. */
async function begin(scan: JsonScan, open: Open[]): Promise<unknown> {
  const first = await next(scan);
  if (first === '"') return parseText(scan);
  if (first !== '[' && first !== '{') return parsePart(scan.passWord());
  const one: Open = first === '[' ? { list: [] } : { members: new Map(), key: '' };
  scan.at += 1;
  if (await passes(scan, endOf(one))) return contentOf(one);
  if ('members' in one) one.key = await parseKey(scan);
  open.push(one);
  return BEGUN;
}

const endOf = (one: Open) => ('list' in one ? ']' : '}');

const contentOf = (one: Open) => ('list' in one ? one.list : Object.fromEntries(one.members));

async function parseKey(scan: JsonScan): Promise<string> {
  if ((await next(scan)) !== '"') throw new SyntaxError('a key is missing');
  const key = await parseText(scan);
  if (!(await passes(scan, ':'))) throw new SyntaxError('a colon is missing');
  return key;
}

/** A text may fill all of an answer: its stretches end between two characters, and are texts themselves. */
async function parseText(scan: JsonScan): Promise<string> {
  const parts: string[] = [];
  for (;;) {
    const { part, isEnd } = scan.passSomeText();
    parts.push(parsePart(`"${part}"`) as string);
    if (isEnd) return parts.length === 1 ? parts[0]! : parts.join('');
    await turnOfEventLoop();
  }
}

/** `parseJson` looks for long numbers behind a bracket, a comma or a colon. */
function parsePart(part: string): unknown {
  return (parseJson(`[${part}]`) as readonly unknown[])[0];
}

/** Passes over white space. Resolves to the character that follows; '' at the end. */
export async function next(scan: JsonScan): Promise<string> {
  while (!scan.passSomeSpace()) await turnOfEventLoop();
  return scan.text.charAt(scan.at);
}

/** Passes over this character, if it is what follows. */
export async function passes(scan: JsonScan, character: string): Promise<boolean> {
  if ((await next(scan)) !== character) return false;
  scan.at += 1;
  return true;
}
