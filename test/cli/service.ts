import { onTestFinished } from 'vitest';
import { openSimulator } from '../../src/simulator/answers/simulator-server.ts';
import { createWorld } from '../../src/simulator/world/world.ts';
import { createVirtualClock } from '../virtual-clock.ts';

export const TOKEN = 'demo#$[token';

/** A simulated region over real HTTP, with one Nest and what tests request in it; closed with the test. */
export async function openService() {
  const world = createWorld({ region: 'eu', clock: createVirtualClock(), random: () => 0.5, token: TOKEN });
  const user = world.addUser({ firstName: 'Anna' });
  const nest = world.addNest({ name: 'Marketing' });
  const manual = world.addBird(nest.id, { name: 'Translate blog', triggerType: 'manual' });
  const event = world.addBird(nest.id, { name: 'Sync pages', triggerType: 'event' });
  const { url, close } = await openSimulator({ world, host: '127.0.0.1', port: 0 });
  onTestFinished(close);
  return { world, url, user, nest, manual, event };
}
