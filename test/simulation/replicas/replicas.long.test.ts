import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { runReplicas } from './run-replicas.ts';

const HOURS = 1.5;

/** Together they have every trouble in every phase of a lease. */
const KNOWN_SEEDS = [9, 11, 12];

/** A new world in each run: the only place where real randomness is used. */
const NEW_SEEDS = [randomInt(1, 2 ** 31)];

for (const seed of [...KNOWN_SEEDS, ...NEW_SEEDS]) {
  test(`several replicas lose, invent, repeat and leave unexplained nothing in the world of seed ${seed} [long]`, async () => {
    const { findings, events, takeoversMs } = await runReplicas(seed, { hours: HOURS });
    expect(
      findings,
      `repeat it with: node test/simulation/simulate.ts --replicas --seed ${seed} --hours ${HOURS}`,
    ).toEqual([]);
    expect(events).toBeGreaterThan(0);
    expect(takeoversMs.length).toBeGreaterThan(0);
  });
}
