/**
 * Runs worlds that several replicas watch, on all cores, or one that is to be looked at:
 *
 *   node test/simulation/replicas/simulate-replicas.ts --seeds 500 [--from 1] [--hours 6] [--jobs 2]
 *   node test/simulation/replicas/simulate-replicas.ts --seed 17 [--hours 6] [--watch]
 */
import { parseArgs } from 'node:util';
import { clockOf } from '../finding.ts';
import { runReplicas } from './run-replicas.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    hours: { type: 'string', default: '6' },
    watch: { type: 'boolean', default: false },
  },
});
const takeoversMs: number[] = [];
for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed += 1) {
  const outcome = await runReplicas(seed, {
    hours: Number(values.hours),
    ...(values.watch && {
      watch: (one, atUs) =>
        ['duty', 'region_health'].includes(one.what) && console.log(clockOf(atUs), JSON.stringify(one)),
    }),
  });
  takeoversMs.push(...outcome.takeoversMs);
  console.log(
    `seed ${seed}: ${outcome.events} events, ${outcome.lives} lives, ${outcome.requests} requests, ${outcome.unavoidable} repeats, ${outcome.takeoversMs.length} takeovers, ${outcome.findings.length} findings`,
  );
  for (const { fault, check, what } of outcome.findings.slice(0, 12))
    console.log(`  ${fault}: ${check}: ${what}`);
}
takeoversMs.sort((a, b) => a - b);
console.log(
  `takeovers ${takeoversMs.length}, p50 ${takeoversMs[takeoversMs.length >> 1]}, p99 ${takeoversMs[Math.floor(takeoversMs.length * 0.99)]}, most ${takeoversMs.at(-1)} ms`,
);
