/**
 * Reads the list in an answer item by item. Parsing takes as long as there are values, however short they are, and
 * cannot be interrupted. So an answer with too many of them is refused before it is parsed, and the event loop turns
 * while the items are read.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { NestwatchError } from '../errors.ts';
import { LIMITS, type LimitName } from '../limits.ts';
import { isRecord } from './coerce.ts';
import { parseJson } from './parse-json.ts';

/** Answers up to this length cannot hold too many values. A page of 500 entries has some 180,000 characters. */
const UNCOUNTED_LENGTH = 256 * 1024;

/** The items read between two turns of the event loop, which takes some milliseconds. */
const ITEMS_AT_ONCE = 1_000;

export interface ItemReading<T> {
  /** Whether it is a list of Nests, Birds or Users, which the service returns as a whole. */
  readonly isWhole?: boolean;
  readonly read: (item: unknown) => T;
}

/**
 * Parses the JSON of an answer, with each item of its list replaced by what `read` returned for it. The list is the
 * answer itself or its key `items`. Throws `too_large` if there are more items or values than the limits allow, and
 * `SyntaxError` if it is not JSON.
 */
export async function readItems<T>(
  text: string,
  { isWhole = false, read }: ItemReading<T>,
): Promise<unknown> {
  const values = isWhole ? 'answer_values' : 'page_values';
  if (text.length > UNCOUNTED_LENGTH && mostValues(text) > LIMITS[values].most) throw tooMany(values);
  const json = parseJson(text);
  const list = isRecord(json) ? json.items : json;
  if (!Array.isArray(list)) return json;
  if (isWhole && list.length > LIMITS.inventory_items.most) throw tooMany('inventory_items');
  const items: T[] = [];
  for (const item of list) {
    items.push(read(item));
    if (items.length % ITEMS_AT_ONCE === 0) await turnOfEventLoop();
  }
  return isRecord(json) ? { ...json, items } : items;
}

const [QUOTE, COMMA, OPEN_LIST, BACKSLASH, OPEN_OBJECT] = [0x22, 0x2c, 0x5b, 0x5c, 0x7b];

/** At most how many values a text of JSON holds, except keys: each follows a comma or a bracket outside of texts. */
function mostValues(text: string): number {
  let [values, isInText] = [1, false];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) isInText = !isInText;
    else if (isInText) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === COMMA || unit === OPEN_LIST || unit === OPEN_OBJECT) values += 1;
  }
  return values;
}

function tooMany(limit: LimitName): NestwatchError {
  const { most, unit, of } = LIMITS[limit];
  return new NestwatchError('too_large', `more than ${most} ${unit} in ${of}`, { facts: { limit } });
}
