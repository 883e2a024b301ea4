import * as z from 'zod';
import { formatDuration } from '../../time/duration.ts';
import type { Config, PollConfig } from '../config.ts';
import type { Check } from '../document/check.ts';
import { pollShape, storeShape } from './file-shape.ts';

/** The three that bound each other, apart from the rest, so that another mistake does not hide theirs. */
const intervalsShape = z.object(
  pollShape.pick({ interval: true, min_interval: true, max_interval: true }).shape,
);

/** The bounds where the file gives none; a shorter or longer `interval` takes them along. */
const MIN_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 300_000;

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

export function readStore(check: Check, poll: PollConfig | undefined): Config['store'] | undefined {
  const url = check.raw(['store', 'url']);
  if (typeof url === 'string' && /^postgres(?:ql)?:/.test(url)) {
    check.problem(['store', 'url'], 'PostgreSQL is not supported by this version: use sqlite:FILE');
  } else if (typeof url === 'string' && url !== '' && !/^sqlite:./.test(url)) {
    check.problem(['store', 'url'], 'must be sqlite:FILE or sqlite::memory:');
  }
  const store = check.read(storeShape.prefault({}), ['store']);
  if (!store) return undefined;
  // What is forgotten while a sweep still reads it would be told again.
  const neededMs = poll ? Math.max(poll.initialLookbackMs, poll.overlapMs) : 0;
  if (store.retention < neededMs) {
    check.problem(
      ['store', 'retention'],
      'must not be shorter than `poll.initial_lookback` and `poll.overlap`',
    );
  }
  return { url: store.url, retentionMs: store.retention };
}
