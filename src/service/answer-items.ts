/**
 * Reads the list in an answer item by item. A small answer is parsed at once. A large one is parsed in slices, and the
 * event loop turns between them. At any time memory holds its text, one slice, and what was read of the items. An item
 * longer than a slice is parsed in parts (`parse-long.ts`). So neither millions of tiny items nor one huge item stops
 * the rest of the process.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { NestwatchError } from '../errors.ts';
import { LIMITS, type LimitName } from '../limits.ts';
import { isRecord } from './coerce.ts';
import { JsonScan } from './json-scan.ts';
import { parseJson } from './parse-json.ts';
import { next, parseLong, passes } from './parse-long.ts';
import type { Malformed } from './resources.ts';

/**
 * Answers up to this length, and slices of longer ones, are parsed at once, which takes milliseconds: they cannot hold
 * more values than one item may have. A page of 500 entries has some 180,000 characters; scanning it first would take
 * as long as parsing it.
 */
const SLICE_LENGTH = 256 * 1024;

/** The most items of one slice. */
const SLICE_ITEMS = 1_000;

/** The most characters kept of an item that is set aside. */
const MAX_RAW_LENGTH = 10_000;

export interface ItemReading<T> {
  /** The limit for the number of items. */
  readonly limit: LimitName;
  readonly read: (item: unknown) => T;
}

/**
 * Parses the JSON of an answer, with each item of its list replaced by what `read` returned for it. The list is the
 * answer itself or its key `items`. Throws `too_large` if there are more items than the limit allows, and `SyntaxError`
 * if it is not JSON.
 */
export async function readItems<T>(text: string, reading: ItemReading<T>): Promise<unknown> {
  if (text.length <= SLICE_LENGTH) return readAtOnce(parseJson(text), reading);
  const scan = new JsonScan(text);
  const first = await next(scan);
  const json =
    first === '['
      ? await readList(scan, reading)
      : first === '{'
        ? await readObject(scan, reading)
        : await parseLong(scan);
  if ((await next(scan)) !== '') throw new SyntaxError('more follows after the end of the JSON');
  return json;
}

function readAtOnce<T>(json: unknown, { limit, read }: ItemReading<T>): unknown {
  const list = isRecord(json) ? json.items : json;
  if (!Array.isArray(list)) return json;
  if (list.length > LIMITS[limit].most) throw tooMany(limit);
  const items = list.map(read);
  return isRecord(json) ? { ...json, items } : items;
}

async function readObject<T>(scan: JsonScan, reading: ItemReading<T>): Promise<unknown> {
  const members = new Map<string, unknown>();
  let [keys, values] = [0, 0];
  scan.at += 1;
  if (await passes(scan, '}')) return {};
  do {
    keys += 1;
    if (keys % SLICE_ITEMS === 0) await turnOfEventLoop();
    const key = (await parseNext(scan)).json;
    if (typeof key !== 'string' || !(await passes(scan, ':'))) throw new SyntaxError('a key is wrong');
    if (key === 'items' && (await next(scan)) === '[') {
      members.set(key, await readList(scan, reading));
    } else {
      const value = await parseNext(scan);
      values += value.values;
      if (values > LIMITS.item_values.most) throw tooMany('item_values');
      members.set(key, value.json);
    }
  } while (await passes(scan, ','));
  if (!(await passes(scan, '}'))) throw new SyntaxError('an object has no end');
  return Object.fromEntries(members);
}

async function parseNext(scan: JsonScan): Promise<{ readonly json: unknown; readonly values: number }> {
  await next(scan);
  const from = scan.at;
  const values = await passValue(scan);
  if (values > LIMITS.item_values.most) throw tooMany('item_values');
  return { json: await parseAgain(scan, from), values };
}

async function readList<T>(
  scan: JsonScan,
  { limit, read }: ItemReading<T>,
): Promise<readonly (T | Malformed)[]> {
  const items: (T | Malformed)[] = [];
  /** The slice: where it begins and ends in the text, and its number of items. */
  let [from, to, inSlice] = [0, 0, 0];

  function readSlice(): void {
    if (inSlice === 0) return;
    for (const item of parsed(scan.text.slice(from, to))) items.push(read(item));
    inSlice = 0;
  }

  scan.at += 1;
  if (await passes(scan, ']')) return items;
  let count = 0;
  do {
    count += 1;
    if (count > LIMITS[limit].most) throw tooMany(limit);
    await next(scan);
    const start = scan.at;
    const values = await passValue(scan);
    if (inSlice >= SLICE_ITEMS || scan.at - from > SLICE_LENGTH) {
      readSlice();
      await turnOfEventLoop();
    }
    if (values > LIMITS.item_values.most) {
      readSlice();
      items.push(setAside(scan.text.slice(start, start + MAX_RAW_LENGTH)));
    } else if (scan.at - start > SLICE_LENGTH) {
      readSlice();
      items.push(read(await parseAgain(scan, start)));
    } else {
      if (inSlice === 0) from = start;
      to = scan.at;
      inSlice += 1;
    }
  } while (await passes(scan, ','));
  if (!(await passes(scan, ']'))) throw new SyntaxError('a list has no end');
  readSlice();
  return items;
}

/** Parses the value that begins at `from` and that the scan has just passed over. */
async function parseAgain(scan: JsonScan, from: number): Promise<unknown> {
  if (scan.at - from <= SLICE_LENGTH) return parsed(scan.text.slice(from, scan.at))[0];
  scan.at = from;
  return parseLong(scan);
}

/**
 * The values of a part of a list. The brackets are needed: `parseJson` looks for long numbers only after a bracket, a
 * comma or a colon.
 */
function parsed(part: string): readonly unknown[] {
  return parseJson(`[${part}]`) as readonly unknown[];
}

/** Passes over a value. Returns how many values it contains. */
async function passValue(scan: JsonScan): Promise<number> {
  for (;;) {
    const values = scan.passSome();
    if (values !== undefined) return values;
    await turnOfEventLoop();
  }
}

function setAside(raw: string): Malformed {
  return { ok: false, raw, reason: 'more values than an entry may have' };
}

function tooMany(limit: LimitName): NestwatchError {
  const { most, unit, of } = LIMITS[limit];
  return new NestwatchError('too_large', `more than ${most} ${unit} in ${of}`, { facts: { limit } });
}
