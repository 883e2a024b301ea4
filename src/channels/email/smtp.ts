/** Connects to mail servers, logs in, and keeps connections open. What stops here: passwords, tokens and keys. */
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import type { SendMailOptions } from 'nodemailer';
import { tlsMaterial } from '../../http/connection-pools.ts';
import type { LookUp } from '../../http/look-up.ts';
import { formatHostPort } from '../../http/web-address.ts';
import type { Clock } from '../../time/clock.ts';
import type { Probe } from '../channel.ts';
import type { EmailIntegration } from './email-config.ts';

const require = createRequire(import.meta.url);
/** Loaded for the first mail: many daemons send none. */
const nodemailer = () => require('nodemailer') as typeof import('nodemailer');
const smtpConnection = () =>
  require('nodemailer/lib/smtp-connection') as typeof import('nodemailer/lib/smtp-connection').default;

export const MAILS_IN_FLIGHT = 5;
/** One more than an integration has mails in flight, so that none takes all of them. */
const CONNECTIONS = MAILS_IN_FLIGHT + 1;
/** The most logins that are kept connected. */
const MAX_POOLS = 32;
const CONNECT_TIMEOUT_MS = 10_000;
/** How long the server may send nothing; servers may take a while after the end of a message. */
const SILENCE_TIMEOUT_MS = 60_000;
/** How long a server's answer about SMTPUTF8 is kept. */
const ASKED_AGAIN_MS = 60_000;

interface Pools {
  /** The connections that an integration uses; slow ones (`isSlow`) do not share connections with the others. */
  poolOf(integration: EmailIntegration, isSlow: boolean): Pool;
  /** Whether the server offers SMTPUTF8. Asks it now and then. */
  offersSmtpUtf8(integration: EmailIntegration): Promise<boolean>;
  close(): void;
}

/** `lookUp` looks up the names of servers; without it nodemailer does. */
export function createPools(lookUp: LookUp | undefined, clock: Clock): Pools {
  const closing = new AbortController();
  const offers = new Map<string, { readonly askedMs: number; readonly answer: Promise<boolean> }>();

  /** The one used last is the last. */
  const pools = new Map<string, Pool>();

  function poolOf(integration: EmailIntegration, isSlow: boolean): Pool {
    const dkim = dkimOf(integration);
    const key = JSON.stringify([smtpOptions(integration), dkim, isSlow]);
    const pool = pools.get(key) ?? openPool(integration, dkim, lookUp);
    pools.delete(key);
    pools.set(key, pool);
    dropOldPool();
    return pool;
  }

  /**
   * Drops the pool that was not used for longest. When a login changes, its old pool is no longer used. What that has
   * under way is finished.
   */
  function dropOldPool(): void {
    const [oldest] = pools;
    if (pools.size <= MAX_POOLS || !oldest) return;
    pools.delete(oldest[0]);
    oldest[1].close();
  }

  return {
    poolOf,
    offersSmtpUtf8(integration) {
      const { auth: _auth, ...server } = smtpOptions(integration);
      const key = JSON.stringify(server);
      const known = offers.get(key);
      const nowMs = clock.monotonicMs();
      if (known && nowMs - known.askedMs < ASKED_AGAIN_MS) return known.answer;
      const late = new AbortController();
      const cancelTimer = clock.setTimer(SILENCE_TIMEOUT_MS, () => late.abort());
      const answer = askForSmtpUtf8(
        integration,
        lookUp,
        AbortSignal.any([late.signal, closing.signal]),
      ).finally(cancelTimer);
      answer.catch(() => offers.delete(key));
      if (offers.size >= MAX_POOLS) offers.clear();
      offers.set(key, { askedMs: nowMs, answer });
      return answer;
    },
    close() {
      closing.abort();
      for (const pool of pools.values()) pool.close({ force: true });
      pools.clear();
    },
  };
}

type Pool = ReturnType<typeof openPool>;

export interface Mail extends SendMailOptions {
  /** Called when a connection has taken the message. */
  readonly whenBegun: () => void;
  /** Called when the last byte of the message was handed to the connection. */
  readonly whenSent: () => void;
}

type Dkim = ReturnType<typeof dkimOf>;

/** How to log in: with a password, with XOAUTH2, or not at all. */
function smtpLogin({ username, password, oauth2 }: EmailIntegration) {
  if (!username) return undefined;
  if (!oauth2) return { user: username, pass: password?.reveal() ?? '' };
  if ('accessToken' in oauth2) {
    return { type: 'OAuth2' as const, user: username, accessToken: oauth2.accessToken.reveal() };
  }
  return {
    type: 'OAuth2' as const,
    user: username,
    clientId: oauth2.clientId,
    clientSecret: oauth2.clientSecret.reveal(),
    refreshToken: oauth2.refreshToken.reveal(),
    accessUrl: oauth2.tokenUrl + oauth2.tokenQuery.reveal(),
  };
}

function dkimOf({ dkim }: EmailIntegration) {
  if (!dkim) return undefined;
  return { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey.reveal() };
}

/** How to reach the mail server and log in, whatever is sent. */
function smtpOptions(integration: EmailIntegration) {
  const { smarthost, requireTls, hello, isImplicitTls: secure, tls } = integration;
  const isVerified = !tls?.insecureSkipVerify && (requireTls || secure);
  const login = smtpLogin(integration);
  return {
    host: smarthost.host,
    port: smarthost.port,
    secure,
    requireTLS: requireTls && !secure,
    // Without `require_tls`, encryption is used if it is offered, but certificates are not verified: a bad certificate
    // must not force the mail into plain text.
    tls: { ...(tls && tlsMaterial(tls)), rejectUnauthorized: isVerified },
    opportunisticTLS: !requireTls,
    ...(hello && { name: hello }),
    ...(login && { auth: login }),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function openPool(integration: EmailIntegration, dkim: Dkim, lookUp: LookUp | undefined) {
  const pool = nodemailer().createTransport({
    ...smtpOptions(integration),
    pool: true,
    maxConnections: CONNECTIONS,
    // If the first connection turns out to be dead before any byte was sent, the message goes over a second one.
    maxRequeues: 1,
    ...(dkim && { dkim }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    ...(lookUp && {
      getSocket: (_options: unknown, connected: Connected) =>
        connectTo(integration.smarthost, lookUp, connected),
    }),
  });
  pool.use('stream', (mail, next) => {
    const { whenBegun, whenSent } = mail.data as unknown as Mail;
    if (mail.message) {
      mail.message.processFunc((input) => {
        whenBegun();
        input.once('end', whenSent);
        return input;
      });
    }
    next();
  });
  return pool;
}

type Connected = (error: Error | null, options?: { readonly connection: Socket }) => void;

/** Connects as nodemailer does, except that `lookUp` looks up the name. */
function connectTo(
  { host, port }: EmailIntegration['smarthost'],
  lookUp: LookUp,
  connected: Connected,
): void {
  const socket = connect({ host, port, lookup: lookUp, timeout: CONNECT_TIMEOUT_MS });
  const failed = (error: Error) => connected(error);
  const late = () => socket.destroy(Object.assign(new Error('Connection timeout'), { code: 'ETIMEDOUT' }));
  socket.once('error', failed);
  socket.once('timeout', late);
  socket.once('connect', () => {
    socket.off('error', failed);
    socket.off('timeout', late);
    socket.setTimeout(0);
    connected(null, { connection: socket });
  });
}

export const NO_SMTPUTF8 = 'the mail server does not offer SMTPUTF8, which this address needs';

/** Whether a server must offer SMTPUTF8 (RFC 6531) to take an address: a domain has a form in ASCII, a name has none. */
export function needsSmtpUtf8(address: string): boolean {
  const bare = /<([^<>]*)>$/.exec(address)?.[1] ?? address;
  return /[^\0-\x7f]/.test(bare.slice(0, bare.lastIndexOf('@')));
}

/**
 * Connects, encrypts, and reads whether the server offers SMTPUTF8. nodemailer sends addresses beyond ASCII to any
 * server, also to one that cannot take them and then refuses the whole mail. `signal` ends it.
 */
export function askForSmtpUtf8(
  integration: EmailIntegration,
  lookUp?: LookUp,
  signal?: AbortSignal,
): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const ask = (connected?: { readonly connection: Socket }) => {
    const connection = new (smtpConnection())({
      ...smtpOptions(integration),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      dnsTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: CONNECT_TIMEOUT_MS,
      ...connected,
    });
    const giveUp = (error: Error) => {
      reject(error);
      connection.close();
    };
    const abort = () => giveUp(Object.assign(new Error('Connection was closed'), { code: 'EABORT' }));
    signal?.addEventListener('abort', abort);
    connection.on('error', giveUp);
    connection.once('end', () => {
      signal?.removeEventListener('abort', abort);
      abort();
    });
    connection.connect((error) => {
      if (error) return;
      resolve(/^250[ -]SMTPUTF8\b/im.test(String(connection.lastServerResponse)));
      connection.quit();
    });
  };
  if (lookUp) {
    connectTo(integration.smarthost, lookUp, (error, connected) => (error ? reject(error) : ask(connected)));
  } else ask();
  return promise;
}

/** A probe of a mail server. One stands for all integrations that log in to it in the same way. */
export function probeServer(integration: EmailIntegration): Probe {
  const { smarthost, username } = integration;
  const { auth: _auth, ...server } = smtpOptions(integration);
  return {
    key: JSON.stringify([server, username]),
    server: `mail server ${formatHostPort(smarthost)}`,
    run: () => tryLogin(integration),
  };
}

/** Connects, encrypts and logs in as for a mail, and sends nothing. Rejects if that fails. */
async function tryLogin(email: EmailIntegration): Promise<void> {
  const transport = nodemailer().createTransport({
    ...smtpOptions(email),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: CONNECT_TIMEOUT_MS,
  });
  try {
    await transport.verify();
  } finally {
    transport.close();
  }
}
