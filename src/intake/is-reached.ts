import { NestwatchError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import { createServiceClient } from '../service/client.ts';
import type { ServiceRegion } from '../service/exchange.ts';
import type { Clock, Random } from '../time/clock.ts';

interface IsReachedOptions {
  readonly region: ServiceRegion;
  /** Is closed here. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Whether the service of a region gives this process what every reading lives by: its Nests, the Birds of the first, and
 * notifications. Where it gives some of that to nobody, another reader would fare no better than the present one. What is
 * met is reported to nobody, since another replica reads the region. Ends early when `signal` aborts.
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
