/** Reads and fills in `links` of regions: the addresses of Nests, Birds and Flights in the service's own application. */
import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import type { Path } from '../../document/problem.ts';
import { compileAt, renderedWithin } from '../../document/read-template.ts';
import { words } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import { LIMITS } from '../../limits.ts';
import { compileTemplate, type Template } from '../../templates/liquid.ts';

/** The things that can be linked. */
const LINKED = ['nest', 'bird', 'flight'] as const;
type Linked = (typeof LINKED)[number];
export type RegionLinks = Readonly<Partial<Record<Linked, Template>>>;

/** The variables of a template, as in the labels of alerts; each is encoded for an address. */
export interface LinkedPlace {
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

export const linksShape = z
  .strictObject({ nest: link('nest'), bird: link('bird'), flight: link('flight') })
  .optional()
  .describe(
    "Addresses in the service's own application that mails, webhooks and pages link to: `https://app.example.com/nests/{{ nest_id }}/birds/{{ bird_id }}`. Where one is not set, there is no such link.",
  );

export function readLinks(check: Check, path: Path): RegionLinks {
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

/** Addresses in the service's own application; only those that are configured and whose id is known. */
type ServiceAddresses = Readonly<Partial<Record<Linked, string>>>;
export type ServiceLinks = (place: Partial<LinkedPlace>) => ServiceAddresses;

const NOWHERE: LinkedPlace = { region: '', nest_id: '', nest: '', bird_id: '', bird: '', flight_id: '' };

const IDS = { nest: 'nest_id', bird: 'bird_id', flight: 'flight_id' } as const;

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
      if (!template || whole[IDS[of]] === '') return [];
      const address = renderedWithin(() => template.render(whole).trim()) ?? '';
      const isFine = address.length <= LIMITS.link_characters.most && URL.canParse(address);
      return isFine ? [[of, address]] : [];
    });
    return Object.fromEntries(found);
  };
}
