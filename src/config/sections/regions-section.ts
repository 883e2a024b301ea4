import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { connectionKeys, readConnection } from '../../document/connection-config.ts';
import { isMap } from '../../document/read-list.ts';
import { checked, duration, twins, words } from '../../document/value-shape.ts';
import type { ConnectionSettings } from '../../http/http-settings.ts';
import { mistakeInBaseUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import { linksShape, type RegionLinks, readLinks } from './region-links.ts';

const REGION_NAME = /^[a-z0-9-]+$/;

const regionShape = z.strictObject({
  base_url: checked(mistakeInBaseUrl).describe(
    'Address of the service in this region, ending in `/api-rest`.',
  ),
  ...twins('token', 'API token of an organisation admin. Required.'),
  requests_per_second: z
    .number()
    .min(0.1)
    .max(100_000)
    .prefault(5)
    .describe('Maximum request rate. Below it, the rate adapts to what the service allows.'),
  concurrency: z.int().min(1).max(256).prefault(8).describe('Maximum number of concurrent requests.'),
  timeout: duration(100).prefault('15s').describe('How long to wait for the response to one request.'),
  ...connectionKeys,
  nests: z
    .strictObject({
      include: z.array(words).prefault(['*']).describe("Globs on a Nest's name or id."),
      exclude: z
        .array(words)
        .prefault([])
        .describe("Globs on a Nest's name or id. They take precedence over `include`."),
    })
    .prefault({})
    .describe(
      'Which Nests are watched. Notifications about other Nests are kept and forwarded, but raise no alert. What happened in a Nest while it was excluded is read once it is watched again, and kept and forwarded; alerts are raised only for what is still wrong then.',
    ),
  fly: z
    .boolean()
    .prefault(false)
    .describe(
      'Whether people with the scope `fly`, and `actions`, may start manual Birds of this region again.',
    ),
  links: linksShape,
});

export const regionsShape = z
  .record(z.string().regex(REGION_NAME), regionShape)
  .describe(
    'The instances of the service to watch, by a name you choose: lower-case letters, digits and hyphens. Regions are isolated from each other: trouble in one never delays another.',
  );

export interface RegionConfig extends ConnectionSettings {
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: Secret;
  /** The highest request rate. */
  readonly requestsPerSecond: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Globs for a Nest's name or id. */
  readonly nests: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** Whether Birds may be started. */
  readonly fly?: true;
  /** Addresses in the service's own application. */
  readonly links?: RegionLinks;
}

/** What is configured about what nestwatch may do at the service. */
export interface FlyConfig {
  readonly regions?: readonly Pick<RegionConfig, 'name' | 'fly'>[];
}

export function mayFly({ regions = [] }: FlyConfig, region: string): boolean {
  return regions.some(({ name, fly }) => name === region && fly === true);
}

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
  const connection = readConnection(check, path);
  const links = readLinks(check, [...path, 'links']);
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
    ...(region.fly && { fly: region.fly }),
    ...(Object.keys(links).length > 0 && { links }),
    ...connection,
  };
}

/** A token must be valid as a header's value. */
function mistakeInToken(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return /[\u0000-\u001f\u007f]/.test(text) ? 'must be one line without control characters' : undefined;
}
