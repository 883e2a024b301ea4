/**
 * The daemon's own HTTP: metrics, health, the JSON APIs and the pages. A request passes the guards in the order in
 * which they stand here: method, host, for a write the origin, then for everything but health the token.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createAdaptorServer } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { WebConfig } from '../config/sections/web-section.ts';
import type { ServiceLinks } from '../config/service-links.ts';
import type { FlightLog, FlightPlace } from '../domain/alert/flight-step.ts';
import { createRecurrences } from '../domain/muting/recurrence.ts';
import { NestwatchError } from '../errors.ts';
import type { HealthAnswer } from '../health/health.ts';
import type { ServerTls } from '../http/http-settings.ts';
import { LIMITS } from '../limits.ts';
import type { AcknowledgeLinks } from '../operator/acknowledge-link.ts';
import { createSilenceEditor } from '../operator/edit-silences.ts';
import type { ExplainConfig } from '../operator/explain.ts';
import { createAlertResolver } from '../operator/resolve-alerts.ts';
import type { AlertingConfig } from '../operator/routed-alert.ts';
import type { Happening, Report } from '../report.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import { type Admission, createAdmission } from './access/admission.ts';
import { allowedHosts, isAllowedHost, mistakeInOrigin, mistakeInReading } from './access/guard.ts';
import { answerScrape, type Scrape } from './answer-scrape.ts';
import { faultJson } from './api/alert-json.ts';
import { createAlertmanagerApi } from './api/alertmanager-api.ts';
import { createApi } from './api/api-v1.ts';
import { impairmentJson } from './api/health-json.ts';
import { certificateOf, watchCertificate } from './certificate.ts';
import { boundConnections, CONNECTION_BOUNDS, countUnread } from './connections.ts';
import type { DeliveryMessages } from './delivery-messages.ts';
import { SCRIPT_HASH } from './pages/frame/page-script.ts';
import { STYLE_HASH } from './pages/frame/page-style.ts';
import { createPages } from './pages/pages.ts';
import { createPublicPages, PUBLIC_HEADERS } from './pages/public/public-routes.ts';
import { createPush, type Push } from './push.ts';
import type { StatusView } from './status-view.ts';
import { BusyError, createGate } from './store-gate.ts';

export interface WebOptions {
  readonly config: WebConfig;
  /** How many files the process may have open at once. */
  readonly openFiles: number;
  readonly alerting: AlertingConfig & ExplainConfig;
  readonly store: Store;
  readonly status: () => StatusView;
  readonly metrics: Scrape;
  readonly health: () => Health;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly links: AcknowledgeLinks;
  readonly serviceLinks: ServiceLinks;
  readonly messages: DeliveryMessages;
  /** Gives an unused UUID. */
  readonly newId: () => string;
  /** Called after something was written that the stages have to look at: silences, deliveries put back. */
  readonly changed: () => void;
  /** Has a region asked at once that is only probed now and then. */
  readonly probe: (region: string) => void;
  /** Asks the service for the log of a Flight. */
  readonly flightLog: (place: FlightPlace) => Promise<FlightLog>;
  /** Reads the configuration again; it never rejects. */
  readonly reload: () => Promise<Reloaded>;
  readonly clock: Clock;
  readonly report: Report;
}

export interface Health {
  /** False when only a restart can help. */
  readonly healthy: boolean;
  /** False while its work stands still, although it may go on by itself; true while it has only just started. */
  readonly working: boolean;
  /** False while it does not yet, or not now, do its work. */
  readonly ready: boolean;
  /** Why not, one sentence each. */
  readonly reasons: readonly string[];
}

interface Reloaded {
  /** Why it was refused; empty where it is in force. */
  readonly mistakes: readonly string[];
  /** Keys that changed and change nothing before a restart. */
  readonly needsRestart: readonly string[];
}

export interface Web {
  /** With the port that it really has. */
  readonly url: string;
  /** Hears what is reported, for the pages that are open. */
  hear(happening: Happening): void;
  /** Answers from now on as another configuration says; it goes on to listen where it does. */
  follow(configured: Pick<WebOptions, 'config' | 'alerting' | 'links' | 'serviceLinks' | 'messages'>): void;
  /** Takes no more requests and resolves when those under way have ended, or were cut off after a moment. */
  close(): Promise<void>;
}

/** Faults that are listed at the most. */
const SHOWN_FAULTS = 100;

const CLOSE_GRACE_MS = 2_000;

const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  [
    'content-security-policy',
    `default-src 'none'; style-src ${STYLE_HASH}; script-src ${SCRIPT_HASH}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  ],
  ['x-content-type-options', 'nosniff'],
  // With `no-referrer` a browser would not say which origin a form comes from.
  ['referrer-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];

/** Listens; rejects with `port_in_use` when another process does already. Port 0 takes a free one. */
export async function openWeb(given: WebOptions): Promise<Web> {
  const options = throughGate(given);
  const { config, clock } = options;
  let isClosing = false;
  const push = createPush(clock, options.openFiles);
  const doors = { isClosing: () => isClosing, unreadBytes: () => unreadBytes() };
  let app = createApp(options, doors, push);
  let { tls } = config;
  const server = createServer(
    (...request) => app.fetch(...request),
    () => tls,
    options.report,
  );
  const unreadBytes = countUnread(server);
  boundConnections(server, options.openFiles, (limit) => options.report({ what: 'limit_reached', limit }));
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
    url: `${config.tls ? 'https' : 'http'}://${host}:${port}`,
    hear: push.hear,
    follow(configured) {
      tls = configured.config.tls ?? tls;
      app = createApp({ ...options, ...configured }, doors, push);
      // Who followed may not read any more.
      push.end();
    },
    async close() {
      isClosing = true;
      push.end();
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      const cancel = clock.setTimer(CLOSE_GRACE_MS, () => server.closeAllConnections());
      await closed;
      cancel();
    },
  };
}

/** What requests ask of the store and the stages takes turns with what the watch asks. */
function throughGate(options: WebOptions): WebOptions {
  const { store, metrics, impairments, report } = options;
  const reached = () => report({ what: 'limit_reached', limit: 'waiting_requests' });
  // Whatever pages are asked for, a scrape says that the watch goes on.
  const [gate, scrapes] = [createGate(reached), createGate(reached)];
  return {
    ...options,
    store: {
      transaction: (work) => gate(() => store.transaction(work)),
      space: () => store.space(),
      close: () => store.close(),
    },
    metrics: (format) => scrapes(() => metrics(format)),
    impairments: () => gate(impairments),
  };
}

/** How it stands with the server that an app answers for. */
interface Doors {
  readonly isClosing: () => boolean;
  /** Of answers that nobody has read yet. */
  readonly unreadBytes: () => number;
}

/** Whether it is HTTPS is decided once; `tls` gives the present certificate. */
function createServer(fetch: Hono['fetch'], tls: () => ServerTls | undefined, report: Report): Server {
  const first = tls();
  if (!first) return createAdaptorServer({ fetch, serverOptions: CONNECTION_BOUNDS }) as Server;
  const server = createAdaptorServer({
    fetch,
    createServer: createHttpsServer,
    serverOptions: { ...CONNECTION_BOUNDS, ...certificateOf(first) },
  }) as Server;
  watchCertificate(server, () => tls() ?? first, report);
  return server;
}

export function createApp(options: WebOptions, { isClosing, unreadBytes }: Doors, push: Push): Hono {
  const app = new Hono();
  addHeaders(app, isClosing);
  app.use(async (c, next) => {
    if (unreadBytes() <= LIMITS.unread_bytes.most || HEALTH.has(c.req.path)) return next();
    options.report({ what: 'limit_reached', limit: 'unread_bytes' });
    return refuse(c, 503, 'Too much that was asked for before is not read yet: ask again in a moment.');
  });
  addRefusals(app, options.config);
  const { publicStatus } = options.config;
  if (publicStatus) app.route('/public', createPublicPages(publicStatus, options));
  addOrigins(app, options.config);
  const admission = createAdmission(options);
  addHealth(app, options, admission);
  admission.addDoor(app, refuse);
  addReload(app, options);
  app.get('/metrics', (c) =>
    answerScrape(c, options.metrics, (error) => options.report({ what: 'trouble', stage: 'web', error })),
  );
  const recurrences = createRecurrences();
  const parts = {
    ...options,
    externalUrl: options.config.externalUrl,
    push,
    recurrences,
    silenceEditor: createSilenceEditor({ ...options, recurrences }),
    alertResolver: createAlertResolver({ ...options, rules: options.alerting.rules }),
  };
  app.route('/', createPages(parts));
  app.route('/api/v1', createApi(parts));
  app.route('/api/v2', createAlertmanagerApi(parts));
  app.notFound((c) =>
    refuse(c, 404, `There is nothing at this address; there are: ${ADDRESSES.join(', ')}.`),
  );
  app.onError((error, c) => {
    if (error instanceof NestwatchError && error.code === 'usage') return refuse(c, 400, error.message);
    if (error instanceof BusyError) return refuse(c, 503, error.message);
    if (hasLeft(error)) return refuse(c, 400, 'The body ended early.');
    options.report({ what: 'trouble', stage: 'web', error });
    return refuse(c, 500, 'This could not be answered; the log says why.');
  });
  return app;
}

/** Whether whoever asked left in the middle of the body, which is no failure of ours; Node words it so. */
function hasLeft(error: Error): boolean {
  return error.message === 'aborted' && 'code' in error && error.code === 'ECONNRESET';
}

function addHeaders(app: Hono, isClosing: () => boolean): void {
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of SECURITY_HEADERS) c.header(name, value);
    if (c.get('isPublic')) for (const [name, value] of PUBLIC_HEADERS) c.header(name, value);
    // A connection that is kept alive would hold up the end.
    if (isClosing()) c.header('connection', 'close');
  });
}

/** Refuses other methods and hosts than ours. */
function addRefusals(app: Hono, { host, externalUrl }: WebConfig): void {
  app.use(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD' || isWrite(c)) return next();
    const writes = ['POST', 'DELETE'].filter((method) => isWrite(c, method));
    c.header('allow', ['GET', 'HEAD', ...writes].join(', '));
    return refuse(
      c,
      405,
      writes.length > 0 ? 'This method does nothing here.' : 'Only reading is possible here.',
    );
  });
  const hosts = allowedHosts(host, externalUrl);
  if (hosts) app.use(onlyHosts(hosts));
}

/** Refuses what pages of other origins ask for, and large bodies: a badge is shown by any page. */
function addOrigins(app: Hono, { externalUrl }: WebConfig): void {
  app.use(onlyOwnOrigins(externalUrl));
  app.use(
    bodyLimit({
      maxSize: LIMITS.request_bytes.most,
      onError: (c) => refuse(c, 413, 'The body is too large.'),
    }),
  );
}

/** Whoever restarts the process asks here, whatever else is asked. */
const HEALTH: ReadonlySet<string> = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

/** Open to everybody: whoever restarts the process must not need a token for it. */
function addHealth(app: Hono, options: WebOptions, admission: Admission): void {
  const { health } = options;
  const code = (isGood: boolean) => (isGood ? 200 : 503);
  for (const path of ['/-/healthy', '/healthz']) {
    app.get(path, (c) => {
      const { healthy, reasons } = health();
      return c.text(healthy ? 'Healthy.\n' : lines('Not healthy.', reasons), code(healthy));
    });
  }
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, async (c) => {
      const { ready, reasons } = health();
      if (/\bapplication\/json\b/.test(c.req.header('accept') ?? '')) {
        return c.json({ ...health(), ...(await details(c, options, admission)) }, code(ready));
      }
      return c.text(ready ? 'Ready.\n' : lines('Not ready.', reasons), code(ready));
    });
  }
}

/** What impairs the watch and what was set aside; with names only for who may read. */
async function details(c: Context, { store, clock, impairments, report }: WebOptions, admission: Admission) {
  const isOpen = await admission.mayRead(c);
  const nowUs = clock.nowUs();
  const found = (await impairments()).impairments;
  const named = isOpen ? found.map(impairmentJson) : [...new Set(found.map(({ reason }) => reason))];
  try {
    const setAside = await store.transaction<object[]>(async ({ faults }) =>
      isOpen ? (await faults.list(nowUs, SHOWN_FAULTS)).map(faultJson) : faults.count(nowUs),
    );
    return { impairments: named, set_aside: setAside };
  } catch (error) {
    // Nothing is known of faults while the store does not answer.
    report({ what: 'trouble', stage: 'store', error });
    return { impairments: named, set_aside: [] };
  }
}

/** As Prometheus and Alertmanager answer it: 200, or 500 with what is wrong. */
function addReload(app: Hono, { config, reload }: WebOptions): void {
  app.get('/-/reload', (c) => {
    c.header('allow', 'POST');
    return refuse(c, 405, 'This is asked for with POST.');
  });
  app.post('/-/reload', async (c) => {
    if (!config.enableLifecycle) return refuse(c, 403, NO_LIFECYCLE);
    const { mistakes, needsRestart } = await reload();
    if (mistakes.length > 0) {
      return c.text(lines('The configuration was not read; the one before stays in force.', mistakes), 500);
    }
    const waiting = needsRestart.map((key) => `${key} changes only at a restart.`);
    return c.text(lines('The configuration was read.', waiting));
  });
}

/** The requests that change something. */
const WRITES = [
  /^POST \/-\/reload$/,
  /^POST \/(silence|expire-silence|acknowledge|resolve|deliveries\/(retry|test))$/,
  /^POST \/api\/v1\/(deliveries\/retry|alerts\/(acknowledge|resolve))$/,
  /^POST \/api\/v2\/(alerts|silences)$/,
  /^DELETE \/api\/v2\/silence\/[^/]+$/,
];

const NO_LIFECYCLE =
  'Not allowed: web.enable_lifecycle is not set. SIGHUP reads the configuration again, and so does a change of its file.';

function isWrite(c: Context, method = c.req.method): boolean {
  return WRITES.some((write) => write.test(`${method} ${c.req.path}`));
}

function onlyOwnOrigins(externalUrl: string): MiddlewareHandler {
  return async (c, next) => {
    const isReading = c.req.method === 'GET' || c.req.method === 'HEAD';
    const source = {
      origin: c.req.header('origin'),
      fetchSite: c.req.header('sec-fetch-site'),
      fetchMode: c.req.header('sec-fetch-mode'),
      fetchDestination: c.req.header('sec-fetch-dest'),
      host: c.req.header('host'),
      contentType: c.req.header('content-type'),
    };
    const mistake = isReading ? mistakeInReading(source, externalUrl) : mistakeInOrigin(source, externalUrl);
    return mistake === undefined ? next() : refuse(c, 403, mistake);
  };
}

/** What there is, for a person who took a wrong address. */
const ADDRESSES = [
  '/',
  '/birds',
  '/birds/{region}/{id}',
  '/flights/{region}/{id}',
  '/nests',
  '/metrics',
  '/-/healthy',
  '/-/ready',
  '/api/v1/health',
  '/api/v1/status',
  '/api/v1/events',
  '/api/v1/alerts',
  '/api/v1/birds',
  '/api/v1/birds/{region}/{id}',
  '/api/v1/flights',
  '/api/v1/flights/{region}/{id}',
  '/api/v1/nests',
  '/api/v1/deliveries',
  '/api/v1/writes',
  '/api/v1/events/{key}/explain',
  '/api/v1/stream',
  '/api/v2/',
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

/** An error in the form that the asker reads: JSON for the APIs, a line of text elsewhere. */
function refuse(
  c: Context,
  status: 400 | 401 | 403 | 404 | 405 | 413 | 421 | 429 | 500 | 503,
  message: string,
): Response {
  if (c.req.path.startsWith('/api/v2/')) return c.json(message, status);
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
