import { parentPort } from 'node:worker_threads';
import type { Task } from './pool.ts';
import { runSeed } from './run.ts';
import { VARIANTS } from './zoo/variants.ts';

parentPort!.on('message', async ({ seed, hours, variant }: Task) => {
  const vary = VARIANTS.find(({ name }) => name === variant)?.vary;
  parentPort!.postMessage(await runSeed(seed, { hours, ...(vary && { vary }) }));
});
