/** Ids, and the names of regions, as people see and type them. */

import { createHash } from 'node:crypto';
import { plainText } from './plain-text.ts';

const GUID = /^[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i;

/** The form in which ids are kept and compared: a GUID means the same in either case, any other id may not. */
export function foldedGuid(id: string): string {
  return GUID.test(id) ? id.toLowerCase() : id;
}

/** A GUID by its first eight signs, for people; any other id whole. */
export function shortGuid(id: string): string {
  return GUID.test(id) ? id.slice(0, 8) : id;
}

export const isGuid = (text: string): boolean => GUID.test(text);

const MAX_CODE_POINTS = 80;

/** A region's name for people: `EU`. The name `all` is not a region; it stands for nestwatch itself. */
export function regionName(region: string): string {
  return region === 'all' ? 'all regions' : plainText(region, MAX_CODE_POINTS).toUpperCase();
}

/** The same UUID for the same parts. */
export function uuidOf(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}
