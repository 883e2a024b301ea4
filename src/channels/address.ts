/** The address that an integration posts to: what people may see of it, and whether it can be reached. */
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { NestwatchError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import type { Probe } from './channel.ts';

const TIMEOUT_MS = 10_000;

export function hostOf(url: Secret): string {
  return URL.parse(url.reveal())?.host ?? 'no address';
}

/** Connects, with TLS where the address asks for it, and ends there. One try stands for all addresses of an origin. */
export function probeAddress(address: Secret): Probe {
  const url = new URL(address.reveal());
  return { key: url.origin, run: () => tryConnect(url) };
}

function tryConnect(url: URL): Promise<void> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'https:';
  const port = Number(url.port) || (isTls ? 443 : 80);
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ host, port, servername: host }) : connect({ host, port });
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
