import { createRegionKind } from './region-health.ts';

/** The rate that a region allows is too low for its Birds: what happens there is told late. */
export const feedBehind = createRegionKind({
  alertname: 'FeedBehind',
  severity: 'warning',
  told: (fact) =>
    fact.fact === 'polling_pace' ? { ...fact, state: fact.kept ? 'over' : 'lasts' } : undefined,
  summary: (region) => `Region ${region} is polled too rarely: news of its Birds comes late`,
  over: 'every stream is polled often enough again',
});
