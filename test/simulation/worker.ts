import { parentPort } from 'node:worker_threads';
import type { Task } from './pool.ts';
import { runSeed } from './run.ts';
import { variationOf } from './zoo/variant.ts';
import { VARIANTS } from './zoo/variants.ts';

parentPort!.on('message', async ({ seed, hours, variant, isControl }: Task) => {
  const bad = VARIANTS.find(({ name }) => name === variant);
  const vary = bad && variationOf(bad, isControl);
  parentPort!.postMessage(await runSeed(seed, { hours, ...(vary && { vary }) }));
});
