import { createRegionKind, ofHealth } from './region-health.ts';

/** A region does not answer. One that refuses the token does: then RegionUnauthorized takes over. */
export const regionDown = createRegionKind({
  alertname: 'RegionDown',
  severity: 'critical',
  told: ofHealth('down', ['up', 'unauthorized']),
  summary: (region) => `Region ${region} does not answer: nothing is seen of its Birds`,
  over: 'the region answers again',
});
