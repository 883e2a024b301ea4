/** Shows people the host of an address that an integration posts to, and tries whether it can be reached. */
import { connect, isIP } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { NestwatchError } from '../errors.ts';
import { isSocks, tlsMaterial } from '../http/connection-pools.ts';
import type { ConnectionSettings } from '../http/http-settings.ts';
import { proxyFor } from '../http/proxy-choice.ts';
import type { Secret } from '../secret.ts';
import type { Probe } from './channel.ts';

const TIMEOUT_MS = 10_000;

export function hostOf(url: Secret): string {
  return URL.parse(url.reveal())?.host ?? 'no address';
}

/**
 * A probe that connects, with TLS if the address asks for it, and sends nothing. If a proxy stands in between, it
 * connects to the proxy. One probe stands for all addresses of one origin that are reached in the same way.
 */
export function probeAddress(address: Secret, { tls, proxy }: ConnectionSettings = {}): Probe {
  const target = new URL(address.reveal());
  const through = proxy && proxyFor(target, proxy);
  const url = through === undefined ? target : new URL(through);
  const material = tls ? tlsMaterial(tls) : {};
  // The configured server name is the target's, not the proxy's.
  const { key, ...open } = through === undefined ? material : { ...material, servername: undefined };
  return {
    key: [target.origin, url.origin, JSON.stringify(open)].join(' '),
    run: () => tryConnect(url, key === undefined ? open : { ...open, key }),
  };
}

function tryConnect(url: URL, material: ConnectionOptions): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'https:';
  const port = Number(url.port) || (isTls ? 443 : isSocks(url.href) ? 1080 : 80);
  const { servername = isIP(host) ? '' : host, ...own } = material;
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ ...own, host, port, servername }) : connect({ host, port });
    const end = (error?: Error) => {
      socket.destroy();
      if (error) reject(error);
      else resolve();
    };
    socket.setTimeout(TIMEOUT_MS, () => end(new NestwatchError('timeout', 'no connection in time')));
    socket.once(isTls ? 'secureConnect' : 'connect', () => end());
    socket.on('error', (error) => end(error));
  });
}
