/**
 * A webhook that accepts everything and remembers the id of each message, so that what is lost, sent twice or
 * invented can be counted. It takes a moment for each call, in which a kill leaves the sender without an answer.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Witness {
  readonly url: string;
  /** The ids under which an event was forwarded. */
  readonly forwarded: ReadonlyMap<string, readonly string[]>;
  /** For each event of an alert, the ids of the notifications that contained it. */
  readonly notified: ReadonlyMap<string, readonly string[]>;
  /** How many notifications it has accepted. */
  accepted(): number;
  /** The instants of the heartbeats. */
  readonly beatsMs: readonly number[];
  close(): Promise<void>;
}

interface Forwarded {
  readonly id: string;
}

interface Alert {
  readonly fingerprint: string;
  readonly startsAt: string;
  readonly events: readonly { readonly key: string }[];
}

export async function openWitness(): Promise<Witness> {
  const forwarded = new Map<string, string[]>();
  const notified = new Map<string, string[]>();
  const beatsMs: number[] = [];
  let accepted = 0;
  const add = (map: Map<string, string[]>, key: string, id: string) =>
    map.set(key, [...(map.get(key) ?? []), id]);

  function remember(id: string, body: Forwarded[] | { readonly alerts: readonly Alert[] }): void {
    if (Array.isArray(body)) {
      // By contract, the alert's own notification contains some events again under another id.
      if (id.startsWith('forward-')) for (const event of body) add(forwarded, event.id, id);
      return;
    }
    for (const { fingerprint, startsAt, events } of body.alerts) {
      for (const { key } of events) add(notified, `${fingerprint} ${startsAt} ${key}`, id);
    }
  }

  const server = createServer(async (request, response) => {
    if (request.url === '/beat') {
      beatsMs.push(Date.now());
      response.end();
      return;
    }
    let body = '';
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      // The sender was killed during the request: nothing was accepted.
      return;
    }
    remember(String(request.headers['webhook-id']), JSON.parse(body));
    accepted += 1;
    setTimeout(() => response.writeHead(204).end(), 5);
  });
  server.keepAliveTimeout = 65_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    forwarded,
    notified,
    accepted: () => accepted,
    beatsMs,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
