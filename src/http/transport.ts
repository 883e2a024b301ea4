import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { NestwatchError } from '../errors.ts';
import { createConnectionPools } from './connection-pools.ts';
import { type BytesInFlight, Exchange } from './http-exchange.ts';
import type { ConnectionSettings } from './http-settings.ts';
import type { LookUp } from './look-up.ts';
import { networkErrorWords } from './network-error.ts';
import { timeHeaders } from './server-time.ts';
import { errors } from './undici.ts';

/** One HTTP exchange. The caller prepares the request; the answer comes back as text, complete, with its status. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** An absolute URL without credentials. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** In place of `body`. */
  readonly bytes?: Uint8Array;
  /** By default that of the transport. */
  readonly maxBodyBytes?: number;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; repeated headers that are lists are joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Call this once the body was read; present if the transport limits the bytes it holds. */
  readonly release?: () => void;
  /** What the transport got and sent itself, such as an access token; no message may repeat it. */
  readonly secrets?: readonly string[];
}

/**
 * Carries requests. It never retries and never follows a redirect. It throws only `NestwatchError`s: `unreachable`
 * (never sent, or no answer), `timeout`, `too_large` or `not_json` (the body was cut short).
 */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface TransportOptions extends ConnectionSettings {
  /** The most connections to each origin; further requests wait for one. */
  readonly connections: number;
  /** For a whole exchange, from `send` to the last byte, so that a trickling body is cut off too. */
  readonly timeoutMs: number;
  /** Larger bodies end with `too_large`, and their connection is closed. */
  readonly maxBodyBytes: number;
  /** Limits the bytes of all answers together until they are released; without it only each answer is limited. */
  readonly inFlight?: BytesInFlight;
  /** Resolves host names; the system's resolver by default. */
  readonly lookUp?: LookUp | undefined;
}

type Decode = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>;

/** Encodings that gateways use unasked: values of `content-encoding` (RFC 9110, 8.4.1). */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
]);

/** No working server takes longer to accept a connection. */
const MAX_CONNECT_MS = 10_000;

/**
 * Opens a transport over sockets: one pool of HTTP/1.1 connections for each origin, created on first use. It offers
 * no encoding, so that bodies come uncompressed; those that are compressed anyway are decompressed. `close` ends
 * exchanges in progress with `unreachable`.
 */
export function openTransport(options: TransportOptions): Transport {
  const { timeoutMs, inFlight } = options;
  const pools = createConnectionPools({
    ...options,
    // Shorter than the whole exchange, to tell "never connected" from "sent, but no answer".
    connectTimeoutMs: Math.min(MAX_CONNECT_MS, timeoutMs * 0.8),
  });
  let isClosed = false;

  return {
    async send({ method, url, headers, body, bytes: raw, maxBodyBytes = options.maxBodyBytes }) {
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
          body: raw ?? body ?? null,
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

/** Alternating names and values. undici writes values as Latin-1; non-ASCII text is sent as its UTF-8 bytes. */
function encoded(headers: Readonly<Record<string, string>>): string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) pairs.push(name, isAscii(value) ? value : utf8(value));
  return pairs;
}

const isAscii = (text: string) => !/[^\0-\x7f]/.test(text);

const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** Headers that have one value. If a gateway repeats one, the first counts, as for Node's own client. */
const SINGLE = new Set(['content-type', 'date', 'location', 'retry-after']);

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const text = (name: string, value: string | readonly string[]) =>
    typeof value === 'string' ? value : SINGLE.has(name) ? value[0]! : value.join(', ');
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, text(name, value)]],
    ),
  );
}

/**
 * Returns the decompressed body, and the headers without `content-encoding`. A body that cannot be decompressed is
 * returned as it came: a wrong header must not damage a plain body. Throws undici's error above `maxBodyBytes`.
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

/** undici's messages for a proxy that refuses, for tunnels and for plain HTTP. */
const PROXY_REFUSAL = /^Proxy (?:response|Authentication Required) \((\d+)\)/;

/** Messages name the host alone: paths and queries may contain secrets. */
function failure(
  error: unknown,
  host: string,
  timeoutMs: number,
  maxBodyBytes: number,
  { status, headers }: Pick<Exchange, 'status' | 'headers'>,
): NestwatchError {
  // A refusal may ask for a pause in its headers, even if its body failed.
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

/** Words for the system's error code: its own message may contain an address that is private. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as Error & { code?: unknown };
  return networkErrorWords(typeof code === 'string' ? code : error.name);
}

const decoder = new TextDecoder();

/** How many bytes are decoded at once. Invalid UTF-8 takes about ten times as long to decode as valid UTF-8. */
const DECODED_AT_ONCE = 2 ** 20;

/** Decodes UTF-8 in parts, and lets the event loop turn between them. */
export async function bodyText(bytes: Uint8Array): Promise<string> {
  // Most answers to a POST are empty, and creating a decoder for one costs as much as for a page.
  if (bytes.length === 0) return '';
  if (bytes.length <= DECODED_AT_ONCE) return decoder.decode(bytes);
  // A streaming decoder keeps a character that is cut in two.
  const own = new TextDecoder();
  const parts: string[] = [];
  for (let from = 0; from < bytes.length; from += DECODED_AT_ONCE) {
    parts.push(own.decode(bytes.subarray(from, from + DECODED_AT_ONCE), { stream: true }));
    await turnOfEventLoop();
  }
  return parts.join('') + own.decode();
}
