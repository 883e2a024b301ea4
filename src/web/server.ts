/**
 * The daemon's own HTTP: metrics, health, the JSON API and the page. It only reads. A request passes the guards in
 * the order in which they stand here: method, host, then for everything but health the token.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import type { Clock } from '../clock.ts';
import type { WebConfig } from '../config/config.ts';
import { NestwatchError } from '../errors.ts';
import type { Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import { createApi } from './api.ts';
import { allowedHosts, checkToken, isAllowedHost } from './guard.ts';
import { REFRESH_SECONDS, renderPage } from './page.ts';
import { STYLE_HASH } from './page-style.ts';
import { readPageView } from './page-view.ts';
import type { StatusView } from './status-view.ts';

export interface WebOptions {
  readonly config: WebConfig;
  readonly store: Store;
  readonly status: () => StatusView;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly health: () => Health;
  readonly clock: Clock;
  readonly report: Report;
}

export interface Health {
  /** False when only a restart can help. */
  readonly healthy: boolean;
  /** False while it does not yet, or not now, do its work. */
  readonly ready: boolean;
  /** Why not, one sentence each. */
  readonly reasons: readonly string[];
}

export interface Web {
  /** With the port that it really has. */
  readonly url: string;
  /** Takes no more requests and resolves when those under way have ended, or were cut off after a moment. */
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 2_000;

const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  [
    'content-security-policy',
    `default-src 'none'; style-src ${STYLE_HASH}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ],
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];

/** Listens; rejects with `port_in_use` when another process does already. Port 0 takes a free one. */
export async function openWeb(options: WebOptions): Promise<Web> {
  const { config, clock } = options;
  let isClosing = false;
  const app = createApp(options, () => isClosing);
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(config.port, config.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError(config, error);
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : config.port;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `http://${host}:${port}`,
    async close() {
      isClosing = true;
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cancel = clock.setTimer(CLOSE_GRACE_MS, () => server.closeAllConnections());
      await closed;
      cancel();
    },
  };
}

function createApp(options: WebOptions, isClosing: () => boolean): Hono {
  const { config, store, status, metrics, health, clock, report } = options;
  const app = new Hono();

  app.use(async (c, next) => {
    await next();
    for (const [name, value] of SECURITY_HEADERS) c.header(name, value);
    // A connection that is kept alive would hold up the end.
    if (isClosing()) c.header('connection', 'close');
  });
  app.use(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    c.header('allow', 'GET, HEAD');
    return c.text('Only reading is possible here.\n', 405);
  });
  const hosts = allowedHosts(config.host, config.externalUrl);
  if (hosts) app.use(onlyHosts(hosts));

  const tell = (isGood: boolean) => (isGood ? 200 : 503);
  for (const path of ['/-/healthy', '/healthz']) {
    app.get(path, (c) => {
      const { healthy, reasons } = health();
      return c.text(healthy ? 'Healthy.\n' : lines('Not healthy.', reasons), tell(healthy));
    });
  }
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, (c) => {
      const { ready, reasons } = health();
      return c.text(ready ? 'Ready.\n' : lines('Not ready.', reasons), tell(ready));
    });
  }

  if (config.bearerToken) {
    const token = config.bearerToken;
    app.use(async (c, next) => {
      if (checkToken(token, c.req.header('authorization')) === 'granted') return next();
      c.header('www-authenticate', 'Basic realm="nestwatch", charset="UTF-8", Bearer realm="nestwatch"');
      return refuse(c, 401, 'A token is needed: as Authorization: Bearer, or as the password of any user.');
    });
  }

  app.get('/metrics', async (c) => {
    const { contentType, body } = await metrics();
    return c.body(body, 200, { 'content-type': contentType });
  });
  app.get('/', async (c) => {
    const isLive = c.req.query('paused') === undefined;
    const view = await readPageView(store, {
      nowUs: clock.nowUs(),
      isLive,
      status: status(),
    });
    if (isLive) c.header('refresh', String(REFRESH_SECONDS));
    return c.html(renderPage(view));
  });
  app.route('/api/v1', createApi({ store, status, externalUrl: config.externalUrl }));

  app.notFound((c) =>
    refuse(c, 404, `There is nothing at this address; there are: ${ADDRESSES.join(', ')}.`),
  );
  app.onError((error, c) => {
    if (error instanceof NestwatchError && error.code === 'usage') return refuse(c, 400, error.message);
    report({ what: 'trouble', stage: 'web', error });
    return refuse(c, 500, 'This could not be answered; the log says why.');
  });
  return app;
}

/** What can be asked for, as a person who took a wrong address is told. */
const ADDRESSES = [
  '/',
  '/metrics',
  '/-/healthy',
  '/-/ready',
  '/api/v1/status',
  '/api/v1/events',
  '/api/v1/alerts',
  '/api/v1/birds',
  '/api/v1/deliveries',
];

function onlyHosts(hosts: ReadonlySet<string>): MiddlewareHandler {
  return async (c, next) => {
    if (isAllowedHost(hosts, c.req.header('host'))) return next();
    return refuse(
      c,
      421,
      'This name is not served here: set web.external_url to the address that people use.',
    );
  };
}

/** An error in the form that the asker reads: JSON for the API, a line of text elsewhere. */
function refuse(c: Context, status: 400 | 401 | 404 | 421 | 500, message: string): Response {
  return c.req.path.startsWith('/api/') ? c.json({ error: message }, status) : c.text(`${message}\n`, status);
}

const lines = (first: string, rest: readonly string[]) => `${[first, ...rest].join('\n')}\n`;

function listenError({ host, port }: WebConfig, error: unknown): NestwatchError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const why =
    code === 'EADDRINUSE'
      ? 'another process listens there'
      : code === 'EACCES'
        ? 'this user may not listen there'
        : `the address cannot be used (${String(code)})`;
  return new NestwatchError('port_in_use', `Cannot listen on ${host}:${port}: ${why}.`, { cause: error });
}
