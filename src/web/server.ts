/** Opens and closes the HTTP server. `routes.ts` answers the requests. */
import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import type { ServerTls } from '../http/http-settings.ts';
import { formatHostPort, listenError } from '../http/web-address.ts';
import type { Happening, Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import { createGate, type Gate } from './bounded-work.ts';
import { boundConnections, CONNECTION_BOUNDS, countUnread } from './connections.ts';
import { HEALTH_PATHS, keepHealth } from './monitoring.ts';
import { createPush, type Push } from './push.ts';
import { takeTurns } from './request-turns.ts';
import { createApp, createOpeningApp } from './routes.ts';
import type { WebOptions } from './web-options.ts';

export interface Web {
  /** With the actual port. */
  readonly url: string;
  /** Receives every report, for the pages that are open. */
  hear(happening: Happening): void;
  /** Answers by another configuration from now on. The address that it listens on does not change. */
  follow(
    configured: Pick<
      WebOptions,
      'config' | 'alerting' | 'links' | 'serviceLinks' | 'messages' | 'oidc' | 'presses' | 'browsers'
    >,
  ): void;
  /** Accepts no more requests. Resolves when those in progress have ended or were cut off after `CLOSE_GRACE_MS`. */
  close(): Promise<void>;
}

/** A server that only says that the store is being opened, until there is something to serve. */
export interface Door extends Pick<Web, 'url' | 'close'> {
  serve(options: WebOptions): Web;
}

const CLOSE_GRACE_MS = 2_000;

/** Starts to listen, and serves at once. Rejects as `openDoor` does. */
export async function openWeb(options: WebOptions): Promise<Web> {
  return (await openDoor(options, () => '')).serve(options);
}

/**
 * Starts to listen; until `serve` is called it answers with `opening`. Rejects with `port_in_use` if another process
 * already listens there. Port 0 chooses a free port.
 */
export async function openDoor(
  { config, openFiles, clock, report }: Pick<WebOptions, 'config' | 'openFiles' | 'clock' | 'report'>,
  opening: () => string,
): Promise<Door> {
  let isClosing = false;
  let push: Push | undefined;
  let app = createOpeningApp(config, () => isClosing, opening);
  let { tls } = config;
  const server = createServer(
    (...request) => app.fetch(...request),
    () => tls,
    report,
  );
  const unreadBytes = countUnread(server);
  boundConnections(server, openFiles, (limit) => report({ what: 'limit_reached', limit }));
  // Without a host, Node listens on `::`, which takes IPv4 as well, or on 0.0.0.0 if the machine has no IPv6.
  server.listen(config.port, config.host || undefined);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(config, error);
  }
  const { address, port } = server.address() as AddressInfo;
  const url = `${config.tls ? 'https' : 'http'}://${formatHostPort({ host: config.host || address, port })}`;

  async function close(): Promise<void> {
    isClosing = true;
    push?.end();
    const closed = once(server, 'close');
    server.close();
    server.closeIdleConnections();
    const cancel = clock.setTimer(CLOSE_GRACE_MS, () => server.closeAllConnections());
    await closed;
    cancel();
  }

  return {
    url,
    close,
    serve(given) {
      const reached = () => report({ what: 'limit_reached', limit: 'waiting_requests' });
      const options = throughGate(given, reached);
      const opened = createPush(clock, openFiles, options.isShared);
      push = opened;
      const state = {
        isClosing: () => isClosing,
        unreadBytes,
        health: keepHealth(given),
        publicStore: gatedStore(given.store, createGate(reached)),
      };
      app = createApp(options, state, opened);
      return {
        url,
        close,
        hear: opened.hear,
        follow(configured) {
          tls = configured.config.tls ?? tls;
          app = createApp({ ...options, ...configured }, state, opened);
          // Readers of the streams may no longer have the right to read.
          opened.end();
        },
      };
    },
  };
}

/** Makes requests take turns with the watch when they use the store and the stages. */
function throughGate(options: WebOptions, reached: () => void): WebOptions {
  const { store, metrics, impairments } = options;
  // Scrapes have a gate of their own, so that they succeed whatever pages are requested.
  const [gate, scrapes] = [createGate(reached), createGate(reached)];
  return {
    ...options,
    store: gatedStore(store, gate),
    metrics: (format) => scrapes(() => metrics(format)),
    impairments: () => gate(impairments),
  };
}

function gatedStore(store: Store, gate: Gate): Store {
  return {
    transaction: (work) => gate(() => store.transaction(work)),
    space: () => store.space(),
    close: () => store.close(),
  };
}

/** Whether it is HTTPS is fixed when the server starts; `tls` returns the current certificate. */
function createServer(fetch: Hono['fetch'], tls: () => ServerTls | undefined, report: Report): Server {
  const first = tls();
  // Stands for the host that a request of HTTP/1.0 does not name, as those of some load balancers do not.
  const answer = getRequestListener(fetch, { hostname: 'localhost' });
  const server = first
    ? createHttpsServer({ ...CONNECTION_BOUNDS, ...certificateOf(first) })
    : createHttpServer(CONNECTION_BOUNDS);
  takeTurns(server, answer, ({ url = '' }) => HEALTH_PATHS.has(url));
  if (first) watchCertificate(server, () => tls() ?? first, report);
  return server;
}

interface CertificateOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion?: NonNullable<ServerTls['minVersion']>;
}

/** The server's options. This reads the files. */
function certificateOf({ cert, key, minVersion }: ServerTls): CertificateOptions {
  return { cert: cert.reveal(), key: key.reveal(), ...(minVersion && { minVersion }) };
}

/**
 * Compares the files at each new connection, before its handshake. While only one of them has been replaced they do
 * not match; then the previous certificate stays in use until they do.
 */
function watchCertificate(server: Server, tls: () => ServerTls, report: Report): void {
  let used = JSON.stringify(certificateOf(tls()));
  let refused = '';
  server.prependListener('connection', () => {
    const options = certificateOf(tls());
    const found = JSON.stringify(options);
    if (found === used || found === refused) return;
    try {
      (server as unknown as TlsServer).setSecureContext(options);
      used = found;
    } catch (error) {
      refused = found;
      report({ what: 'trouble', stage: 'web', error });
    }
  });
}
