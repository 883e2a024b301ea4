import { mistakeInBaseUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import type { RegionConfig } from '../config.ts';
import type { Check } from '../document/check.ts';
import { REGION_NAME, regionShape } from './file-shape.ts';

export function readRegions(check: Check): RegionConfig[] {
  const regions = check.raw(['regions']);
  if (regions === undefined) {
    check.problem(['regions'], 'is missing: name at least one region, with its `base_url` and `token`');
    return [];
  }
  if (!isMap(regions)) {
    check.problem(['regions'], 'must be a map of region names, such as eu, and their settings');
    return [];
  }
  const names = Object.keys(regions);
  if (names.length === 0) check.problem(['regions'], 'must name at least one region');
  return names.flatMap((name) => readRegion(check, name) ?? []);
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readRegion(check: Check, name: string): RegionConfig | undefined {
  const path = ['regions', name];
  if (!REGION_NAME.test(name)) {
    check.keyProblem(path, 'a region name has only lower-case letters, digits and hyphens');
  }
  if (!isMap(check.raw(path))) {
    check.problem(path, 'must be a map with `base_url` and `token`');
    return undefined;
  }
  const token = check.secret(path, 'token', { isRequired: true, mistake: mistakeInToken });
  const baseUrl = check.raw([...path, 'base_url']);
  const mistake = typeof baseUrl === 'string' ? mistakeInBaseUrl(baseUrl) : undefined;
  if (mistake) check.problem([...path, 'base_url'], mistake);
  const region = check.read(regionShape, path);
  if (!region || !token) return undefined;
  return {
    name,
    baseUrl: withoutTrailingSlash(region.base_url),
    token,
    requestsPerSecond: region.requests_per_second,
    concurrency: region.concurrency,
    timeoutMs: region.timeout,
    nests: region.nests,
  };
}

/** A token goes out as a header's value. */
function mistakeInToken(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return /[\u0000-\u001f\u007f]/.test(text) ? 'must be one line without control characters' : undefined;
}
