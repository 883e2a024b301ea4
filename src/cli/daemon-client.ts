import * as z from 'zod';
import { guessListen, loadWebConfig } from '../config/config-source.ts';
import { SCOPES, type Scope, USUAL_SCOPES } from '../config/sections/access-section.ts';
import { reachable, type WebConfig } from '../config/sections/web-section.ts';
import { DaemonError, NestwatchError } from '../errors.ts';
import type { TlsSettings } from '../http/http-settings.ts';
import { type HttpResponse, openTransport } from '../http/transport.ts';
import {
  formatHostPort,
  type HostPort,
  mistakeInBaseUrl,
  withoutTrailingSlash,
} from '../http/web-address.ts';
import type { Edge } from '../process-io.ts';
import { type Secret, withoutSecrets } from '../secret.ts';
import { plainText } from '../text/plain-text.ts';
import { type ConfigOptions, findConfigFile, readGiven, secretInFile } from './config-file.ts';

export interface DaemonOptions extends ConfigOptions {
  readonly url: string | undefined;
  readonly tokenFile: string | undefined;
}

/** The options of a command that prints an answer of the daemon. */
export interface PrintOptions extends DaemonOptions {
  readonly json: boolean;
  readonly utc?: boolean;
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;

export interface DaemonRequest {
  /** `GET` by default. */
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Including the query. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** An answer with this status is no failure of the command; it says why under `error`. */
  readonly alsoAnswers?: 404 | 409;
  /** What a change needs; `write` by default. */
  readonly scope?: Scope;
  /** Ends the request with `unreachable`. */
  readonly signal?: AbortSignal;
}

/**
 * Sends a request to the running daemon. Throws `usage` if its address is unknown, and a `DaemonError` with the code
 * of the `Transport`'s error if the request fails.
 */
export async function askDaemon(
  edge: Edge,
  options: DaemonOptions,
  request: DaemonRequest,
  timeoutMs: number,
): Promise<HttpResponse> {
  const needed = request.method === undefined ? 'read' : (request.scope ?? 'write');
  return ask(addressOf(edge, options, needed), request, timeoutMs);
}

/**
 * The same for a request that needs no token, also if the configuration has become invalid: then the daemon continues
 * with the one before. Nothing secret is sent, so any certificate will do.
 */
export async function askAnyDaemon(
  edge: Edge,
  options: DaemonOptions,
  request: DaemonRequest,
  timeoutMs: number,
): Promise<HttpResponse> {
  if (options.url !== undefined) return askDaemon(edge, options, request, timeoutMs);
  const file = findConfigFile(edge, options);
  const { listen, isTls } = guessListen({ file, environment: edge.environment, readFile: readGiven(file) });
  const host = hostOf(listen);
  const plain = { url: `http://${host}`, token: undefined };
  const encrypted = { url: `https://${host}`, token: undefined, tls: { insecureSkipVerify: true } };
  const [likely, other] = isTls ? [encrypted, plain] : [plain, encrypted];
  try {
    return await ask(likely, request, timeoutMs);
  } catch (error) {
    if (!(error instanceof NestwatchError) || error.code !== 'unreachable') throw error;
    return ask(other, request, timeoutMs).catch(() => {
      throw error;
    });
  }
}

async function ask(
  { url, token, tls }: Address,
  { method = 'GET', path, body, headers, signal }: DaemonRequest,
  timeoutMs: number,
): Promise<HttpResponse> {
  const transport = openTransport({
    connections: 1,
    timeoutMs,
    maxBodyBytes: MAX_BODY_BYTES,
    ...(tls && { tls }),
  });
  const close = () => void transport.close();
  signal?.addEventListener('abort', close);
  try {
    const answer = await transport.send({
      method,
      url: url + path,
      headers: {
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    // A refusal is shown, and whatever answers there may repeat the token.
    const isRefusal = answer.status >= 400 && token !== undefined;
    return isRefusal ? { ...answer, body: withoutSecrets(answer.body, [token]) } : answer;
  } catch (cause) {
    if (!(cause instanceof NestwatchError)) throw cause;
    const { code, message } = cause;
    const isAway = code === 'unreachable';
    throw new DaemonError(code, isAway ? `${message}: is nestwatch running there?` : message, { cause });
  } finally {
    signal?.removeEventListener('abort', close);
    await transport.close();
  }
}

const TIMEOUT_MS = 30_000;

/**
 * The same for an answer in JSON, as the API of this version writes it. It must have the key `sign`, which for a list is
 * `length`; without a sign it must be empty. Throws `usage` with the daemon's message if it refuses the request, and
 * `DaemonError` if it does not answer properly.
 */
export async function daemonJson<Answer>(
  edge: Edge,
  options: DaemonOptions,
  request: DaemonRequest,
  sign?: string,
): Promise<Answer> {
  const answer = await askDaemon(edge, options, request, TIMEOUT_MS);
  const { status, body } = answer;
  const isOther = status === request.alsoAnswers;
  if (status !== 200 && status !== 202 && !isOther) throw refusalIn(answer, options);
  const json = body === '' ? undefined : jsonOf(body);
  const key = isOther ? 'error' : sign;
  const isOurs =
    typeof json === 'object' && json !== null
      ? key !== undefined && Object.hasOwn(json, key)
      : json === undefined && key === undefined;
  if (isOurs) return json as Answer;
  throw new DaemonError('unexpected_shape', 'this is not the answer of a nestwatch daemon');
}

/** Why the daemon, or what stands in front of it, did not do as it was asked. */
export function refusalIn({ status, body }: HttpResponse, { url }: DaemonOptions): NestwatchError {
  if (status === 401) {
    // The token of a configuration is not sent to a `--url`.
    const how = `give --token-file${url === undefined ? ' or --config.file' : ''}`;
    return new DaemonError('unauthorized', `the daemon asks for its token: ${how}`);
  }
  if (status === 400 || status === 403 || status === 404) {
    return new NestwatchError('usage', refusalOf(jsonOf(body)) || 'the daemon does not accept this');
  }
  const words = refusalOf(readJson(body));
  return new DaemonError('unavailable', `the daemon answered ${status}${words && `: ${words}`}`);
}

function jsonOf(body: string): unknown {
  const json = readJson(body);
  if (json !== undefined) return json;
  throw new DaemonError('not_json', 'the answer is not JSON: is this the address of nestwatch?');
}

const MAX_REFUSAL = 500;

/** Reads an error message: API v1 answers `{"error": "…"}`, Alertmanager's API `"…"`. Empty for anything else. */
function refusalOf(json: unknown): string {
  const text = typeof json === 'string' ? json : z.object({ error: z.string() }).safeParse(json).data?.error;
  return plainText(text ?? '', MAX_REFUSAL);
}

/** Undefined for what is not JSON, for example from a proxy in front of the daemon. */
function readJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** A configured token is only for the daemon of the configuration, so it is not sent to a `--url`. */
function addressOf(edge: Edge, options: DaemonOptions, needed: Scope): Address {
  if (options.url !== undefined) {
    const mistake = mistakeInBaseUrl(options.url);
    if (mistake) throw new NestwatchError('usage', `--url ${mistake}`);
    const token = options.tokenFile === undefined ? undefined : secretInFile(options.tokenFile).trim();
    return { url: withoutTrailingSlash(options.url), token };
  }
  const file = findConfigFile(edge, options);
  const web = loadWebConfig({ file, environment: edge.environment, readFile: readGiven(file) });
  const host = hostOf(web);
  const token = tokenFor(web, needed)?.reveal();
  if (!web.tls) return { url: `http://${host}`, token };
  return {
    url: `https://${host}`,
    token,
    tls: { pinned: web.tls.cert, insecureSkipVerify: false },
  };
}

/** The address of the daemon, without a slash at the end. */
export function daemonUrl(edge: Edge, options: DaemonOptions): string {
  return addressOf(edge, options, 'read').url;
}

function hostOf(listen: HostPort): string {
  if (listen.port !== 0) return formatHostPort(reachable(listen));
  throw new NestwatchError(
    'usage',
    '`web.listen` has port 0, so only the log says where it listens: give --url',
  );
}

interface Address {
  readonly url: string;
  readonly token: string | undefined;
  readonly tls?: TlsSettings;
}

/** The configured token that allows what is needed; among several, the one that allows most. */
function tokenFor({ bearerToken, access }: WebConfig, needed: Scope): Secret | undefined {
  if (bearerToken && USUAL_SCOPES.includes(needed)) return bearerToken;
  const rank = ({ scopes }: { readonly scopes: ReadonlySet<Scope> }) =>
    (scopes.has(needed) ? SCOPES.length : 0) + scopes.size;
  return access?.tokens.toSorted((a, b) => rank(b) - rank(a))[0]?.token ?? bearerToken ?? undefined;
}
