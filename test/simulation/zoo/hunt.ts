/** Looks for the first world in which a variant is found to make its mistake. */

import type { Finding } from '../finding.ts';
import type { Pool } from '../pool.ts';
import type { Outcome } from '../run.ts';
import type { Variant } from './variant.ts';

export interface Hunt {
  readonly variant: Variant;
  /** Undefined if it was not found. */
  readonly finding: Finding | undefined;
  readonly seeds: number;
}

export async function hunt(variant: Variant, pool: Pool, most: number, hours: number): Promise<Hunt> {
  for (let seed = 1; seed <= most; seed += 1) {
    const task = { seed, hours, variant: variant.name };
    const { findings } = await pool.run(task);
    const [finding] = await ownFindings(
      findings.filter(({ fault }) => fault === variant.by),
      () => pool.run({ ...task, isControl: true }),
    );
    if (finding) return { variant, finding, seeds: seed };
  }
  return { variant, finding: undefined, seeds: most };

  /** The findings that the disabled layers do not explain without the mistake. */
  async function ownFindings(
    found: readonly Finding[],
    control: () => Promise<Outcome>,
  ): Promise<readonly Finding[]> {
    if (!variant.without || found.length === 0) return found;
    const explained = new Set((await control()).findings.map(({ what }) => what));
    return found.filter(({ what }) => !explained.has(what));
  }
}
