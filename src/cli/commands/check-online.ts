import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Config, EmailIntegration } from '../../config/config.ts';
import { ERRORS, NestwatchError } from '../../errors.ts';
import { formatHostPort } from '../../http/host-port.ts';
import type { Edge } from '../../process-io.ts';
import { reasonOf, tryMail } from '../try-mail.ts';
import { withClient } from '../with-client.ts';

export interface OnlineResult {
  readonly what: string;
  /** Undefined where it works. */
  readonly failure?: string;
}

const TIMEOUT_MS = 10_000;

/** Tries each token, mail server and other receiver's address once, and tells it of all that use it. Nothing is sent. */
export async function* checkOnline(edge: Edge, config: Config): AsyncGenerator<OnlineResult> {
  for (const region of config.regions) {
    const tryToken = () =>
      withClient(edge, { region, timeoutMs: region.timeoutMs }, (client) => client.searchNests());
    yield { what: `regions.${region.name}`, ...(await outcome(tryToken)) };
  }
  const outcomes = new Map<string, Promise<{ failure?: string }>>();
  const told = new Set<string>();
  for (const { name, integrations } of config.receivers) {
    for (const [index, integration] of integrations.entries()) {
      const isMail = integration.kind === 'email';
      const key = isMail ? mailKey(integration) : originOf(integration.url.reveal());
      const what = `receiver ${name}, ${isMail ? `mail server ${formatHostPort(integration.smarthost)}` : `${integration.kind} ${index + 1}`}`;
      const tried =
        outcomes.get(key) ??
        outcome(() => (isMail ? tryMail(integration) : tryConnect(integration.url.reveal())));
      outcomes.set(key, tried);
      // Several addresses of one receiver mostly go by one mail server.
      const line = `${what} ${isMail ? key : ''}`;
      if (told.has(line)) continue;
      told.add(line);
      yield { what, ...(await tried) };
    }
  }
}

async function outcome(check: () => Promise<unknown>): Promise<{ failure?: string }> {
  try {
    await check();
    return {};
  } catch (error) {
    if (error instanceof NestwatchError) return { failure: `${error.message}. ${ERRORS[error.code].help}` };
    return { failure: reasonOf(error) };
  }
}

function mailKey({ smarthost, username, requireTls }: EmailIntegration): string {
  return JSON.stringify([smarthost, username, requireTls]);
}

function originOf(url: string): string {
  return new URL(url).origin;
}

/** A connection alone, with TLS where the address asks for it: no receiver gets a message from this. */
function tryConnect(address: string): Promise<void> {
  const url = new URL(address);
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
