/**
 * Parses JSON of any length in parts, and lets the event loop turn between them. The result, or the `SyntaxError`, is
 * the same as that of `parseJson`.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { JsonScan } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

/** Values parsed between two turns of the event loop, which takes a millisecond. */
const VALUES_AT_ONCE = 1_000;

/** A list or an object that is still open. `key`: of the member that is being read. */
type Open = { readonly list: unknown[] } | { readonly members: Map<string, unknown>; key: string };

/** Parses the next value, and passes over it. */
export async function parseLong(scan: JsonScan): Promise<unknown> {
  const open: Open[] = [];
  let values = 0;
  for (;;) {
    let value = await begin(scan, open);
    // A complete value may be the last one of its parent, which is then complete too.
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

/** Returned instead of a value that has only begun. */
const BEGUN = Symbol('begun');

/**
 * Passes over a text, a word, or an empty list or object. Of any other list or object it passes over the beginning, and
 * adds it to `open`.
 */
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

/**
 * Parses a text in stretches, since it may fill all of an answer. They end between two characters, so each is itself a
 * text.
 */
async function parseText(scan: JsonScan): Promise<string> {
  const parts: string[] = [];
  for (;;) {
    const { part, isEnd } = scan.passSomeText();
    parts.push(parsePart(`"${part}"`) as string);
    if (isEnd) return parts.length === 1 ? parts[0]! : parts.join('');
    await turnOfEventLoop();
  }
}

/** The brackets are needed: `parseJson` looks for long numbers only after a bracket, a comma or a colon. */
function parsePart(part: string): unknown {
  return (parseJson(`[${part}]`) as readonly unknown[])[0];
}

/** Passes over white space. Resolves to the character that follows; '' at the end. */
export async function next(scan: JsonScan): Promise<string> {
  while (!scan.passSomeSpace()) await turnOfEventLoop();
  return scan.text.charAt(scan.at);
}

/** Passes over this character if it comes next; returns whether it did. */
export async function passes(scan: JsonScan, character: string): Promise<boolean> {
  if ((await next(scan)) !== character) return false;
  scan.at += 1;
  return true;
}
