import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A webhook that accepts everything, after a short delay in which a kill leaves the sender without an answer. */
export async function openWebhook(accepted: (body: unknown, request: IncomingMessage) => void) {
  const server = createServer(async (request, response) => {
    let body: unknown;
    try {
      body = await json(request);
    } catch {
      // The sender was killed during the request: nothing was accepted.
      return;
    }
    accepted(body, request);
    setImmediate(() => response.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
