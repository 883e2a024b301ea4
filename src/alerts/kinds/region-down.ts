import { createRegionKind } from './region-health.ts';

/** A region does not answer. One that refuses the token does: then RegionUnauthorized takes over. */
export const regionDown = createRegionKind({
  alertname: 'RegionDown',
  health: 'down',
  endedBy: ['up', 'unauthorized'],
  summary: (region) => `Region ${region} does not answer: nothing is seen of its Birds`,
});
