import { formatHostPort, parseHostPort } from '../../http/host-port.ts';
import { mistakeInBaseUrl, withoutTrailingSlash } from '../../http/web-address.ts';
import type { WebConfig } from '../config.ts';
import type { Check } from '../document/check.ts';
import { NOT_AN_ADDRESS, webShape } from './file-shape.ts';

/** What `:9465` listens on, as for Prometheus' own programs. */
const EVERY_ADDRESS = '0.0.0.0';

export function readWeb(check: Check): WebConfig | undefined {
  const bearerToken = check.secret(['web', 'auth'], 'bearer_token', {});
  // What a text says is looked at first, so that another mistake does not hide its own.
  const address = check.raw(['web', 'listen']);
  if (typeof address === 'string' && !parseHostPort(address))
    check.problem(['web', 'listen'], NOT_AN_ADDRESS);
  const externalUrl = check.raw(['web', 'external_url']);
  const mistake = typeof externalUrl === 'string' ? mistakeInBaseUrl(externalUrl) : undefined;
  if (mistake) check.problem(['web', 'external_url'], mistake);
  const web = check.read(webShape.prefault({}), ['web']);
  const listen = web && parseHostPort(web.listen);
  if (!listen) return undefined;
  return {
    host: listen.host || EVERY_ADDRESS,
    port: listen.port,
    externalUrl: withoutTrailingSlash(web.external_url ?? `http://${formatHostPort(reachable(listen))}`),
    bearerToken,
    enableLifecycle: web.enable_lifecycle,
  };
}

/** An address that stands for every one is none that a link could lead to. */
export function reachable(listen: { readonly host: string; readonly port: number }) {
  const isEvery = listen.host === '' || listen.host === EVERY_ADDRESS || listen.host === '::';
  return { host: isEvery ? 'localhost' : listen.host, port: listen.port };
}
