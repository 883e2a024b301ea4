import { plainText } from './plain-text.ts';

const MAX_CODE_POINTS = 80;

/** A region as people say it: `EU`. The region `all` is none: it stands for nestwatch itself. */
export function regionName(region: string): string {
  return region === 'all' ? 'all regions' : plainText(region, MAX_CODE_POINTS).toUpperCase();
}
