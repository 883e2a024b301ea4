/**
 * Sends notifications as mails through the configured smarthost. The mails of one thread have the same subject and
 * refer to its first mail. Every id is derived, so each try of a delivery sends the same mail with the same Message-ID.
 * What stops here: the server's words, which are cleaned before people see them.
 */
import type { NodemailerError } from 'nodemailer';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import { plainText } from '../../text/plain-text.ts';
import {
  type Attempt,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
} from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import type { EmailIntegration } from './email-config.ts';
import { threadHeaders } from './email-headers.ts';
import { mailMessage } from './mail-message.ts';
import { createSlowIntegrations } from './slow-integrations.ts';
import { createPools, type Mail } from './smtp.ts';

/** For a whole try, including the wait for a connection: a server that trickles bytes must not hold one for ever. */
const TRY_TIMEOUT_MS = 120_000;
const MAX_ERROR_CODE_POINTS = 300;

export function openMails({
  clock,
  version,
  lookUp,
}: Pick<ChannelOptions, 'clock' | 'version' | 'lookUp'>): OpenChannel<EmailIntegration> {
  const pools = createPools(lookUp);
  const slowIntegrations = createSlowIntegrations(clock);

  return {
    async send(integration, attempt, notification, externalUrl) {
      if (notification.kind === 'forward') {
        return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      }
      if (notification.kind === 'digest' && integration.to.length === 0) {
        return {
          kind: 'nothing',
          why: 'a digest belongs to no Nest: it is mailed to addresses, not to members',
        };
      }
      const { templateError, ...message } = mailOf(integration, attempt, notification, externalUrl);
      const abort = new AbortController();
      let isSent = false;
      const mailing = slowIntegrations.of(attempt);
      const mail: Mail = {
        ...message,
        date: new Date(clock.nowUs() / 1000),
        xMailer: `nestwatch/${version}`,
        signal: abort.signal,
        whenBegun: mailing.begin,
        whenSent() {
          isSent = true;
        },
      };
      const cancelTimer = clock.setTimer(TRY_TIMEOUT_MS, () => abort.abort());
      try {
        const { rejectedErrors = [] } = await pools.poolOf(integration, mailing.isSlow).sendMail(mail);
        const outcome = partly(rejectedErrors, secretsIn(integration));
        return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
      } catch (error) {
        return failed(error, isSent, secretsIn(integration));
      } finally {
        cancelTimer();
        mailing.end();
      }
    },

    close: async () => pools.close(),
  };
}

/** The parts of a mail that are the same on every try. */
function mailOf(
  { from, to, templates, timezone }: EmailIntegration,
  attempt: Attempt,
  notification: Readable,
  externalUrl: string,
) {
  const mail = mailMessage(notification, externalUrl, templates, timezone);
  const { subject, topic, text, html, headers, templateError } = mail;
  return {
    from,
    to: [...((notification.kind === 'group' ? notification.to : undefined) ?? to)],
    ...(attempt.remaining && { envelope: { from, to: [...attempt.remaining] } }),
    ...threadHeaders(notification, attempt, externalUrl),
    subject,
    headers: {
      'Thread-Topic': topic,
      ...headers,
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
    text,
    html,
    templateError,
  };
}

/** The outcome if the server accepted the mail for some recipients. Only those that it deferred get the next try. */
function partly(rejected: readonly NodemailerError[], secrets: readonly string[]): Outcome {
  if (rejected.length === 0) return { kind: 'accepted' };
  const words = (errors: readonly NodemailerError[]) =>
    cleaned(
      errors.map((error) => `${error.recipient}: ${error.response ?? error.message}`).join('; '),
      secrets,
    );
  const deferred = rejected.filter((error) => error.permanent !== true);
  const gone = rejected.filter((error) => error.permanent === true);
  const refused = gone.length > 0 && { refused: words(gone) };
  if (deferred.length === 0) return { kind: 'accepted', ...refused };
  const remaining = deferred.flatMap((error) => error.recipient ?? []);
  const error = `deferred for ${words(deferred)}`;
  return { kind: 'failed', reason: 'unavailable', error, remaining, ...refused };
}

/**
 * Codes of errors that concern the message itself. Others, such as a refused login, concern the connection to the
 * server.
 */
const MESSAGE_CODES = new Set(['EENVELOPE', 'EMESSAGE']);

function failed(error: unknown, isSent: boolean, secrets: readonly string[]): Outcome {
  if (!(error instanceof Error)) throw error;
  const { code, responseCode, permanent, message } = error as NodemailerError;
  const text = cleaned(message, secrets);
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

function cleaned(text: string, secrets: readonly string[]): string {
  return plainText(withoutSecrets(text.slice(0, 4_096), secrets), MAX_ERROR_CODE_POINTS);
}
