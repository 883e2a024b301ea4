import { plainText } from './plain-text.ts';

const MAX_CODE_POINTS = 80;

/** A region's name for people: `EU`. The name `all` is not a region; it stands for nestwatch itself. */
export function regionName(region: string): string {
  return region === 'all' ? 'all regions' : plainText(region, MAX_CODE_POINTS).toUpperCase();
}
