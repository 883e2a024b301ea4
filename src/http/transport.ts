import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { errors } from 'undici';
import { NestwatchError } from '../errors.ts';
import { bodyText } from './body-text.ts';
import type { BytesInFlight } from './bytes-in-flight.ts';
import { createConnectionPools } from './connection-pools.ts';
import { Exchange } from './http-exchange.ts';
import type { ConnectionSettings } from './http-settings.ts';
import type { LookUp } from './look-up.ts';
import { timeHeaders } from './server-time.ts';

/** One HTTP exchange. What goes out is prepared by the caller; what comes back is text, whole, with its status. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Absolute URL without credentials. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; a header that came several times is joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** To be called when the body was read, where the transport bounds what it holds. */
  readonly release?: () => void;
  /** What the transport itself sent and no text may repeat. */
  readonly secrets?: readonly string[];
}

/**
 * Carries requests. It never retries, never follows a redirect and never throws anything but a `NestwatchError`
 * with `unreachable` (never sent or no answer), `timeout`, `too_large` or `not_json` (a body cut short).
 */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface TransportOptions extends ConnectionSettings {
  /** Connections to each origin at the most; further requests wait for one. */
  readonly connections: number;
  /** For a whole exchange, from `send` to the last byte: a body that trickles does not live longer. */
  readonly timeoutMs: number;
  /** Larger bodies end with `too_large`, and their connection with them. */
  readonly maxBodyBytes: number;
  /** Bounds what all answers take together until they are released; without it only each is bounded by itself. */
  readonly inFlight?: BytesInFlight;
  /** Looks up the names of servers; without it, the system does. */
  readonly lookUp?: LookUp | undefined;
}

type Decode = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>;

/** What gateways compress with, unasked: the values of `content-encoding` (RFC 9110, 8.4.1). */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
]);

/** No server that is there takes longer to accept a connection. */
const MAX_CONNECT_MS = 10_000;

/**
 * Opens a transport over sockets: one pool of HTTP/1.1 connections for each origin, created when it is first asked.
 * No encoding is offered, so that bodies come plain; those that do not are unpacked. `close` ends what is still under way
 * with `unreachable`.
 */
export function openTransport(options: TransportOptions): Transport {
  const { timeoutMs, maxBodyBytes, inFlight } = options;
  const pools = createConnectionPools({
    ...options,
    // Shorter than the whole exchange, so that "never connected" differs from "sent, and no answer".
    connectTimeoutMs: Math.min(MAX_CONNECT_MS, timeoutMs * 0.8),
  });
  let isClosed = false;

  return {
    async send({ method, url, headers, body }) {
      if (isClosed) throw new NestwatchError('unreachable', 'the transport is closed');
      const target = URL.parse(url);
      if (target?.protocol !== 'http:' && target?.protocol !== 'https:') {
        throw new NestwatchError('unreachable', 'the address is not an http or https URL');
      }
      const exchange = new Exchange(inFlight, maxBodyBytes);
      try {
        const request = {
          origin: target.origin,
          method,
          path: target.pathname + target.search,
          headers: encoded(headers),
          body: body ?? null,
        };
        const answer = await exchange.through(pools.to(target), request, timeoutMs);
        const { status, bytes } = answer;
        const found = joined(answer.headers);
        const encoding = found['content-encoding'];
        const read =
          encoding === undefined
            ? { headers: found, body: await bodyText(bytes) }
            : await unpacked(bytes, encoding, found, maxBodyBytes);
        const release = inFlight && (() => inFlight.release(exchange));
        return { status, ...read, ...(release && { release }) };
      } catch (error) {
        inFlight?.release(exchange);
        throw failure(error, target.host, timeoutMs, maxBodyBytes, exchange);
      }
    },

    async close() {
      isClosed = true;
      await pools.destroy();
    },
  };
}

/**
 * Names and values by turns. undici writes values as Latin-1; text beyond ASCII goes out as the bytes of its UTF-8.
 */
function encoded(headers: Readonly<Record<string, string>>): string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) pairs.push(name, isAscii(value) ? value : utf8(value));
  return pairs;
}

const isAscii = (text: string) => !/[^\0-\x7f]/.test(text);

const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : value.join(', ')]],
    ),
  );
}

/**
 * A body with its headers, without `content-encoding` where that was undone. What cannot be unpacked stays as it came:
 * a mark that is wrong does no harm to a body that is plain. Throws undici's error for more than `maxBodyBytes`.
 */
async function unpacked(
  bytes: Uint8Array,
  encoding: string,
  headers: Readonly<Record<string, string>>,
  maxBodyBytes: number,
): Promise<Pick<HttpResponse, 'headers' | 'body'>> {
  const decode = DECODERS.get(encoding.trim().toLowerCase());
  try {
    if (!decode) return { headers, body: await bodyText(bytes) };
    const plain = await decode(bytes, { maxOutputLength: maxBodyBytes });
    const { 'content-encoding': _undone, ...others } = headers;
    return { headers: others, body: await bodyText(plain) };
  } catch (error) {
    if (error instanceof RangeError) throw new errors.ResponseExceededMaxSizeError();
    return { headers, body: await bodyText(bytes) };
  }
}

/** undici's words for a proxy that lets nobody through: of a tunnel, and of plain HTTP. */
const PROXY_REFUSAL = /^Proxy (?:response|Authentication Required) \((\d+)\)/;

/** Messages name the host alone: paths and queries may hold what must not be printed. */
function failure(
  error: unknown,
  host: string,
  timeoutMs: number,
  maxBodyBytes: number,
  { status, headers }: Pick<Exchange, 'status' | 'headers'>,
): NestwatchError {
  // A refusal asks for a pause in its headers, whatever became of its words.
  const facts = status !== undefined && { status, headers: timeHeaders(joined(headers)) };
  const options = { cause: error, ...(facts && { facts }) };
  const refusal = error instanceof Error && PROXY_REFUSAL.exec(error.message)?.[1];
  if (refusal) {
    return new NestwatchError(
      'unreachable',
      `the proxy answered ${refusal} when it was asked for ${host}`,
      options,
    );
  }
  if (
    error instanceof errors.RequestAbortedError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError
  ) {
    return new NestwatchError('timeout', `${host} did not answer within ${timeoutMs} ms`, options);
  }
  if (error instanceof errors.ResponseExceededMaxSizeError) {
    return new NestwatchError('too_large', `${host} answered with more than ${maxBodyBytes} bytes`, options);
  }
  if (status !== undefined) return new NestwatchError('not_json', `${host} cut its answer short`, options);
  return new NestwatchError('unreachable', `no answer from ${host}: ${reasonOf(error)}`, options);
}

/** What the machine says, such as ECONNREFUSED: short, and without an address that may be private. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' ? code : error.name;
}
