/** `node test/simulation/zoo/main.ts [--seeds 200] [--only NAME] [--jobs N]`: the table of what kills which variant. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { createPool } from '../pool.ts';
import { hunt } from './hunt.ts';
import { VARIANTS } from './variants.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    hours: { type: 'string', default: '2' },
    only: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const pool = createPool(Number(values.jobs));
const variants = VARIANTS.filter(({ name }) => values.only === undefined || name === values.only);
let done = 0;
const hunts = await Promise.all(
  variants.map(async (variant) => {
    const result = await hunt(variant, pool, Number(values.seeds), Number(values.hours));
    done += 1;
    process.stderr.write(`${done} of ${variants.length} variants\r`);
    return result;
  }),
);
await pool.close();
for (const { variant, finding, seeds } of hunts) {
  const end = finding ? `${finding.fault}: ${finding.check}`.padEnd(46) : 'NOT FOUND'.padEnd(46);
  console.log(
    `${variant.name.padEnd(30)} ${end} after ${String(seeds).padStart(3)} seeds  ${variant.mistake}`,
  );
}
process.exitCode = hunts.every(({ finding }) => finding) ? 0 : 1;
