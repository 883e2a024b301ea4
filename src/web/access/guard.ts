/**
 * Decides which hosts and origins a request may name. On loopback, only this machine's own names are accepted. So a
 * website that lets its own name point to 127.0.0.1 (DNS rebinding) is refused.
 */
import { isIP } from 'node:net';

/** The hosts that a request may name; undefined if any may, because the daemon does not listen on loopback. */
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
export function mistakeInOrigin(source: RequestSource, externalUrl: string): string | undefined {
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
export function mistakeInReading(source: RequestSource, externalUrl: string): string | undefined {
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
