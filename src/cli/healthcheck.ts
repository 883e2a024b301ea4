import { NestwatchError } from '../errors.ts';
import { plainText } from '../plain-text.ts';
import { askDaemon, type DaemonOptions } from './ask-daemon.ts';
import type { Edge } from './edge.ts';

const TIMEOUT_MS = 3000;
const HEALTHY = 0;
const UNHEALTHY = 1;

/** For containers: says nothing when all is well, and one line when it is not. */
export async function healthcheck(edge: Edge, options: DaemonOptions): Promise<number> {
  try {
    const { status, body } = await askDaemon(
      edge,
      options,
      { method: 'GET', path: '/-/healthy' },
      TIMEOUT_MS,
    );
    if (status === 200) return HEALTHY;
    edge.stderr.write(`nestwatch: not healthy (${status}): ${plainText(body, 300)}\n`);
    return UNHEALTHY;
  } catch (error) {
    // Only a daemon that does not answer is unhealthy; a wrong command or configuration is told as such.
    if (!(error instanceof NestwatchError) || !['unreachable', 'timeout', 'not_json'].includes(error.code))
      throw error;
    edge.stderr.write(`nestwatch: not healthy: ${error.message}\n`);
    return UNHEALTHY;
  }
}
