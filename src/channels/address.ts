/** The address that an integration posts to: what people may see of it, and whether it can be reached. */
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
 * Connects, with TLS where the address asks for it, and ends there; where a proxy stands before it, to the proxy. One try
 * stands for all addresses of an origin that are reached in the same way.
 */
export function probeAddress(address: Secret, { tls, proxy }: ConnectionSettings = {}): Probe {
  const target = new URL(address.reveal());
  const through = proxy && proxyFor(target, proxy);
  const url = through === undefined ? target : new URL(through);
  const material = tls ? tlsMaterial(tls) : {};
  // The certificate of the configuration is for the target.
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
