import { createRegionKind, ofHealth } from './region-health.ts';

/** A region refuses the token. That it stops answering at all does not mean that the token is good again. */
export const regionUnauthorized = createRegionKind({
  alertname: 'RegionUnauthorized',
  severity: 'critical',
  told: ofHealth('unauthorized', ['up']),
  summary: (region) => `Region ${region} refuses the token: nothing is seen of its Birds`,
  over: 'the region answers again',
});
