import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { duration, words } from '../../document/value-shape.ts';
import type { PollConfig } from './poll-section.ts';

export const storeShape = z.strictObject({
  url: words
    .prefault('sqlite:data/nestwatch.db')
    .describe('`sqlite:FILE`, relative to the working directory, or `sqlite::memory:` for trials.'),
  retention: duration(60_000)
    .prefault('30d')
    .describe(
      'How long events and deliveries are kept. Making it longer brings back nothing that is gone, and sends none of it again.',
    ),
});

export interface StoreConfig {
  readonly url: string;
  readonly retentionMs: number;
}

export function readStore(check: Check, poll: PollConfig | undefined): StoreConfig | undefined {
  const url = check.raw(['store', 'url']);
  if (typeof url === 'string' && /^postgres(?:ql)?:/.test(url)) {
    check.problem(['store', 'url'], 'PostgreSQL is not supported by this version: use sqlite:FILE');
  } else if (typeof url === 'string' && url !== '' && !/^sqlite:./.test(url)) {
    check.problem(['store', 'url'], 'must be sqlite:FILE or sqlite::memory:');
  }
  const store = check.read(storeShape.prefault({}), ['store']);
  if (!store) return undefined;
  // An event that is pruned while a sweep still reads it would count as new, and be notified again.
  const neededMs = poll ? Math.max(poll.initialLookbackMs, poll.overlapMs) : 0;
  if (store.retention < neededMs) {
    check.problem(
      ['store', 'retention'],
      'must not be shorter than `poll.initial_lookback` and `poll.overlap`',
    );
  }
  return { url: store.url, retentionMs: store.retention };
}
