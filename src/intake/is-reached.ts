import { NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import { createServiceClient } from '../service/client.ts';
import type { ServiceRegion } from '../service/exchange.ts';
import type { Clock, Random } from '../time/clock.ts';

interface IsReachedOptions {
  readonly region: ServiceRegion;
  /** Closed by `isReached`. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Checks whether a region's service gives this process what reading requires: its Nests, the Birds of the first Nest,
 * and notifications. A replica needs this before it takes a region over, since a service that refuses one of these to
 * everybody would refuse it to the new reader as well. Errors are not reported, because another replica reads the
 * region. Ends early when `signal` aborts.
 */
export async function isReached(options: IsReachedOptions, signal: AbortSignal): Promise<boolean> {
  const { transport } = options;
  const client = createServiceClient({ ...options, report: () => {} });
  const end = () => void client.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    const [nest] = (await client.searchNests()).value.flatMap((one) => (one.ok ? [one.entry] : []));
    if (nest) await client.searchBirds(nest.id);
    await client.getNotifications({ page: 0, pageSize: 1, ascending: false });
    return true;
  } catch (error) {
    if (!(error instanceof NestwatchError)) throw error;
    return false;
  } finally {
    signal.removeEventListener('abort', end);
    await client.close();
    await transport.close();
  }
}
