/**
 * Refuses requests that need no authentication to be refused: other methods and hosts than ours, requests by pages of
 * other origins, and large bodies.
 */

import { isIP } from 'node:net';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { WebConfig } from '../../config/sections/web-section.ts';
import { LIMITS } from '../../limits.ts';

/** Refuses other methods and hosts than ours. */
export function addRefusals(app: Hono, { host, externalUrl }: WebConfig): void {
  app.use(async (c, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD' || isWrite(c)) return next();
    const writes = ['POST', 'DELETE'].filter((method) => isWrite(c, method));
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
  app.use(
    bodyLimit({
      maxSize: LIMITS.request_bytes.most,
      onError: (c) => answerRefusal(c, 413, 'The body is too large.'),
    }),
  );
}

/** The requests that change something. */
const WRITES = [
  /^POST \/-\/reload$/,
  /^POST \/(silence|expire-silence|acknowledge|resolve|deliveries\/(retry|test))$/,
  /^POST \/api\/v1\/(deliveries\/retry|alerts\/(acknowledge|resolve))$/,
  /^POST \/api\/v2\/(alerts|silences)$/,
  /^DELETE \/api\/v2\/silence\/[^/]+$/,
];

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
    return mistake === undefined ? next() : answerRefusal(c, 403, mistake);
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

/**
 * Decides which hosts and origins a request may name. On loopback, only this machine's own names are accepted. So a
 * website that lets its own name point to 127.0.0.1 (DNS rebinding) is refused.
 */

/** The hosts that a request may name; undefined if any may, because the daemon does not listen on loopback. */
function allowedHosts(host: string, externalUrl: string): ReadonlySet<string> | undefined {
  const own = bare(host);
  if (own !== 'localhost' && own !== '::1' && !own.startsWith('127.')) return undefined;
  const external = URL.parse(externalUrl)?.hostname;
  return new Set(['localhost', '127.0.0.1', '::1', own, ...(external ? [bare(external)] : [])]);
}

/** Whether the `Host` header names one of them, with any port. Only programs leave it out: a browser never does. */
function isAllowedHost(allowed: ReadonlySet<string>, header: string | undefined): boolean {
  return header === undefined || allowed.has(bare(header.replace(/:\d+$/, '')));
}

const bare = (host: string) => host.toLowerCase().replace(/^\[|\]$|\.$/g, '');

/** What a browser says about the source of a request. Programs send none of this. */
interface RequestSource {
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  readonly fetchMode: string | undefined;
  readonly fetchDestination: string | undefined;
  readonly host: string | undefined;
  readonly contentType: string | undefined;
}

/**
 * Why a request that would change something is refused, as a sentence; undefined if it is accepted. A page of another
 * origin can make a browser send a form with the person's password, so a form must prove that it comes from here.
 * Programs send JSON and no origin. For a page of another origin to send JSON, the browser would first ask for
 * permission, and gets none.
 */
function mistakeInOrigin(source: RequestSource, externalUrl: string): string | undefined {
  const { origin, fetchSite, host, contentType } = source;
  if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none') return FOREIGN;
  if (origin !== undefined) return isOwnOrigin(origin, host, externalUrl) ? undefined : FOREIGN;
  const isForm = contentType !== undefined && !/^application\/json\b/i.test(contentType);
  return isForm
    ? 'Send JSON with content-type: application/json, or a form from a page of nestwatch.'
    : undefined;
}

/**
 * Why a reading request is refused, as a sentence; undefined if it is accepted. A page of another origin cannot see
 * the answer, but it could make the browsers of all its readers send endless requests. It may lead a person here by a
 * link.
 */
function mistakeInReading(source: RequestSource, externalUrl: string): string | undefined {
  const { origin, fetchSite, fetchMode, fetchDestination, host } = source;
  if (fetchSite === 'same-origin' || fetchSite === 'none') return undefined;
  if (fetchMode === 'navigate' && fetchDestination === 'document') return undefined;
  if (fetchSite !== undefined) return FOREIGN;
  return origin === undefined || isOwnOrigin(origin, host, externalUrl) ? undefined : FOREIGN;
}

const FOREIGN =
  'This was sent by a page of another origin: open nestwatch itself, or set web.external_url to the address that people use.';

/**
 * Whether it is the origin of `external_url`, or the address in the request's `Host` header. A name that is not
 * configured is not accepted, since its owner could let it point here.
 */
function isOwnOrigin(origin: string, host: string | undefined, externalUrl: string): boolean {
  const url = URL.parse(origin);
  if (!url) return false;
  if (url.origin === URL.parse(externalUrl)?.origin) return true;
  return url.host === host?.toLowerCase() && isAddress(bare(url.hostname));
}

const isAddress = (name: string) => name === 'localhost' || isIP(name) !== 0;
