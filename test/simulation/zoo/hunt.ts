/** Looks for the first world in which a variant is found to do the wrong that is meant. */

import type { Finding } from '../checker.ts';
import type { Pool } from '../pool.ts';
import type { Variant } from './variants.ts';

export interface Hunt {
  readonly variant: Variant;
  /** Undefined when it got away. */
  readonly finding: Finding | undefined;
  readonly seeds: number;
}

export async function hunt(variant: Variant, pool: Pool, most: number, hours: number): Promise<Hunt> {
  for (let seed = 1; seed <= most; seed += 1) {
    const { findings } = await pool.run({ seed, hours, variant: variant.name });
    const finding = findings.find(({ fault }) => fault === variant.by);
    if (finding) return { variant, finding, seeds: seed };
  }
  return { variant, finding: undefined, seeds: most };
}
