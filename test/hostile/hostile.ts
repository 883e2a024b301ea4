/**
 * Runs hostile worlds, or a single one to debug:
 *
 *   node test/hostile/hostile.ts --seeds 5000 [--from 1] [--large]
 *   node test/hostile/hostile.ts --seed 17 [--large]
 *
 * Exits with 1 if anything was found. For each failed world it prints the command that repeats it.
 */
import { parseArgs } from 'node:util';
import { commandOf, runSeed } from './hostile-world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    large: { type: 'boolean', default: false },
    watch: { type: 'boolean', default: false },
  },
});
const isLarge = values.large;
const started = process.cpuUsage();
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
let failed = 0;
let longest = { turnMs: 0, seed: 0 };
for (let seed = first; seed < first + count; seed += 1) {
  const outcome = await runSeed(seed, {
    isLarge,
    ...(values.watch && { watch: (one) => console.log(one) }),
  });
  if (outcome.longestTurnMs > longest.turnMs) longest = { turnMs: outcome.longestTurnMs, seed };
  if (outcome.findings.length === 0) continue;
  failed += 1;
  const shown = [...new Set(outcome.findings.map((one) => one.slice(0, 1500)))].slice(0, 5);
  console.log(`seed ${seed}: ${shown.join('\n  ')}\n  ${commandOf(seed, { isLarge })}`);
}
const { user, system } = process.cpuUsage(started);
console.log(
  `${count} worlds, ${failed} failed; the longest turn took ${Math.round(longest.turnMs)} ms (seed ${longest.seed}); ${((user + system) / 1000 / count).toFixed(0)} ms of processor time each`,
);
process.exitCode = failed === 0 ? 0 : 1;
