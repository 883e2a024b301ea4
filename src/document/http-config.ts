/** Reads `http_config`, with Alertmanager's keys: how requests are made and authenticated. */
import * as z from 'zod';
import type { Credentials, HeaderSetting, HttpSettings } from '../http/http-settings.ts';
import { mistakeInUrl } from '../http/web-address.ts';
import { type Secret, secret } from '../secret.ts';
import { type Check, isMap } from './check.ts';
import { connectionKeys, readConnection } from './connection-config.ts';
import type { Path } from './problem.ts';
import { checked, refused, refusedKeys, twins, words } from './value-shape.ts';

/** A token as in RFC 9110 (5.6.2), such as a header name or an authentication scheme. */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Headers that nestwatch sets itself or that other keys configure. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-encoding', 'content-length', 'content-type'],
  ...['expect', 'host', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'user-agent', 'webhook-id', 'webhook-signature', 'webhook-timestamp'],
]);

const authorizationShape = z.strictObject({
  type: z
    .string()
    .regex(TOKEN, { error: 'must be one word, such as Bearer' })
    .prefault('Bearer')
    .describe('Scheme of the `Authorization` header.'),
  ...twins('credentials', 'Credentials of the `Authorization` header, after the scheme.'),
});

const basicShape = z.strictObject({
  ...twins('username', 'User of HTTP Basic.'),
  ...twins('password', 'Password of that user.'),
});

const oauth2Shape = z.strictObject({
  client_id: words.describe('Client ID for the client credentials grant.'),
  ...twins('client_secret', 'Secret of that client. Required.'),
  token_url: checked(mistakeInUrl).describe('Address that issues access tokens.'),
  scopes: z.array(words).prefault([]).describe('Scopes to request.'),
  endpoint_params: z.record(z.string(), z.string()).prefault({}).meta({
    description: 'Further parameters for `token_url`, by name. They are never printed.',
    writeOnly: true,
  }),
  ...connectionKeys,
});

const headerShape = z.strictObject({
  values: z.array(z.string()).prefault([]).describe('Values of the header.'),
  secrets: z
    .array(z.string())
    .prefault([])
    .meta({ description: 'Values that are never printed.', writeOnly: true }),
  files: z
    .array(words)
    .prefault([])
    .describe('Files that each hold a value that is never printed; read again when they change.'),
});

export const httpShape = z
  .strictObject({
    authorization: authorizationShape.optional(),
    basic_auth: basicShape.optional(),
    oauth2: oauth2Shape.optional(),
    ...connectionKeys,
    follow_redirects: z
      .boolean()
      .prefault(false)
      .describe(
        'Follows redirects that keep the message (307, 308); all others count as failures. Alertmanager follows all redirects by default, and can lose the body that way.',
      ),
    http_headers: z
      .record(words, headerShape)
      .prefault({})
      .describe('Further headers, by name, each with `values`, `secrets` or `files`.'),
    enable_http2: z
      .literal(false, { error: 'must be false or left out: requests use HTTP/1.1' })
      .optional()
      .describe('Requests always use HTTP/1.1.'),
    ...refusedKeys(['bearer_token', 'bearer_token_file'], 'write `authorization: { credentials_file: … }`'),
    proxy_connect_header: refused("put the proxy's user and password into `proxy_url`"),
  })
  .meta({
    id: 'http_config',
    description: 'Settings for HTTP requests, as in Alertmanager: credentials, proxy, certificates, headers.',
  });

/** Returns the settings for the integration at a path: its own `http_config`, or else that of `global`. */
export type HttpReader = (path: Path) => HttpSettings | undefined;

export function httpReader(check: Check): HttpReader {
  const shared = readHttp(check, ['global', 'http_config']);
  return (path) => {
    const own = [...path, 'http_config'];
    return check.raw(own) === undefined ? shared : readHttp(check, own);
  };
}

/** The settings at a path; undefined if there are none or they are wrong. */
export function readHttp(check: Check, path: Path): HttpSettings | undefined {
  if (check.raw(path) === undefined) return undefined;
  const connection = readConnection(check, path);
  const credentials = readCredentials(check, path);
  const headers = readHeaders(check, [...path, 'http_headers']);
  const http = check.read(httpShape, path);
  if (!http) return undefined;
  return {
    ...connection,
    ...(credentials && { credentials }),
    headers,
    followRedirects: http.follow_redirects,
  };
}

function readCredentials(check: Check, path: Path): Credentials | undefined {
  const [kind, ...more] = ['authorization', 'basic_auth', 'oauth2'].filter(
    (key) => check.raw([...path, key]) !== undefined,
  );
  for (const key of more) check.problem([...path, key], `must not stand beside \`${kind}\`: choose one`);
  if (kind === undefined) return undefined;
  const at = [...path, kind];
  if (kind === 'authorization') return readAuthorization(check, at);
  return kind === 'basic_auth' ? readBasic(check, at) : readOauth2(check, at);
}

function readAuthorization(check: Check, path: Path): Credentials | undefined {
  const credentials = check.secret(path, 'credentials', { mistake: mistakeInValue });
  const authorization = check.read(authorizationShape, path);
  if (!authorization) return undefined;
  if (/^basic$/i.test(authorization.type)) {
    check.problem([...path, 'type'], 'must not be Basic: use `basic_auth`');
  }
  return { kind: 'authorization', type: authorization.type, ...(credentials && { credentials }) };
}

function readBasic(check: Check, path: Path): Credentials | undefined {
  const username = check.secret(path, 'username', {
    mistake: (text) => (text.includes(':') ? 'must not hold a colon' : undefined),
  });
  const password = check.secret(path, 'password', {});
  if (!check.read(basicShape, path)) return undefined;
  return { kind: 'basic', ...(username && { username }), ...(password && { password }) };
}

function readOauth2(check: Check, path: Path): Credentials | undefined {
  const clientSecret = check.secret(path, 'client_secret', { isRequired: true });
  const connection = readConnection(check, path);
  const oauth2 = check.read(oauth2Shape, path);
  if (!oauth2 || !clientSecret) return undefined;
  return {
    kind: 'oauth2',
    clientId: oauth2.client_id,
    clientSecret,
    ...splitTokenUrl(oauth2.token_url),
    scopes: oauth2.scopes,
    endpointParams: new Map(
      Object.entries(oauth2.endpoint_params).map(([name, text]) => [name, secret(text)]),
    ),
    connection,
  };
}

/** The query may contain a key. */
export function splitTokenUrl(text: string): { readonly tokenUrl: string; readonly tokenQuery: Secret } {
  const [tokenUrl = '', ...query] = text.replace(/#.*$/s, '').split(/(?=\?)/);
  return { tokenUrl, tokenQuery: secret(query.join('')) };
}

function readHeaders(check: Check, path: Path): HeaderSetting[] {
  const headers = check.raw(path);
  if (!isMap(headers)) return [];
  return Object.keys(headers).map((name) => {
    const at = [...path, name];
    if (!TOKEN.test(name)) check.keyProblem(at, 'is not the name of a header');
    if (OWN_HEADERS.has(name.toLowerCase()))
      check.keyProblem(at, 'must not be set: nestwatch sets it itself');
    return {
      name: name.toLowerCase(),
      values: [
        ...readTexts(check, [...at, 'values']),
        ...readTexts(check, [...at, 'secrets']).map(secret),
        ...readFiles(check, [...at, 'files']),
      ],
    };
  });
}

function readTexts(check: Check, path: Path): string[] {
  const texts = check.raw(path);
  if (!Array.isArray(texts)) return [];
  return texts.flatMap((text: unknown, index) => {
    if (typeof text !== 'string') return [];
    const mistake = mistakeInValue(text);
    if (mistake) check.problem([...path, index], mistake);
    return [text];
  });
}

function readFiles(check: Check, path: Path) {
  const files = check.raw(path);
  if (!Array.isArray(files)) return [];
  return files.flatMap((_, index) => check.secretFile([...path, index], { mistake: mistakeInValue }) ?? []);
}

/** What is wrong with the value of a header; undefined if it is valid. */
function mistakeInValue(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  return /[\u0000-\u001f\u007f]/.test(text) ? 'must be one line without control characters' : undefined;
}
