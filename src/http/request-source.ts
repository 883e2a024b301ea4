/**
 * Decides which hosts and origins a request may name. A page of another origin can make its readers' browsers send
 * requests here, with their passwords and to ports that only their machine reaches. On loopback, only this machine's own
 * names are accepted: so a website that lets its own name point to 127.0.0.1 (DNS rebinding) is refused.
 */
import { isIP } from 'node:net';

/** The hosts that a request may name; undefined if any may, because the server does not listen on loopback. */
export function allowedHosts(host: string, externalUrl: string): ReadonlySet<string> | undefined {
  const own = bare(host);
  if (own !== 'localhost' && own !== '::1' && !own.startsWith('127.')) return undefined;
  const external = URL.parse(externalUrl)?.hostname;
  return new Set(['localhost', '127.0.0.1', '::1', own, ...(external ? [bare(external)] : [])]);
}

/** Whether the `Host` header names one of them, with any port. Only programs leave it out: a browser never does. */
export function isAllowedHost(allowed: ReadonlySet<string>, header: string | undefined): boolean {
  return header === undefined || allowed.has(bare(header.replace(/:\d+$/, '')));
}

const bare = (host: string) => host.toLowerCase().replace(/^\[|\]$|\.$/g, '');

interface SentRequest {
  readonly method: string;
  /** A header, by its name in lower case. */
  header(name: string): string | undefined;
}

/**
 * Whether a browser says that a page of another origin sent the request. Such a page cannot see the answer, but what it
 * asks for would happen, and it could make the browsers of all its readers send endless requests. It may lead a person here
 * by a link.
 */
export function isForeign(request: SentRequest, externalUrl: string): boolean {
  const site = request.header('sec-fetch-site');
  const isOwnSite = site === 'same-origin' || site === 'none';
  if (isReading(request)) {
    const mode = request.header('sec-fetch-mode');
    if (isOwnSite || (mode === 'navigate' && request.header('sec-fetch-dest') === 'document')) return false;
  }
  if (site !== undefined && !isOwnSite) return true;
  const origin = request.header('origin');
  return origin !== undefined && !isOwnOrigin(origin, request.header('host'), externalUrl);
}

/**
 * Whether a request that would change something may be the form of a page of another origin, from a browser that names
 * none. Programs send JSON; for a page of another origin to send that, the browser would first ask for permission, and
 * gets none.
 */
export function isUnknownForm(request: SentRequest): boolean {
  const type = request.header('content-type');
  const isForm = type !== undefined && !/^application\/json\b/i.test(type);
  return isForm && !isReading(request) && request.header('origin') === undefined;
}

function isReading({ method }: SentRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

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
