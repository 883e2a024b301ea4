import type { ConnectionSettings } from '../http/http-settings.ts';
import { openTransport } from '../http/transport.ts';
import type { Edge } from '../process-io.ts';
import type { ServiceRegion } from '../service/client.ts';
import { createServiceClient, type ServiceClient } from '../service/client.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Runs `work` with a client for a region, and closes the client afterwards, whatever the result. */
export async function withClient<Result>(
  edge: Edge,
  { region, timeoutMs }: { readonly region: ServiceRegion & ConnectionSettings; readonly timeoutMs: number },
  work: (client: ServiceClient) => Promise<Result>,
): Promise<Result> {
  const transport = openTransport({ ...region, connections: 1, timeoutMs, maxBodyBytes: MAX_BODY_BYTES });
  const client = createServiceClient({
    region,
    transport,
    clock: edge.clock,
    random: edge.random,
    report: () => {},
  });
  try {
    return await work(client);
  } finally {
    await client.close();
    await transport.close();
  }
}
