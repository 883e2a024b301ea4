import * as z from 'zod';
import { type Check, isMap } from '../../document/check.ts';
import { connectionKeys, readConnection } from '../../document/connection-config.ts';
import type { Path } from '../../document/problem.ts';
import { compileAt, renderedWithin } from '../../document/read-template.ts';
import { checked, duration, twins, words } from '../../document/value-shape.ts';
import type { ConnectionSettings } from '../../http/http-settings.ts';
import { mistakeInBaseUrl, mistakeInUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import { LIMITS } from '../../limits.ts';
import type { Secret } from '../../secret.ts';
import { compileTemplate, type Template } from '../../templates/liquid.ts';

// Reads and fills in `links` of regions: the addresses of Nests, Birds and Flights in the service's own application.

/** The things that can be linked. */
const LINKED = ['nest', 'bird', 'flight'] as const;
type Linked = (typeof LINKED)[number];
type RegionLinks = Readonly<Partial<Record<Linked, Template>>>;

/** The variables of a template, as in the labels of alerts; each is encoded for an address. */
interface LinkedPlace {
  readonly region: string;
  readonly nest_id: string;
  readonly nest: string;
  readonly bird_id: string;
  readonly bird: string;
  readonly flight_id: string;
}

const SAMPLE: LinkedPlace = {
  region: 'eu',
  nest_id: '682',
  nest: 'Marketing',
  bird_id: '148890',
  bird: 'Translate blog',
  flight_id: '01890a5d-ac96-774b-bcce-b302099a8057',
};
/** A sample in which every value differs: the host of an address must not depend on any of them. */
const OTHER: LinkedPlace = {
  region: 'x',
  nest_id: 'x',
  nest: 'x.y:1@z/',
  bird_id: 'x',
  bird: 'x.y:1@z/',
  flight_id: 'x',
};

const VARIABLES: Readonly<Record<Linked, readonly (keyof LinkedPlace)[]>> = {
  nest: ['region', 'nest_id', 'nest'],
  bird: ['region', 'nest_id', 'nest', 'bird_id', 'bird'],
  flight: ['region', 'nest_id', 'nest', 'bird_id', 'bird', 'flight_id'],
};

const link = (of: Linked) =>
  words
    .optional()
    .describe(
      `Address of a ${of === 'nest' ? 'Nest' : of === 'bird' ? 'Bird' : 'Flight'}, a Liquid template with ${VARIABLES[of].map((name) => `\`${name}\``).join(', ')}.`,
    );

const linksShape = z
  .strictObject({ nest: link('nest'), bird: link('bird'), flight: link('flight') })
  .optional()
  .describe(
    "Addresses in the service's own application that mails, webhooks and pages link to: `https://app.example.com/nests/{{ nest_id }}/birds/{{ bird_id }}`. Where one is not set, there is no such link.",
  );

function readLinks(check: Check, path: Path): RegionLinks {
  const links = LINKED.flatMap((of): [Linked, Template][] => {
    const at = [...path, of];
    const text = check.raw(at);
    if (typeof text !== 'string' || text === '') return [];
    const variables = (place: LinkedPlace) => only(place, VARIABLES[of]);
    const template = compileAt(check, at, () => compileTemplate(text, 'address', variables(SAMPLE)));
    if (!template) return [];
    const mistake = mistakeIn(template, variables);
    if (mistake) check.problem(at, mistake);
    return [[of, template]];
  });
  return Object.fromEntries(links);
}

function mistakeIn(template: Template, variables: (place: LinkedPlace) => object): string | undefined {
  const address = template.render(variables(SAMPLE)).trim();
  const mistake = mistakeInUrl(address);
  if (mistake) return `${mistake}, when it is filled in`;
  if (address.length > LIMITS.link_characters.most) {
    return `makes an address of more than ${LIMITS.link_characters.most} characters`;
  }
  const other = URL.parse(template.render(variables(OTHER)).trim());
  return other?.origin === new URL(address).origin ? undefined : 'must name its host without any variable';
}

function only(place: LinkedPlace, names: readonly (keyof LinkedPlace)[]): object {
  return Object.fromEntries(
    Object.entries(place).filter(([name]) => names.includes(name as keyof LinkedPlace)),
  );
}

/** Addresses in the service's own application; only those that are configured and whose ids are known. */
type ServiceAddresses = Readonly<Partial<Record<Linked, string>>>;
export type ServiceLinks = (place: Partial<LinkedPlace>) => ServiceAddresses;

const NOWHERE: LinkedPlace = { region: '', nest_id: '', nest: '', bird_id: '', bird: '', flight_id: '' };

/** An alert about several Birds has the id of a Flight, but neither that of its Bird nor of its Nest. */
const IDS = {
  nest: ['nest_id'],
  bird: ['nest_id', 'bird_id'],
  flight: ['nest_id', 'bird_id', 'flight_id'],
} as const;

/**
 * Returns a function that gives the addresses of Nests, Birds and Flights of these regions in the service's own
 * application.
 */
export function createServiceLinks(
  regions: readonly { readonly name: string; readonly links?: RegionLinks }[],
): ServiceLinks {
  const byRegion = new Map(regions.map(({ name, links }) => [name, links]));
  return (place) => {
    const links = byRegion.get(place.region ?? '');
    if (!links) return {};
    const whole = { ...NOWHERE, ...place };
    const found = LINKED.flatMap((of): [Linked, string][] => {
      const template = links[of];
      if (!template || IDS[of].some((id) => whole[id] === '')) return [];
      const address = renderedWithin(() => template.render(whole).trim()) ?? '';
      const isFine = address.length <= LIMITS.link_characters.most && URL.canParse(address);
      return isFine ? [[of, address]] : [];
    });
    return Object.fromEntries(found);
  };
}

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
    'The instances of the service to watch, by a name you choose: lower-case letters, digits and hyphens, but not `all`, which means all of them. Regions are isolated from each other: trouble in one never delays another.',
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
  // So are the alerts labelled that are about no single one.
  if (name === 'all') {
    check.keyProblem(
      path,
      'a region cannot be called `all`, which means all of them: choose another name; events already stored keep the old one',
    );
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
