/**
 * Keeps a pool of connections for each origin, direct or through a proxy, with the configured certificates.
 * Certificate files are compared at each request: when one has changed, a new pool is opened, and the old one closes
 * once its requests have ended. Beyond the bound, the pool of the least recently used origin is closed in the same
 * way, since a receiver that redirects may name another origin in each answer.
 */
import { X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import type { Dispatcher } from 'undici';
import { LIMITS } from '../limits.ts';
import { type ConnectionSettings, proxyFor, type TlsSettings } from './http-settings.ts';
import type { LookUp } from './look-up.ts';
import { Pool, wholeUndici } from './undici.ts';

interface PoolOptions extends ConnectionSettings {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Resolves host names; the system's resolver by default. */
  readonly lookUp?: LookUp | undefined;
}

interface ConnectionPools {
  to(target: URL): Pick<Dispatcher, 'dispatch'>;
  destroy(): Promise<void>;
}

export function createConnectionPools(options: PoolOptions): ConnectionPools {
  const { tls, proxy } = options;
  const pools = new Map<string, { readonly made: string; readonly dispatcher: Dispatcher }>();
  /** Closing pools that still carry requests. */
  const retired = new Set<Dispatcher>();

  function retire(dispatcher: Dispatcher): void {
    retired.add(dispatcher);
    dispatcher.close().then(
      () => retired.delete(dispatcher),
      () => retired.delete(dispatcher),
    );
  }

  function retireOldest(): void {
    for (const [origin, { dispatcher }] of pools) {
      pools.delete(origin);
      retire(dispatcher);
      return;
    }
  }

  return {
    to(target) {
      const through = proxy && proxyFor(target, proxy);
      // Over plain HTTP, certificates matter only for the connection to a proxy.
      const trust = tls && (target.protocol === 'https:' || through) ? tlsMaterial(tls) : undefined;
      const made = trust || through ? JSON.stringify([through, trust]) : '';
      const known = pools.get(target.origin);
      // A map keeps insertion order, so the least recently used origin comes first.
      if (known) pools.delete(target.origin);
      if (known?.made === made) {
        pools.set(target.origin, known);
        return known.dispatcher;
      }
      if (known) retire(known.dispatcher);
      const dispatcher = open(target.origin, options, trust, through);
      pools.set(target.origin, { made, dispatcher });
      if (pools.size > LIMITS.kept_origins.most) retireOldest();
      return dispatcher;
    },

    async destroy() {
      const all = [...[...pools.values()].map(({ dispatcher }) => dispatcher), ...retired];
      pools.clear();
      await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** The options that undici passes to Node's TLS. */
type TlsMaterial = {
  -readonly [Key in
    | 'ca'
    | 'allowPartialTrustChain'
    | 'checkServerIdentity'
    | 'cert'
    | 'key'
    | 'servername'
    | 'minVersion'
    | 'maxVersion'
    | 'rejectUnauthorized']?: NonNullable<ConnectionOptions[Key]>;
};

function open(
  origin: string,
  { connections, connectTimeoutMs, timeoutMs, maxBodyBytes, lookUp }: PoolOptions,
  tls: TlsMaterial | undefined,
  proxy: string | undefined,
): Dispatcher {
  const common = {
    connections,
    // With one request per connection, limits, timeouts and failures of requests do not affect each other.
    pipelining: 1,
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: maxBodyBytes,
  };
  const lookup = lookUp && { lookup: lookUp };
  if (proxy === undefined)
    return new Pool(origin, { ...common, connect: { ...tls, ...lookup, timeout: connectTimeoutMs } });
  const { buildConnector, ProxyAgent, Socks5ProxyAgent } = wholeUndici();
  if (isSocks(proxy)) {
    const agent = new Socks5ProxyAgent(proxy.replace(/^socks5h:/i, 'socks5:'), {
      connect: buildConnector({ ...lookup, timeout: connectTimeoutMs }),
      requestTls: { ...tls, timeout: connectTimeoutMs },
    });
    // The agent creates its pools from each request's options.
    return agent.compose((dispatch) => (request, handler) => dispatch({ ...request, ...common }, handler));
  }
  const { cert: _cert, key: _key, servername: _name, ...trust } = tls ?? {};
  return new ProxyAgent({
    ...common,
    uri: proxy,
    connectTimeout: connectTimeoutMs,
    requestTls: { ...tls },
    // The client certificate is meant for the server, not for the proxy.
    proxyTls: { ...trust, ...lookup },
    // Without these factories, connections to a proxy for plain HTTP would have undici's own limits.
    factory: (to, own) => new Pool(to, { ...common, ...own }),
    clientFactory: (to, own) => new Pool(to, { ...common, ...own }),
  });
}

/** Whether the proxy speaks SOCKS 5 rather than HTTP. With or without the `h`, it resolves names itself. */
export function isSocks(proxy: string): boolean {
  return /^socks5h?:/i.test(proxy);
}

/** The options for Node's TLS; reads the configured files. */
export function tlsMaterial(tls: TlsSettings): TlsMaterial {
  const { ca, cert, key, serverName, pinned, insecureSkipVerify, minVersion, maxVersion } = tls;
  return {
    // As in Go, a certificate in `ca` is itself trusted, not only certificates that it signed.
    ...(ca && { ca: ca.reveal(), allowPartialTrustChain: true }),
    ...(pinned && {
      ca: new X509Certificate(pinned.reveal()).toString(),
      allowPartialTrustChain: true,
      checkServerIdentity: () => undefined,
    }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
    ...(serverName && { servername: serverName }),
    ...(insecureSkipVerify && { rejectUnauthorized: false }),
    ...(minVersion && { minVersion }),
    ...(maxVersion && { maxVersion }),
  };
}
