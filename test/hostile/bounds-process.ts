/**
 * One world that exceeds one limit, in a process in which that limit can be switched off before anything has read it.
 */
import { LIMITS, type LimitName } from '../../src/limits.ts';

const limit = process.argv[2] as LimitName;
if (process.argv[3] === 'off') Object.assign(LIMITS[limit], { most: 2 ** 50 });

const { EXCESSES } = await import('./excess.ts');
const { runSeed } = await import('./hostile-world.ts');
const excess = EXCESSES[limit];
if (excess.of === 'beside') {
  const mistake = await excess.mistake();
  process.send!(mistake === undefined ? [] : [mistake]);
} else {
  const { findings } = await runSeed(1, { isLarge: true, excess });
  process.send!(findings);
}
