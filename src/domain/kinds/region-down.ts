/** A region does not answer. One that refuses the token does answer; then RegionUnauthorized takes over. */
import { lasting } from '../alert/parameter.ts';
import { defineKind } from './kind.ts';
import { ofHealth, regionTrouble } from './region-trouble.ts';

export const regionDown = defineKind({
  name: 'RegionDown',
  fires: 'the region does not answer',
  resolves: 'it answers again',
  words: { firing: 'Region down', still: 'Region still down', over: 'Region up again' },
  parameters: lasting(60_000),
  severities: ['critical'],
  inhibitsRegion: true,

  raisedBy: ['region_health'],
  observes: ['region_health'],

  ...regionTrouble({
    read: ofHealth('down', ['up', 'unauthorized']),
    summary: (region) => `Region ${region} does not answer: its Birds cannot be watched`,
    over: 'the region answers again',
  }),
});
