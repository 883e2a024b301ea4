import { parentPort } from 'node:worker_threads';
import type { Task } from './pool.ts';
import { runReplicas } from './replicas/run-replicas.ts';
import { runSeed } from './run.ts';
import { variationOf } from './zoo/variant.ts';
import { VARIANTS } from './zoo/variants.ts';

parentPort!.on('message', async ({ seed, hours, variant, isControl, isShared = false }: Task) => {
  const bad = VARIANTS.find(({ name }) => name === variant);
  const vary = bad && variationOf(bad, isControl);
  const run = isShared || bad?.isShared ? runReplicas : runSeed;
  parentPort!.postMessage(await run(seed, { hours, ...(vary && { vary }) }));
});
