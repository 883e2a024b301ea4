/**
 * Something in a region is not read in time, for whatever reason, so people are notified late of what happens there.
 */
import type { FactOf } from '../alert/fact.ts';
import { lasting } from '../alert/parameter.ts';
import { defineKind } from './kind.ts';
import { regionTrouble } from './region-trouble.ts';

export const feedBehind = defineKind({
  name: 'FeedBehind',
  fires:
    'something was not read within `poll.max_interval` (notifications and inventory: twice that), because too few requests are allowed, the service asks for a pause, or a Bird or Nest cannot be read',
  resolves: 'every stream is read often enough again',
  words: { firing: 'Reading behind', still: 'Reading still behind', over: 'Reading caught up' },
  runbook: {
    look: 'the reason. `nestwatch_api_rate_limit` against the number of Birds; failing requests (`nestwatch_api_requests_failed_total`).',
    act: 'raise `requests_per_second` if the service allows it, or `poll.max_interval`, or leave Nests out with `nests.exclude`.',
  },
  parameters: lasting(300_000),
  severities: ['warning'],

  raisedBy: ['polling_pace'],
  observes: ['polling_pace'],

  ...regionTrouble({
    read: ({ region, kept, sinceUs, reason }: FactOf<'polling_pace'>) => ({
      ...{ region, sinceUs, reason },
      state: kept ? 'over' : 'lasts',
    }),
    summary: (region) => `Region ${region} is not read in time: alerts may come late`,
    over: 'every stream is polled often enough again',
  }),
});
