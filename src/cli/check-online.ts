import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createTransport } from 'nodemailer';
import type { Config, EmailIntegration } from '../config/config.ts';
import { formatHostPort } from '../config/host-port.ts';
import { smtpLogin } from '../delivery/channels/email.ts';
import { ERRORS, NestwatchError } from '../errors.ts';
import type { Edge } from './edge.ts';
import { withClient } from './with-client.ts';

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

/** Connects, encrypts and logs in as a mail would, and ends there. */
async function tryMail(email: EmailIntegration): Promise<void> {
  const { host, port } = email.smarthost;
  const secure = port === 465;
  const login = smtpLogin(email);
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: email.requireTls && !secure,
    tls: { rejectUnauthorized: !email.tlsInsecureSkipVerify },
    ...(email.hello && { name: email.hello }),
    ...(login && { auth: login }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
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

/** Mail servers and TLS say what is wrong in words; addresses in them are those of the configuration. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
