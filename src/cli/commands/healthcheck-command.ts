import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { plainText } from '../../text/plain-text.ts';
import { askAnyDaemon, type DaemonOptions } from '../daemon-client.ts';
import { jsonText } from '../terminal-text.ts';

const TIMEOUT_MS = 3000;
const HEALTHY = 0;
const UNHEALTHY = 1;

const healthShape = z.object({
  healthy: z.boolean(),
  working: z.boolean(),
  ready: z.boolean(),
  reasons: z.array(z.string()),
});

/**
 * For containers: prints nothing if the daemon is healthy, and one line otherwise. A daemon that is still starting is
 * healthy; one whose work is interrupted, because its store is full, is not.
 */
export async function healthcheck(
  edge: Edge,
  options: DaemonOptions & { readonly json: boolean },
): Promise<number> {
  const unhealthy = (reason: string) => {
    if (options.json) edge.stdout.write(jsonText({ healthy: false, ready: false, reasons: [reason] }));
    edge.stderr.write(`nestwatch: not healthy: ${plainText(reason, 300)}\n`);
    return UNHEALTHY;
  };
  try {
    const { status, body } = await askAnyDaemon(
      edge,
      options,
      { method: 'GET', path: '/-/ready', headers: { accept: 'application/json' } },
      TIMEOUT_MS,
    );
    const answer = healthShape.safeParse(jsonOf(body));
    if (!answer.success) return unhealthy(`HTTP ${status}, and this is not the answer of a nestwatch daemon`);
    const { healthy, working, ready, reasons } = answer.data;
    if (options.json) edge.stdout.write(jsonText({ healthy: healthy && working, ready, reasons }));
    if (healthy && working) return HEALTHY;
    edge.stderr.write(`nestwatch: not healthy: ${plainText(reasons.join(' '), 300)}\n`);
    return UNHEALTHY;
  } catch (error) {
    // Only a daemon that does not answer is unhealthy. A wrong command is a different error.
    if (!(error instanceof NestwatchError) || !['unreachable', 'timeout', 'not_json'].includes(error.code))
      throw error;
    return unhealthy(error.message);
  }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
