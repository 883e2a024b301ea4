/**
 * Connections by the origin that they lead to, direct or through a proxy, with the certificates that are configured.
 * Files are compared at each request: when one has changed, new connections are made, and the old ones end when what
 * they carry has ended. The same becomes of those to the origin that was asked longest ago, beyond the bound: a receiver
 * that redirects may name another one in each answer.
 */
import type { ConnectionOptions } from 'node:tls';
import { buildConnector, type Dispatcher, Pool, ProxyAgent, Socks5ProxyAgent } from 'undici';
import { LIMITS } from '../limits.ts';
import type { ConnectionSettings, TlsSettings } from './http-settings.ts';
import type { LookUp } from './look-up.ts';
import { proxyFor } from './proxy-choice.ts';

interface PoolOptions extends ConnectionSettings {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Looks up the names of servers; without it, the system does. */
  readonly lookUp?: LookUp | undefined;
}

interface ConnectionPools {
  to(target: URL): Dispatcher;
  destroy(): Promise<void>;
}

export function createConnectionPools(options: PoolOptions): ConnectionPools {
  const { tls, proxy } = options;
  const pools = new Map<string, { readonly made: string; readonly dispatcher: Dispatcher }>();
  /** What still carries requests with the certificates of before. */
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
      // Of plain HTTP only a proxy's own connection may need certificates.
      const trust = tls && (target.protocol === 'https:' || through) ? tlsMaterial(tls) : undefined;
      const made = trust || through ? JSON.stringify([through, trust]) : '';
      const known = pools.get(target.origin);
      // A map keeps the order in which its keys came: the one that was asked longest ago stands first.
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

/** What undici passes on to Node's TLS. */
type TlsMaterial = {
  -readonly [Key in
    | 'ca'
    | 'allowPartialTrustChain'
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
    // One request a connection keeps limits, timeouts and failures of requests apart from each other.
    pipelining: 1,
    allowH2: false,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: maxBodyBytes,
  };
  const lookup = lookUp && { lookup: lookUp };
  if (proxy === undefined)
    return new Pool(origin, { ...common, connect: { ...tls, ...lookup, timeout: connectTimeoutMs } });
  if (isSocks(proxy)) {
    const agent = new Socks5ProxyAgent(proxy.replace(/^socks5h:/i, 'socks5:'), {
      connect: buildConnector({ ...lookup, timeout: connectTimeoutMs }),
      requestTls: { ...tls, timeout: connectTimeoutMs },
    });
    // It makes its pools as each request says.
    return agent.compose((dispatch) => (request, handler) => dispatch({ ...request, ...common }, handler));
  }
  const { cert: _cert, key: _key, servername: _name, ...trust } = tls ?? {};
  return new ProxyAgent({
    ...common,
    uri: proxy,
    connectTimeout: connectTimeoutMs,
    requestTls: { ...tls },
    // The proxy is not who the certificate is for.
    proxyTls: { ...trust, ...lookup },
    // Without it, connections to a proxy for plain HTTP would have undici's own bounds.
    factory: (to, own) => new Pool(to, { ...common, ...own }),
    clientFactory: (to, own) => new Pool(to, { ...common, ...own }),
  });
}

/** Whether a proxy is asked by SOCKS 5, and not by HTTP; with or without the `h`, it looks names up itself. */
export function isSocks(proxy: string): boolean {
  return /^socks5h?:/i.test(proxy);
}

/** What Node's TLS asks for; files are read. */
export function tlsMaterial(tls: TlsSettings): TlsMaterial {
  const { ca, cert, key, serverName, insecureSkipVerify, minVersion, maxVersion } = tls;
  return {
    // As in Go, a certificate that stands there itself is trusted, not only what it signed.
    ...(ca && { ca: ca.reveal(), allowPartialTrustChain: true }),
    ...(cert && key && { cert: cert.reveal(), key: key.reveal() }),
    ...(serverName && { servername: serverName }),
    ...(insecureSkipVerify && { rejectUnauthorized: false }),
    ...(minVersion && { minVersion }),
    ...(maxVersion && { maxVersion }),
  };
}
