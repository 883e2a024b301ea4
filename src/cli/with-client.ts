import type { ConnectionSettings } from '../http/http-settings.ts';
import { openTransport } from '../http/transport.ts';
import { LIMITS } from '../limits.ts';
import type { Edge } from '../process-io.ts';
import type { Happening } from '../report.ts';
import { createServiceClient, type ServiceClient, type ServiceRegion } from '../service/client.ts';

export type CalledRegion = ServiceRegion & ConnectionSettings & { readonly timeoutMs: number };

/** A client for a region. Without `more` it reports nothing, and begins as slowly as the daemon. */
export function openClient(
  { clock, random }: Edge,
  region: CalledRegion,
  more: { readonly startPerSecond?: number; readonly report?: (happening: Happening) => void } = {},
) {
  const { concurrency: connections, timeoutMs } = region;
  const maxBodyBytes = LIMITS.answer_bytes.most;
  const transport = openTransport({ ...region, connections, timeoutMs, maxBodyBytes });
  const client = createServiceClient({ region, transport, clock, random, report: () => {}, ...more });
  return {
    client,
    async close(): Promise<void> {
      await client.close();
      await transport.close();
    },
  };
}

/** Runs `work` with a client for a region, and closes the client afterwards, whatever the result. */
export async function withClient<Result>(
  edge: Edge,
  region: CalledRegion,
  work: (client: ServiceClient) => Promise<Result>,
): Promise<Result> {
  const { client, close } = openClient(edge, region);
  return work(client).finally(close);
}
