/**
 * Mails a group's notification through the configured smarthost. Mails of one thread carry the same subject and refer
 * to its first mail; every id is derived, so each try of a delivery sends the same mail under the same Message-ID.
 * What stops here: the password, and the server's words, which are cleaned before people see them.
 */
import { createTransport, type NodemailerError, type SendMailOptions } from 'nodemailer';
import type { EmailIntegration } from '../../config/config.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import { type Channel, ONLY_CLOUDEVENTS, type Outcome } from '../channel.ts';
import { threadHeaders } from './email-headers.ts';
import { mailMessage } from './mail-message.ts';

const CONNECTIONS = 5;
/** Of logins that are kept connected. */
const MAX_POOLS = 32;
const CONNECT_TIMEOUT_MS = 10_000;
/** Without a byte from the server; servers may think for a while about the end of a message. */
const SILENCE_TIMEOUT_MS = 60_000;
/** For a whole try, with the wait for a connection: a server that trickles does not hold one for ever. */
const TRY_TIMEOUT_MS = 120_000;
const MAX_ERROR_CODE_POINTS = 300;

export function openEmailChannel(options: {
  readonly clock: Clock;
  readonly version: string;
}): Channel<EmailIntegration> {
  const { clock, version } = options;
  const pools = new Map<string, Pool>();

  function poolOf(integration: EmailIntegration): Pool {
    const { smarthost, requireTls, username, hello, tlsInsecureSkipVerify } = integration;
    const login = smtpLogin(integration);
    const dkim = dkimOf(integration);
    const own = [login, hello, tlsInsecureSkipVerify, dkim];
    const key = JSON.stringify([smarthost, requireTls, username, ...own]);
    let pool = pools.get(key);
    if (!pool) {
      pool = openPool(integration, dkim);
      pools.set(key, pool);
      dropOldPool();
    }
    return pool;
  }

  /** A login that changes leaves a pool behind that is not asked again. What it has under way it ends. */
  function dropOldPool(): void {
    const [oldest] = pools;
    if (pools.size <= MAX_POOLS || !oldest) return;
    pools.delete(oldest[0]);
    oldest[1].close();
  }

  return {
    async send(integration, delivery, notification, externalUrl) {
      if (notification.kind === 'forward') {
        return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      }
      if (notification.kind === 'digest' && integration.to.length === 0) {
        return { kind: 'nothing', why: 'a digest belongs to no Nest: it goes to addresses, not to members' };
      }
      const { subject, text, html, headers, templateError } = mailMessage(
        notification,
        externalUrl,
        integration.templates,
      );
      const pool = poolOf(integration);
      const abort = new AbortController();
      let isSent = false;
      const mail: Mail = {
        from: integration.from,
        to: [...((notification.kind === 'group' ? notification.to : undefined) ?? integration.to)],
        ...(delivery.remaining && { envelope: { from: integration.from, to: [...delivery.remaining] } }),
        ...threadHeaders(notification, delivery, externalUrl),
        subject,
        date: new Date(clock.nowUs() / 1000),
        xMailer: `nestwatch/${version}`,
        headers: { ...headers, 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        text,
        html,
        signal: abort.signal,
        whenSent() {
          isSent = true;
        },
      };
      const cancelTimer = clock.setTimer(TRY_TIMEOUT_MS, () => abort.abort());
      try {
        const { rejectedErrors = [] } = await pool.sendMail(mail);
        const outcome = partly(rejectedErrors);
        return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
      } catch (error) {
        return failed(error, isSent);
      } finally {
        cancelTimer();
      }
    },

    async close() {
      for (const pool of pools.values()) pool.close({ force: true });
      pools.clear();
    },
  };
}

type Pool = ReturnType<typeof openPool>;

interface Mail extends SendMailOptions {
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
    accessUrl: oauth2.tokenUrl,
  };
}

function dkimOf({ dkim }: EmailIntegration) {
  if (!dkim) return undefined;
  return { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKey.reveal() };
}

/** How to reach the mail server and log in, whatever is sent. */
export function smtpOptions(integration: EmailIntegration) {
  const { smarthost, requireTls, hello, tlsInsecureSkipVerify } = integration;
  const secure = smarthost.port === 465;
  const login = smtpLogin(integration);
  return {
    host: smarthost.host,
    port: smarthost.port,
    secure,
    requireTLS: requireTls && !secure,
    // Without `require_tls` encryption is taken where it is offered, but proves nothing: a certificate that fails
    // must not force the mail into plain text.
    tls: { rejectUnauthorized: !tlsInsecureSkipVerify && (requireTls || secure) },
    opportunisticTLS: !requireTls,
    ...(hello && { name: hello }),
    ...(login && { auth: login }),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

function openPool(integration: EmailIntegration, dkim: Dkim) {
  const pool = createTransport({
    ...smtpOptions(integration),
    pool: true,
    maxConnections: CONNECTIONS,
    // A message of which no byte was sent goes out over a second connection when the first turns out to be dead.
    maxRequeues: 1,
    ...(dkim && { dkim }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
  });
  pool.use('stream', (mail, next) => {
    const { whenSent } = mail.data as unknown as Mail;
    if (mail.message) {
      mail.message.processFunc((input) => {
        input.once('end', whenSent);
        return input;
      });
    }
    next();
  });
  return pool;
}

/** Who of several was refused, when the server took the mail for the others. Only who deferred it gets the next try. */
function partly(rejected: readonly NodemailerError[]): Outcome {
  if (rejected.length === 0) return { kind: 'accepted' };
  const words = (errors: readonly NodemailerError[]) =>
    cleaned(errors.map((error) => `${error.recipient}: ${error.response ?? error.message}`).join('; '));
  const deferred = rejected.filter((error) => error.permanent !== true);
  const gone = rejected.filter((error) => error.permanent === true);
  const refused = gone.length > 0 && { refused: words(gone) };
  if (deferred.length === 0) return { kind: 'accepted', ...refused };
  const remaining = deferred.flatMap((error) => error.recipient ?? []);
  const error = `deferred for ${words(deferred)}`;
  return { kind: 'failed', reason: 'unavailable', error, remaining, ...refused };
}

/** Replies that concern the message itself; the others, such as a refused login, concern the way to it. */
const MESSAGE_CODES = new Set(['EENVELOPE', 'EMESSAGE']);

function failed(error: unknown, isSent: boolean): Outcome {
  if (!(error instanceof Error)) throw error;
  const { code, responseCode, permanent, message } = error as NodemailerError;
  const text = cleaned(message);
  if (MESSAGE_CODES.has(code ?? '') && (permanent || responseCode === undefined)) {
    return { kind: 'refused', reason: 'rejected', error: text };
  }
  if (responseCode !== undefined) {
    return { kind: 'failed', reason: permanent ? 'rejected' : 'unavailable', error: text };
  }
  const isTimeout = code === 'ETIMEDOUT' || code === 'EABORT';
  if (isSent) return { kind: 'unknown', reason: isTimeout ? 'timeout' : 'ambiguous', error: text };
  return { kind: 'failed', reason: isTimeout ? 'timeout' : 'unreachable', error: text };
}

function cleaned(text: string): string {
  return plainText(text, MAX_ERROR_CODE_POINTS);
}
