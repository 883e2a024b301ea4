/** Mistakes in how regions and receivers are treated, and in what people are told of outages. */
import type { Variant } from './variant.ts';
import { withAnswer, withHeader, withOutcome } from './wrap.ts';

export const MANNERS: readonly Variant[] = [
  {
    name: 'retry_after_ignored',
    mistake: 'A region is asked again before the time that it named.',
    by: 'unexplained',
    vary: (parts) => withAnswer(parts, (response) => withHeader(response, 'retry-after', undefined)),
  },
  {
    name: 'ceiling_ignored',
    mistake: 'A region is asked as fast as it answers.',
    by: 'unexplained',
    vary: (parts) => ({
      ...parts,
      config: {
        ...parts.config,
        poll: { ...parts.config.poll, intervalMs: 5_000, minIntervalMs: 1_000 },
        regions: parts.config.regions.map((region) => ({ ...region, requestsPerSecond: 1_000 })),
      },
    }),
  },
  {
    name: 'polls_in_vain',
    mistake: 'Streams are polled without a pause, within what the ceiling allows.',
    by: 'unexplained',
    vary: (parts) => ({
      ...parts,
      config: { ...parts.config, poll: { ...parts.config.poll, intervalMs: 5_000, minIntervalMs: 2_000 } },
    }),
  },
  {
    name: 'outages_untold',
    mistake: 'A region that is away is no matter for an alert.',
    by: 'unexplained',
    vary: (parts) => ({
      ...parts,
      config: {
        ...parts.config,
        rules: parts.config.rules.filter(({ kind }) => !/^Region/.test(kind)),
      },
    }),
  },
  {
    name: 'receivers_retry_after_ignored',
    mistake: 'A receiver is told again before the time that it named.',
    by: 'unexplained',
    vary: (parts) =>
      withOutcome(parts, (outcome) => {
        if (outcome.kind !== 'failed') return outcome;
        const { retryAfterMs: _, ...rest } = outcome;
        return rest;
      }),
  },
  {
    name: 'not_found_is_an_outage',
    mistake: 'A Bird that is gone is a region that fails.',
    by: 'unexplained',
    vary: (parts) =>
      withAnswer(parts, (response) => (response.status === 404 ? { ...response, status: 500 } : response)),
  },
];
