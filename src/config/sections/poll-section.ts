import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { duration } from '../../document/value-shape.ts';
import { formatDuration, parseDuration } from '../../time/duration.ts';

/** The limits if the file sets none; a shorter or longer `interval` moves them. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 300_000;

export const pollShape = z.strictObject({
  interval: duration(10)
    .prefault('30s')
    .describe('How often each stream is polled, if the service allows enough requests.'),
  min_interval: duration(10)
    .optional()
    .meta({
      preset: formatDuration(MIN_INTERVAL_MS),
      description:
        'Shortest time between two polls of a Bird, even a busy one. Must not exceed `interval`; a shorter `interval` lowers the default.',
    }),
  max_interval: duration(10)
    .optional()
    .meta({
      preset: formatDuration(MAX_INTERVAL_MS),
      description:
        'Longest time between two polls of a Bird, even a quiet one. `FeedBehind` fires if the service allows too few requests for that. Must not be less than `interval`; a longer `interval` raises the default.',
    }),
  inventory_interval: duration(10).prefault('5m').describe('How often Nests and Birds are listed.'),
  page_size: z
    .int()
    .min(1)
    .max(10_000)
    .prefault(100)
    .describe(
      'Number of entries requested per page. If the service refuses a page of this size, it is halved automatically, for all streams of the feed. Larger pages are tried again later: at first after an hour, in the end once a day.',
    ),
  overlap: duration(1000)
    .prefault('2m')
    .describe(
      'How far each sweep looks back at first, for entries that become visible late. Later it is learned from the lateness observed.',
    ),
  initial_lookback: duration()
    .prefault('1h')
    .describe(
      'How much history the first start reads. `forward` sends all of it; alerts fire only for what happens after that start and for states that still hold. Birds that are watched later, for example because of a wider `nests.include`, are read in the same way.',
    ),
  audit_interval: duration(10)
    .prefault('10m')
    .describe('How often an audit compares counts with the service to check completeness.'),
  max_alert_age: duration(60_000)
    .prefault('6h')
    .describe(
      'Events older than this, for example after an outage, are sent as one summary per receiver. What counts is their age when they can first be read.',
    ),
});

/** The three keys that limit each other, separately from the rest, so that other mistakes do not hide theirs. */
const intervalsShape = z.object(
  pollShape.pick({ interval: true, min_interval: true, max_interval: true }).shape,
);

export interface PollConfig {
  readonly intervalMs: number;
  readonly minIntervalMs: number;
  readonly maxIntervalMs: number;
  readonly inventoryIntervalMs: number;
  readonly pageSize: number;
  readonly overlapMs: number;
  readonly initialLookbackMs: number;
  readonly auditIntervalMs: number;
  /** Events that are older than this when observed go into a summary. */
  readonly maxAlertAgeMs: number;
}

/** The defaults of the limits with this interval. */
export function pollPresets(interval: string): {
  readonly min_interval: string;
  readonly max_interval: string;
} {
  const ms = parseDuration(interval) ?? 0;
  return {
    min_interval: ms < MIN_INTERVAL_MS ? interval : formatDuration(MIN_INTERVAL_MS),
    max_interval: ms > MAX_INTERVAL_MS ? interval : formatDuration(MAX_INTERVAL_MS),
  };
}

export function readPoll(check: Check): PollConfig | undefined {
  const intervals = check.read(intervalsShape.prefault({}), ['poll']);
  if (intervals) {
    const { interval, min_interval: least = 0, max_interval: most = interval } = intervals;
    const limit = formatDuration(interval);
    if (least > interval) {
      check.problem(['poll', 'min_interval'], `must not be longer than \`interval\`, which is ${limit}`);
    }
    if (most < interval) {
      check.problem(['poll', 'max_interval'], `must not be shorter than \`interval\`, which is ${limit}`);
    }
  }
  const poll = check.read(pollShape.prefault({}), ['poll']);
  if (!poll) return undefined;
  return {
    intervalMs: poll.interval,
    minIntervalMs: poll.min_interval ?? Math.min(MIN_INTERVAL_MS, poll.interval),
    maxIntervalMs: poll.max_interval ?? Math.max(MAX_INTERVAL_MS, poll.interval),
    inventoryIntervalMs: poll.inventory_interval,
    pageSize: poll.page_size,
    overlapMs: poll.overlap,
    initialLookbackMs: poll.initial_lookback,
    auditIntervalMs: poll.audit_interval,
    maxAlertAgeMs: poll.max_alert_age,
  };
}
