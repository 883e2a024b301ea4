/**
 * Lists what the specification leaves open as switches. By default the service behaves well, with the page sizes of
 * the public examples. A world's behaviours may be changed at any moment. Shares lie between 0 and 1; a limit of 0
 * means none.
 */

import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { NestwatchError } from '../../errors.ts';
import { messageOf } from '../../text/mistake-words.ts';

const share = z.number().min(0).max(1).default(0);
const whole = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const ms = z
  .number()
  .min(0)
  .max(100 * 365 * 86_400_000)
  .default(0);
const precision = z.enum(['microsecond', 'millisecond', 'second']).default('microsecond');

const BEHAVIOURS = z.strictObject({
  // Time filters and instants.
  /** Whether an entry exactly at `from` or `to` matches. */
  bounds: z.enum(['inclusive', 'exclusive']).default('inclusive'),
  /** The precision to which both sides are cut before they are compared. */
  comparedPrecision: precision,
  /** The precision to which instants are cut when they are written. */
  shownPrecision: precision,
  /** Omits trailing zeros of a fraction, as .NET does. */
  trimsZeros: z.boolean().default(false),
  startDateWithoutZ: z.boolean().default(false),
  /** Entries are created at multiples of this step: a coarse step makes ties. */
  instantStepMs: ms,

  // Late entries: they become visible after their instant, by a delay spread evenly between the minimum and the
  // maximum.
  lateShare: share,
  lateMinMs: ms,
  lateMaxMs: ms,
  /** How long after a Flight's end its `errorMessages` appear. */
  errorMessagesLateMs: ms,

  // Paging.
  defaultLogPageSize: whole.min(1).default(20),
  defaultNotificationPageSize: whole.min(1).default(10),
  maxPageSize: whole.min(1).default(1000),
  overMaxPageSize: z.enum(['clamp', 'refuse']).default('clamp'),
  totalCountCap: whole.default(0),
  /** `totalCount` omits what became visible within this last period. */
  totalCountStaleMs: ms,
  /** Entries and ended Flights older than this are gone. */
  retentionMs: ms,
  /** The most rows that `searchFlights` returns: the first in its order. */
  flightsCap: whole.default(0),
  flightsOrder: z.enum(['newest_first', 'oldest_first', 'by_id']).default('newest_first'),

  // The shape of answers, as shares of entries or fields. The same entry looks the same each time it is read.
  numbersAsText: share,
  nullFields: share,
  missingFields: share,
  extraKeys: share,
  unknownEnums: share,

  // Faults, as shares of requests. Together they add up to 1 at most.
  tooManyRequests: share,
  error500: share,
  error502: share,
  error503: share,
  error504: share,
  /** A gateway's page with status 502. */
  html: share,
  /** The same page with status 200. */
  htmlOk: share,
  /** The connection breaks before an answer. */
  reset: share,
  /** The connection breaks within the body. */
  cut: share,
  /** A complete answer whose JSON ends early. */
  truncated: share,
  /** How a 429 says when to retry. */
  retryAfter: z.enum(['seconds', 'date', 'garbled', 'none']).default('seconds'),
  retryAfterMs: z.number().min(0).max(86_400_000).default(1000),
  /** Every answer takes this long; the share of slow ones takes `slowMs` more. */
  latencyMs: z.number().min(0).max(3_600_000).default(0),
  slow: share,
  slowMs: z.number().min(0).max(3_600_000).default(5000),
  /** Requests above this rate get a 429 (a token bucket that holds one second's worth). */
  requestsPerSecond: z.number().min(0).max(1_000_000).default(0),
});

export type Behaviours = z.infer<typeof BEHAVIOURS>;

export const DEFAULT_BEHAVIOURS: Readonly<Behaviours> = Object.freeze(BEHAVIOURS.parse({}));

// Reads behaviours from a YAML or JSON file with keys in snake_case, as `simulate --faults` takes it.

const NAMES = new Map(Object.keys(BEHAVIOURS.shape).map((key) => [snakeCase(key), key as keyof Behaviours]));

/**
 * Returns the behaviours that the text sets. Throws `usage` with every mistake as `where:line:column: what`; for an
 * unknown key it lists the keys that exist.
 */
export function readBehaviours(text: string, where: string): Partial<Behaviours> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const mistakes: string[] = [];
  const note = (offset: number, what: string) => {
    const { line, col } = lines.linePos(offset);
    mistakes.push(`${where}:${line}:${col}: ${what}`);
  };
  for (const error of document.errors) note(error.pos[0], error.message);
  const behaviours: Record<string, unknown> = {};
  const root = document.contents;
  if (isMap(root)) {
    for (const { key, value } of root.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
      const known = NAMES.get(name);
      if (!known) {
        note(offset, `unknown key ${JSON.stringify(name)}; the keys are ${[...NAMES.keys()].join(', ')}`);
        continue;
      }
      const result = BEHAVIOURS.shape[known].safeParse(isScalar(value) ? value.value : undefined, {
        error: messageOf,
      });
      // A key without a scalar value would otherwise take its default silently.
      if (!isScalar(value)) note(offset, `${name}: must be a single value`);
      else if (result.success) behaviours[known] = result.data;
      else note(value.range?.[0] ?? offset, `${name}: ${result.error.issues[0]!.message}`);
    }
  } else if (root !== null && mistakes.length === 0) {
    note(root.range?.[0] ?? 0, 'must be a list of keys with their values');
  }
  if (mistakes.length > 0) throw new NestwatchError('usage', mistakes.join('\n'));
  return behaviours;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/(\d+)/, '_$1');
}
