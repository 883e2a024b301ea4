import { LIMITS } from '../limits.ts';
import { TemplateError } from '../templates/liquid.ts';
import { LINKED, type Linked, type LinkedPlace } from './sections/region-links.ts';
import type { RegionConfig } from './sections/regions-section.ts';

/** Addresses in the service's own application; only those that are configured and whose id is known. */
type ServiceAddresses = Readonly<Partial<Record<Linked, string>>>;
export type ServiceLinks = (place: Partial<LinkedPlace>) => ServiceAddresses;

const NOWHERE: LinkedPlace = { region: '', nest_id: '', nest: '', bird_id: '', bird: '', flight_id: '' };

const IDS = { nest: 'nest_id', bird: 'bird_id', flight: 'flight_id' } as const;

/**
 * Returns a function that gives the addresses of Nests, Birds and Flights of these regions in the service's own
 * application.
 */
export function createServiceLinks(regions: readonly Pick<RegionConfig, 'name' | 'links'>[]): ServiceLinks {
  const byRegion = new Map(regions.map(({ name, links }) => [name, links]));
  return (place) => {
    const links = byRegion.get(place.region ?? '');
    if (!links) return {};
    const whole = { ...NOWHERE, ...place };
    const found = LINKED.flatMap((of): [Linked, string][] => {
      const template = links[of];
      if (!template || whole[IDS[of]] === '') return [];
      const address = addressOf(() => template.render(whole).trim());
      return address === undefined ? [] : [[of, address]];
    });
    return Object.fromEntries(found);
  };
}

/** Undefined if a name from the service makes the template exceed a limit: no message waits for a link. */
function addressOf(render: () => string): string | undefined {
  try {
    const address = render();
    return address.length <= LIMITS.link_characters.most && URL.canParse(address) ? address : undefined;
  } catch (error) {
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}
