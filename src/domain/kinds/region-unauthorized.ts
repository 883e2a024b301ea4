/** A region refuses the token. If it stops answering at all, that does not mean that the token is valid again. */
import { lasting } from '../alert/parameter.ts';
import { defineKind } from './kind.ts';
import { ofHealth, regionTrouble } from './region-trouble.ts';

export const regionUnauthorized = defineKind({
  name: 'RegionUnauthorized',
  fires: 'the region refuses the token',
  resolves: 'it accepts the token again',
  words: { firing: 'Token refused', still: 'Token still refused', over: 'Token accepted again' },
  parameters: lasting(),
  severities: ['critical'],
  inhibitsRegion: true,

  raisedBy: ['region_health'],
  observes: ['region_health'],

  ...regionTrouble({
    read: ofHealth('unauthorized', ['up']),
    summary: (region) => `Region ${region} refuses the token: its Birds cannot be watched`,
    action: (region) =>
      `Create a new API token as an organisation admin and use it for regions.${region}.token. Everything that was missed is read then`,
    over: 'the region answers again',
  }),
});
