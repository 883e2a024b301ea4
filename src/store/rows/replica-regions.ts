import type { ConfigInForce } from '../ownership-store.ts';

/** The regions of a replica's configuration as stored; empty if they are unknown. */
export function regionsText({ regions }: ConfigInForce): string {
  return regions ? JSON.stringify(regions) : '';
}

export function regionsOf(text: string): Pick<ConfigInForce, 'regions'> {
  return text === '' ? {} : { regions: JSON.parse(text) as string[] };
}
