/** Reads how connections are made, under the keys of Prometheus and Alertmanager: `tls_config` and the proxy. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import * as z from 'zod';
import {
  type ConnectionSettings,
  mistakenRanges,
  type ProxySettings,
  type ServerTls,
  type TlsSettings,
  type TlsVersion,
} from '../http/http-settings.ts';
import { isEscaped, NOT_ESCAPED } from '../http/web-address.ts';
import { type Secret, secret } from '../secret.ts';
import { type Check, isGiven } from './check.ts';
import type { Path } from './problem.ts';
import { MOST_CA_BYTES } from './read-file.ts';
import { twins, words } from './value-shape.ts';

const TLS_VERSIONS: ReadonlyMap<string, TlsVersion> = new Map([
  ['TLS10', 'TLSv1'],
  ['TLS11', 'TLSv1.1'],
  ['TLS12', 'TLSv1.2'],
  ['TLS13', 'TLSv1.3'],
]);

const tlsVersion = z.enum(['TLS10', 'TLS11', 'TLS12', 'TLS13']).optional();

export const tlsShape = z
  .strictObject({
    ...twins('ca', "CA certificates in PEM; the server's certificate must be signed by one of them."),
    ...twins('cert', 'Client certificate in PEM. Requires `key`.'),
    ...twins('key', 'Private key in PEM of `cert`, without a passphrase.'),
    server_name: words.optional().describe("Name that the certificate must contain, instead of the host's."),
    insecure_skip_verify: z
      .boolean()
      .prefault(false)
      .describe('Accepts any certificate. Use it only inside your own network.'),
    min_version: tlsVersion.describe('Oldest TLS version allowed. Default: TLS12.'),
    max_version: tlsVersion.describe('Newest TLS version allowed.'),
  })
  .meta({ id: 'tls_config' });

/** Keys of every section that makes HTTP requests. */
export const connectionKeys = {
  ...twins(
    'proxy_url',
    'Proxy for all requests (`http://`, `https://` or `socks5://`), including its user and password if it needs them.',
  ),
  no_proxy: words
    .optional()
    .describe(
      'Hosts that are reached without the proxy, separated by commas: `example.com`, `.example.com`, `10.0.0.0/8`, `*`. Used with `proxy_url`.',
    ),
  proxy_from_environment: z
    .boolean()
    .prefault(false)
    .describe('Uses `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` from the environment instead of `proxy_url`.'),
  tls_config: tlsShape.optional(),
};

/** The connection settings in the section at `path`. */
export function readConnection(check: Check, path: Path): ConnectionSettings {
  const tls = readTls(check, [...path, 'tls_config']);
  const proxy = readProxy(check, path);
  return { ...(tls && { tls }), ...(proxy && { proxy }) };
}

/** The settings of a `tls_config` at `path`; undefined if there is none or it is wrong. */
export function readTls(check: Check, path: Path): TlsSettings | undefined {
  if (check.raw(path) === undefined) return undefined;
  const ca = check.secret(path, 'ca', { mistake: mistakeInCertificate, mostBytes: MOST_CA_BYTES });
  const cert = check.secret(path, 'cert', { mistake: mistakeInCertificate });
  const key = check.secret(path, 'key', { mistake: mistakeInKey });
  for (const [one, other] of [
    ['cert', 'key'],
    ['key', 'cert'],
  ] as const) {
    if (isGiven(check, path, one) && !isGiven(check, path, other)) {
      check.problem([...path, other], `is missing: \`${one}\` needs \`${other}\` or \`${other}_file\``);
    }
  }
  if (cert && key) checkPair(check, path, cert, key);
  const tls = check.read(tlsShape, path);
  if (!tls) return undefined;
  const minVersion = TLS_VERSIONS.get(tls.min_version ?? '');
  const maxVersion = TLS_VERSIONS.get(tls.max_version ?? '');
  if (minVersion && maxVersion && minVersion > maxVersion) {
    check.problem([...path, 'max_version'], 'must not be older than `min_version`');
  }
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(tls.server_name !== undefined && { serverName: tls.server_name }),
    insecureSkipVerify: tls.insecure_skip_verify,
    ...(minVersion && { minVersion }),
    ...(maxVersion && { maxVersion }),
  };
}

export const serverTlsShape = z.strictObject({
  ...twins('cert', 'Certificate in PEM, including intermediate certificates. Required.'),
  ...twins('key', 'Private key in PEM of `cert`, without a passphrase. Required.'),
  min_version: tlsVersion.describe('Oldest TLS version allowed. Default: TLS12.'),
});

export function readServerTls(check: Check, path: Path): ServerTls | undefined {
  if (check.raw(path) === undefined) return undefined;
  const cert = check.secret(path, 'cert', { isRequired: true, mistake: mistakeInCertificate });
  const key = check.secret(path, 'key', { isRequired: true, mistake: mistakeInKey });
  if (cert && key) checkPair(check, path, cert, key);
  const tls = check.read(serverTlsShape, path);
  const minVersion = TLS_VERSIONS.get(tls?.min_version ?? '');
  return tls && cert && key ? { cert, key, ...(minVersion && { minVersion }) } : undefined;
}

function checkPair(check: Check, path: Path, cert: Secret, key: Secret): void {
  if (isKeyOf(cert, key)) return;
  const at = check.raw([...path, 'key']) === undefined ? 'key_file' : 'key';
  check.problem([...path, at], 'is not the key of the certificate beside it');
}

function mistakeInCertificate(text: string): string | undefined {
  try {
    new X509Certificate(text);
    return undefined;
  } catch {
    return 'must be a certificate in PEM (-----BEGIN CERTIFICATE-----)';
  }
}

function mistakeInKey(text: string): string | undefined {
  try {
    createPrivateKey(text);
    return undefined;
  } catch {
    return 'must be a private key in PEM without a passphrase (-----BEGIN PRIVATE KEY-----)';
  }
}

function isKeyOf(cert: Secret, key: Secret): boolean {
  try {
    return new X509Certificate(cert.reveal()).checkPrivateKey(createPrivateKey(key.reveal()));
  } catch {
    // An invalid certificate or key is reported at its own place.
    return true;
  }
}

function readProxy(check: Check, path: Path): ProxySettings | undefined {
  const proxy = check.secret(path, 'proxy_url', { mistake: mistakeInProxy });
  const noProxy = check.raw([...path, 'no_proxy']);
  const isFromEnvironment = check.plain([...path, 'proxy_from_environment']) === true;
  if (isFromEnvironment && isGiven(check, path, 'proxy_url')) {
    check.problem([...path, 'proxy_from_environment'], 'must not stand beside `proxy_url`: choose one');
  }
  if (noProxy !== undefined && !isGiven(check, path, 'proxy_url')) {
    const why = isFromEnvironment ? 'the environment has NO_PROXY' : 'there is no `proxy_url`';
    check.problem([...path, 'no_proxy'], `must not stand here: ${why}`);
  }
  if (typeof noProxy === 'string' && mistakenRanges(noProxy).length > 0) {
    check.problem([...path, 'no_proxy'], 'has a range that is none: write one as 10.0.0.0/8');
  }
  if (isFromEnvironment) return environmentProxy(check, path);
  if (!proxy) return undefined;
  return { http: proxy, https: proxy, ...(typeof noProxy === 'string' && { noProxy }) };
}

/** Each name in upper or lower case, as Go reads them. */
function environmentProxy(check: Check, path: Path): ProxySettings {
  const variable = (name: string) => check.variable(name) || check.variable(name.toLowerCase()) || '';
  const proxyOf = (name: string): Secret | undefined => {
    const text = variable(name);
    if (text === '') return undefined;
    const url = text.includes('://') ? text : `http://${text}`;
    const mistake = mistakeInProxy(url);
    if (mistake) check.problem([...path, 'proxy_from_environment'], `${name} of the environment ${mistake}`);
    return secret(url);
  };
  const http = proxyOf('HTTP_PROXY');
  const https = proxyOf('HTTPS_PROXY');
  return { ...(http && { http }), ...(https && { https }), noProxy: variable('NO_PROXY') };
}

/** Of SOCKS only version 5, where the proxy resolves names itself. */
const PROXIES = ['http:', 'https:', 'socks5:', 'socks5h:'];

function mistakeInProxy(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !PROXIES.includes(url.protocol)) {
    return 'must be the URL of a proxy, which begins with http://, https:// or socks5://';
  }
  if (![url.username, url.password].every(isEscaped)) return NOT_ESCAPED;
  return (url.pathname === '/' || url.pathname === '') && url.search === ''
    ? undefined
    : 'must end with the host and port';
}
