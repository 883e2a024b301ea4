/**
 * Refuses requests that need no authentication to be refused: other methods and hosts than ours, requests by pages of
 * other origins, and large bodies.
 */

import type { Context, Hono, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { WebConfig } from '../../config/sections/web-section.ts';
import { allowedHosts, isAllowedHost, isForeign, isUnknownForm } from '../../http/request-source.ts';
import { LIMITS } from '../../limits.ts';

/** Refuses other methods and hosts than ours. */
export function addRefusals(app: Hono, { host, externalUrl }: WebConfig): void {
  app.use(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD' || isWrite(c)) return next();
    const writes = writesAt(c);
    c.header('allow', ['GET', 'HEAD', ...writes].join(', '));
    return answerRefusal(
      c,
      405,
      writes.length > 0 ? 'This method does nothing here.' : 'Only reading is possible here.',
    );
  });
  const hosts = allowedHosts(host, externalUrl);
  if (hosts) app.use(onlyHosts(hosts));
}

/**
 * Refuses requests by pages of other origins, and large bodies. Badges are added before this, since any page may show
 * them.
 */
export function addOrigins(app: Hono, { externalUrl }: WebConfig): void {
  app.use(onlyOwnOrigins(externalUrl));
  app.use(onlyBoundedBodies());
}

export function onlyBoundedBodies(): MiddlewareHandler {
  return bodyLimit({
    maxSize: LIMITS.request_bytes.most,
    onError(c) {
      // The rest of the body stays unread, and a next request behind it would get no answer.
      c.header('connection', 'close');
      return answerRefusal(c, 413, 'The body is too large.');
    },
  });
}

/** The requests that change something, or ask before they do. */
const WRITES = [
  /^POST \/-\/reload$/,
  /^POST \/logout$/,
  /^POST \/slack\/interactivity$/,
  /^POST \/(fly|silence(-preview)?|expire-silence|acknowledge(-preview)?|resolve|note|deliveries\/(retry|test)|notifications(\/remove)?)$/,
  /^POST \/api\/v1\/(deliveries\/retry|alerts\/(acknowledge|resolve|note)|actions\/(pause|resume))$/,
  /^POST \/api\/v1\/birds\/[^/]+\/[^/]+\/fly$/,
  /^POST \/api\/v2\/(alerts|silences)$/,
  /^DELETE \/api\/v2\/silence\/[^/]+$/,
];

function isWrite(c: Context, method = c.req.method): boolean {
  return WRITES.some((write) => write.test(`${method} ${c.req.path}`));
}

/** The methods other than those of reading that do something at the address. */
export function writesAt(c: Context): string[] {
  return ['POST', 'DELETE'].filter((method) => isWrite(c, method));
}

const FOREIGN =
  'This was sent by a page of another origin: open nestwatch itself, or set web.external_url to the address that people use.';
const FORM = 'Send JSON with content-type: application/json, or a form from a page of nestwatch.';

function onlyOwnOrigins(externalUrl: string): MiddlewareHandler {
  return async (c, next) => {
    const request = { method: c.req.method, header: (name: string) => c.req.header(name) };
    if (isForeign(request, externalUrl)) return answerRefusal(c, 403, FOREIGN);
    return isUnknownForm(request) ? answerRefusal(c, 403, FORM) : next();
  };
}

function onlyHosts(hosts: ReadonlySet<string>): MiddlewareHandler {
  return async (c, next) => {
    if (isAllowedHost(hosts, c.req.header('host'))) return next();
    return answerRefusal(
      c,
      421,
      'This name is not served here: set web.external_url to the address that people use.',
    );
  };
}

/** An error in the form that the client reads: JSON for the APIs, a line of text elsewhere. */
export function answerRefusal(
  c: Context,
  status: 400 | 401 | 403 | 404 | 405 | 413 | 421 | 429 | 500 | 503,
  message: string,
): Response {
  if (c.req.path.startsWith('/api/v2/')) return c.json(message, status);
  return c.req.path.startsWith('/api/') ? c.json({ error: message }, status) : c.text(`${message}\n`, status);
}
