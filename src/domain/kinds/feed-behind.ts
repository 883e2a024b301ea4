import { createRegionKind } from './region-health.ts';

/** Something of a region is not read in time, for whatever reason: what happens there is told late. */
export const feedBehind = createRegionKind({
  alertname: 'FeedBehind',
  severity: 'warning',
  told: (fact) =>
    fact.fact === 'polling_pace' ? { ...fact, state: fact.kept ? 'over' : 'lasts' } : undefined,
  summary: (region) => `Not all of region ${region} is read in time: news comes late`,
  over: 'every stream is polled often enough again',
});
