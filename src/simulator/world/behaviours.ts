/**
 * What the specification leaves open, as switches. The defaults are a service that behaves well, with the page sizes
 * of the public examples. A world's behaviours may be changed at any moment; shares lie between 0 and 1, and 0 of a
 * limit means that there is none.
 */
import { z } from 'zod';

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

export const BEHAVIOURS = z.strictObject({
  // Time filters and instants.
  /** Whether an entry exactly at `from` or `to` matches. */
  bounds: z.enum(['inclusive', 'exclusive']).default('inclusive'),
  /** To what both sides are cut before they are compared. */
  comparedPrecision: precision,
  /** To what instants are cut when they are written. */
  shownPrecision: precision,
  /** Zeros at the end of a fraction are left out, as .NET does. */
  trimsZeros: z.boolean().default(false),
  startDateWithoutZ: z.boolean().default(false),
  /** Entries are created at multiples of this step: a coarse one makes ties. */
  instantStepMs: ms,

  // Entries that become visible after their instant, evenly between the least and the most.
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
  /** `totalCount` leaves out what became visible in this last time. */
  totalCountStaleMs: ms,
  /** Older entries and ended Flights are gone. */
  retentionMs: ms,
  /** Rows of `searchFlights` at the most: the first ones of its order. */
  flightsCap: whole.default(0),
  flightsOrder: z.enum(['newest_first', 'oldest_first', 'by_id']).default('newest_first'),

  // The shape of answers: shares of entries or fields; the same entry is read the same way each time.
  numbersAsText: share,
  nullFields: share,
  missingFields: share,
  extraKeys: share,
  unknownEnums: share,

  // Faults: shares of requests. Together they count up to 1 at the most.
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
  /** How a 429 says when to come again. */
  retryAfter: z.enum(['seconds', 'date', 'garbled', 'none']).default('seconds'),
  retryAfterMs: z.number().min(0).max(86_400_000).default(1000),
  /** Every answer takes this long, and the share of slow ones `slowMs` more. */
  latencyMs: z.number().min(0).max(3_600_000).default(0),
  slow: share,
  slowMs: z.number().min(0).max(3_600_000).default(5000),
  /** Requests above this rate get 429 (a token bucket that holds one second's worth). */
  requestsPerSecond: z.number().min(0).max(1_000_000).default(0),
});

export type Behaviours = z.infer<typeof BEHAVIOURS>;

export const DEFAULT_BEHAVIOURS: Readonly<Behaviours> = Object.freeze(BEHAVIOURS.parse({}));
