import { describe, expect, test } from 'vitest';
import { runReplicas } from '../replicas/run-replicas.ts';
import { runSeed } from '../run.ts';
import { type Variant, variationOf } from './variant.ts';
import { VARIANTS } from './variants.ts';

/**
 * The first world in which each of these was found within half an hour. A change of the daemon moves them, so the search
 * continues from there; `node test/simulation/zoo/hunt-all.ts` hunts all of them.
 */
const FOUND_IN: Readonly<Record<string, number>> = {
  no_dedupe: 1,
  dedupe_by_content: 1,
  open_flights_forgotten: 2,
  watch_begins_anew: 1,
  events_apart_from_alerts: 2,
  milliseconds_only: 1,
  retry_after_ignored: 6,
  polls_in_vain: 1,
  settled_before_sending: 1,
  lease_ignored: 3,
  new_id_for_each_try: 1,
  told_is_forgotten: 1,
  no_audit: 11,
  audit_without_bisect: 11,
  epoch_not_checked: 1,
  waits_by_local_clock: 16,
  kept_while_stopping: 2,
  living_taken_for_dead: 1,
  claims_without_a_name: 1,
};
const HOURS = 0.5;
const MOST_WORLDS = 40;

const chosen = VARIANTS.filter(({ name }) => name in FOUND_IN);

const runOf = ({ isShared }: Variant) => (isShared ? runReplicas : runSeed);

describe('the simulation finds a daemon', () => {
  test.each(chosen)('$name: $mistake [long]', async (variant) => {
    const first = FOUND_IN[variant.name]!;
    let found = new Set<string>();
    for (let seed = first; seed < first + MOST_WORLDS && !found.has(variant.by); seed += 1) {
      const { findings } = await runOf(variant)(seed, { hours: HOURS, vary: variationOf(variant) });
      found = new Set(findings.map(({ fault }) => fault));
    }
    expect(found).toContain(variant.by);
  });

  test('only by its mistake: the world in which most are found passes without it [long]', async () => {
    for (const run of [runSeed, runReplicas]) expect((await run(1, { hours: HOURS })).findings).toEqual([]);
  });
});
