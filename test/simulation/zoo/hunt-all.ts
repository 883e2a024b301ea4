/**
 * `node test/simulation/zoo/hunt-all.ts [--seeds 200] [--only NAME,NAME] [--jobs N]`: prints a table of which check
 * finds which variant.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { createPool } from '../pool.ts';
import { type Hunt, hunt } from './hunt.ts';
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
const only = values.only?.split(',');
const variants = VARIANTS.filter(({ name }) => only?.includes(name) ?? true);
const hunts = await Promise.all(
  variants.map(async (variant) => {
    const result = await hunt(variant, pool, Number(values.seeds), Number(values.hours));
    console.log(rowOf(result));
    return result;
  }),
);
await pool.close();
const escaped = hunts.filter(({ finding }) => !finding);
console.log(`${hunts.length} variants, ${escaped.length} not found`);
process.exitCode = escaped.length === 0 ? 0 : 1;

/** Name, check, seeds, mistake; rows appear as variants are found. */
function rowOf({ variant: { name, mistake, without }, finding, seeds: count }: Hunt): string {
  const end = finding ? `${finding.fault}: ${finding.check}` : 'NOT FOUND';
  const alone = without ? ` (without ${without.join(' and ')})` : '';
  return `${name.padEnd(30)} ${end.padEnd(40)} ${String(count).padStart(3)} seeds  ${mistake}${alone}`;
}
