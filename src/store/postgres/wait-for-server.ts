import { type Patience, waitToOpen } from '../../time/wait-to-open.ts';
import { isMendedByTime } from './postgres-failure.ts';

/** How often a server that is away is tried. */
const RETRY_MS = 1_000;

/**
 * Opens something on a server, which may be restarting or failing over: what time mends is tried until `patienceMs` have
 * passed. A refused password or a missing database fails at once.
 */
export function waitForServer<T>(open: () => Promise<T>, patience: Patience): Promise<T> {
  return waitToOpen(open, isMendedByTime, RETRY_MS, patience);
}
