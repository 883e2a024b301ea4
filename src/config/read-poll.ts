import * as z from 'zod';
import type { Check } from './check.ts';
import type { Config, PollConfig } from './config.ts';
import { formatDuration } from './duration.ts';
import { pollShape, storeShape } from './file-shape.ts';

/** The three that bound each other, apart from the rest, so that another mistake does not hide theirs. */
const intervalsShape = z.object(
  pollShape.pick({ interval: true, min_interval: true, max_interval: true }).shape,
);

export function readPoll(check: Check): PollConfig | undefined {
  const intervals = check.read(intervalsShape.prefault({}), ['poll']);
  if (intervals) {
    const limit = formatDuration(intervals.interval);
    if (intervals.min_interval > intervals.interval) {
      check.problem(['poll', 'min_interval'], `must not be longer than \`interval\`, which is ${limit}`);
    }
    if (intervals.max_interval < intervals.interval) {
      check.problem(['poll', 'max_interval'], `must not be shorter than \`interval\`, which is ${limit}`);
    }
  }
  const poll = check.read(pollShape.prefault({}), ['poll']);
  if (!poll) return undefined;
  return {
    intervalMs: poll.interval,
    minIntervalMs: poll.min_interval,
    maxIntervalMs: poll.max_interval,
    inventoryIntervalMs: poll.inventory_interval,
    pageSize: poll.page_size,
    overlapMs: poll.overlap,
    initialLookbackMs: poll.initial_lookback,
    auditIntervalMs: poll.audit_interval,
  };
}

export function readStore(check: Check, poll: PollConfig | undefined): Config['store'] | undefined {
  const store = check.read(storeShape.prefault({}), ['store']);
  if (!store) return undefined;
  if (/^postgres(?:ql)?:/.test(store.url)) {
    check.problem(['store', 'url'], 'PostgreSQL is not supported by this version: use sqlite:FILE');
  } else if (!/^sqlite:./.test(store.url)) {
    check.problem(['store', 'url'], 'must be sqlite:FILE or sqlite::memory:');
  }
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
