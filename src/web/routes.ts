/**
 * Assembles everything that the daemon answers over HTTP: metrics, health, the JSON APIs and the pages. A request
 * passes the guards in the order in which they are added here: method, host, the origin for a write, and, except for
 * health, the token.
 */
import { type Context, Hono } from 'hono';
import { compress } from 'hono/compress';
import { isPublicNest } from '../config/sections/web-section.ts';
import { createRecurrences } from '../domain/muting/silence.ts';
import { isStoreFailure, NestwatchError } from '../errors.ts';
import { storeSentence } from '../health/judge-health.ts';
import { LIMITS } from '../limits.ts';
import { createAlertResolver, createNoteWriter, createSilenceEditor } from '../operator/act-on-alerts.ts';
import { loadMuting } from '../store/load-muting.ts';
import type { Store, Transaction } from '../store/store.ts';
import { createAdmission } from './access/admission.ts';
import { addOrigins, addRefusals, answerRefusal, onlyBoundedBodies, writesAt } from './access/refusals.ts';
import { createAlertmanagerApi } from './api/alertmanager-api.ts';
import { createApi } from './api/api-v1.ts';
import { BusyError } from './bounded-work.ts';
import {
  addHealth,
  answerScrape,
  HEALTH_PATHS,
  healthDetails,
  type KeptHealth,
  lines,
} from './monitoring.ts';
import { SUBSCRIBE_HASH } from './pages/browsers/browser-script.ts';
import { pageOf } from './pages/frame/page.ts';
import { noPage } from './pages/frame/page-frame.ts';
import { SCRIPT_HASH } from './pages/frame/page-script.ts';
import { STYLE_HASH } from './pages/frame/page-style.ts';
import { createPages } from './pages/pages.ts';
import { createPublicPages, PUBLIC_HEADERS } from './pages/public/public-pages.ts';
import type { Push } from './push.ts';
import type { WebOptions } from './web-options.ts';

const SECURITY_HEADERS: readonly (readonly [string, string])[] = [
  [
    'content-security-policy',
    `default-src 'none'; style-src ${STYLE_HASH}; script-src ${SCRIPT_HASH} ${SUBSCRIBE_HASH}; worker-src 'self'; connect-src 'self'; img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  ],
  ['x-content-type-options', 'nosniff'],
  // With `no-referrer` a browser would not say which origin a form comes from.
  ['referrer-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-store'],
];

/** When to ask again while the store fails: it is usually back soon, or not for long. */
const RETRY_AFTER_SECONDS = '5';

/** The state of the server. */
interface ServerState {
  readonly isClosing: () => boolean;
  /** The bytes of answers that no client has read yet. */
  readonly unreadBytes: () => number;
  readonly health: KeptHealth;
  /** For those who need no credentials: they do not wait behind those who have some, nor these behind them. */
  readonly publicStore: Store;
}

export function createApp(options: WebOptions, state: ServerState, push: Push): Hono {
  const { isClosing, unreadBytes, health, publicStore } = state;
  const app = new Hono();
  addHeaders(app, isClosing);
  app.use(compress({ encoding: 'gzip', contentTypeFilter: /^text\/html/ }));
  app.use(async (c, next) => {
    if (unreadBytes() <= LIMITS.unread_bytes.most || HEALTH_PATHS.has(c.req.path)) return next();
    options.report({ what: 'limit_reached', limit: 'unread_bytes' });
    return answerRefusal(
      c,
      503,
      'Too much that was asked for before is not read yet: ask again in a moment.',
    );
  });
  addRefusals(app, options.config);
  const { publicStatus } = options.config;
  if (publicStatus) {
    const { impairments } = health;
    app.route('/public', createPublicPages(publicStatus, { ...options, impairments, store: publicStore }));
  }
  const admission = createAdmission(options);
  const recurrences = createRecurrences();
  const silenceEditor = createSilenceEditor({ ...options, recurrences });
  const { oidc, presses } = options;
  // Slack signs its requests, so they need neither an origin nor a token.
  if (presses)
    app.post('/slack/interactivity', onlyBoundedBodies(), async (c) => {
      const { answerPress } = await import('./presses.ts');
      return answerPress(c, { ...options, presses, silenceEditor, note: admission.note });
    });
  addOrigins(app, options.config);
  addHealth(app, health.health, (c) => healthDetails(c, health, admission));
  oidc?.addRoutes(app);
  admission.protect(app, answerRefusal);
  addReload(app, options);
  app.get('/metrics', (c) =>
    answerScrape(c, options.metrics, (error) => options.report({ what: 'trouble', stage: 'web', error })),
  );
  const parts = {
    ...options,
    externalUrl: options.config.externalUrl,
    push,
    regions: () => options.status().regions.map(({ region }) => region),
    muting: (tx: Transaction, nowUs: number) => loadMuting(tx, options.alerting, recurrences, nowUs),
    recurrences,
    silenceEditor,
    alertResolver: createAlertResolver({ ...options, rules: options.alerting.rules }),
    noteWriter: createNoteWriter({
      ...options,
      isPublicNest: (name, id) => publicStatus !== undefined && isPublicNest(publicStatus, name, id),
    }),
  };
  app.route('/', createPages(parts));
  app.route('/api/v1', createApi(parts));
  app.route('/api/v2', createAlertmanagerApi(parts));
  app.notFound((c) => {
    if (app.routes.some(({ method, path }) => method === 'POST' && path === c.req.path))
      return refuseReading(c);
    return c.req.header('accept')?.includes('text/html') && !c.req.path.startsWith('/api/')
      ? c.html(noPage(pageOf(c, options.clock)), 404)
      : answerRefusal(c, 404, `There is nothing at this address; there are: ${addressesOf(app)}.`);
  });
  app.onError((error, c) => {
    if (error instanceof NestwatchError && error.code === 'usage')
      return answerRefusal(c, 400, error.message);
    if (error instanceof BusyError) return answerRefusal(c, 503, error.message);
    if (hasLeft(error)) return answerRefusal(c, 400, 'The body ended early.');
    if (isStoreFailure(error)) {
      options.report({ what: 'trouble', stage: 'store', error });
      c.header('retry-after', RETRY_AFTER_SECONDS);
      // What everybody may read does not say where the store is.
      return answerRefusal(c, 503, isPublicPath(c) ? NOTHING_ACCEPTED : storeSentence(error));
    }
    options.report({ what: 'trouble', stage: 'web', error });
    return answerRefusal(c, 500, 'This could not be answered; the log says why.');
  });
  return app;
}

const NOTHING_ACCEPTED = 'The store accepts nothing at present.';

function isPublicPath(c: Context): boolean {
  return c.req.path.startsWith('/public/') || HEALTH_PATHS.has(c.req.path);
}

/** Answers until the store is open: the process is healthy, and `opening` says what it waits for. */
export function createOpeningApp(
  config: WebOptions['config'],
  isClosing: () => boolean,
  opening: () => string,
): Hono {
  const app = new Hono();
  addHeaders(app, isClosing);
  addRefusals(app, config);
  // A restart would not help while the store is being opened, which may take long.
  for (const path of ['/-/healthy', '/healthz']) app.get(path, (c) => c.text(lines('Healthy.', [opening()])));
  const health = async () => ({ healthy: true, working: true, ready: false, reasons: [opening()] });
  addHealth(app, health, async () => ({}));
  app.all('*', (c) => {
    c.header('retry-after', '10');
    return answerRefusal(c, 503, opening());
  });
  return app;
}

/** Whether the client left in the middle of its body, which is not our failure. The message is Node's. */
function hasLeft(error: Error): boolean {
  return error.message === 'aborted' && 'code' in error && error.code === 'ECONNRESET';
}

function addHeaders(app: Hono, isClosing: () => boolean): void {
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of SECURITY_HEADERS) c.header(name, value);
    if (c.get('isPublic')) for (const [name, value] of PUBLIC_HEADERS) c.header(name, value);
    // A connection kept alive would delay the end of the process.
    if (isClosing()) c.header('connection', 'close');
  });
}

/** As Prometheus and Alertmanager answer it: 200, or 500 with the mistakes. */
function addReload(app: Hono, { config, reload }: WebOptions): void {
  app.get('/-/reload', refuseReading);
  app.post('/-/reload', async (c) => {
    if (!config.enableLifecycle) return answerRefusal(c, 403, NO_LIFECYCLE);
    const { mistakes, needsRestart } = await reload();
    if (mistakes.length > 0) {
      return c.text(lines('The configuration was not read; the one before stays in force.', mistakes), 500);
    }
    const waiting = needsRestart.map((key) => `${key} changes only at a restart.`);
    return c.text(lines('The configuration was read.', waiting));
  });
}

/** At an address that only does something. */
function refuseReading(c: Context): Response {
  const writes = writesAt(c);
  c.header('allow', writes.join(', '));
  return answerRefusal(c, 405, `This is asked for with ${writes.join(' or ')}.`);
}

const NO_LIFECYCLE =
  'Not allowed: web.enable_lifecycle is not set. SIGHUP reads the configuration again, and so does a change of its file.';

/** The addresses that exist, for a person with a wrong one. */
function addressesOf({ routes }: Hono): string {
  const paths = routes.filter(({ method }) => method === 'GET').map(({ path }) => path);
  return [...new Set(paths)].join(', ').replaceAll(/:(\w+)/g, '{$1}');
}
