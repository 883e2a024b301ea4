import { createHash } from 'node:crypto';
import { domainToASCII } from 'node:url';
import type { NodemailerError } from 'nodemailer';
import { reportCsv, type SentReport } from '../../domain/digest/report-figures.ts';
import { leftOutWords, memberRecipients } from '../../domain/grouping/member-recipients.ts';
import type { DigestNotification, LeftOut } from '../../domain/grouping/notification.ts';
import { inNetworkWords } from '../../http/network-error.ts';
import { formatHostPort } from '../../http/web-address.ts';
import { secretsIn, withoutSecrets } from '../../secret.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Clock } from '../../time/clock.ts';
import {
  type Attempt,
  type Channel,
  type ChannelOptions,
  ONLY_CLOUDEVENTS,
  type OpenChannel,
  type Outcome,
} from '../channel.ts';
import type { Readable } from '../message/digest-view.ts';
import { type EmailIntegration, emailGlobalShape, emailReader, emailShape } from './email-config.ts';
import { mailMessage } from './mail-message.ts';
import {
  askForSmtpUtf8,
  createPools,
  MAILS_IN_FLIGHT,
  type Mail,
  NO_SMTPUTF8,
  needsSmtpUtf8,
  probeServer,
} from './smtp.ts';

export const emailChannel: Channel<EmailIntegration> = {
  kind: 'email',
  audience: 'people',
  pace: { inFlight: MAILS_IN_FLIGHT, claimed: 40 },
  shape: emailShape,
  globalShape: emailGlobalShape,
  reader: emailReader,
  traits: ({ to, toNestMembers }) => (toNestMembers ? { nestMembers: { beside: to } } : {}),
  destination: ({ to, smarthost }) =>
    `${to.join(', ') || 'members of a Nest'} by ${formatHostPort(smarthost)}`,
  async preview(integration, notification, externalUrl) {
    const { subject, text, html, headers, templateError } = mailMessage(
      notification,
      externalUrl,
      integration.templates,
      integration,
    );
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [
      `From: ${integration.from}`,
      `To: ${(notification.to ?? integration.to).join(', ')}`,
      ...own,
      `Subject: ${subject}`,
    ];
    return { text: [...head, '', text, html].join('\n'), ...(templateError && { templateError }) };
  },
  probe: probeServer,
  async leftOut(integration, members) {
    const { to, leftOut } = memberRecipients(members);
    const beyond = to.filter(needsSmtpUtf8);
    if (beyond.length === 0 || (await askForSmtpUtf8(integration))) return leftOut;
    return [...leftOut, ...beyond.map((recipient) => ({ recipient, why: NO_SMTPUTF8 }))];
  },
  open: openMails,
};

// Sends notifications as mails through the configured smarthost. The mails of one thread refer to its first mail. Every
// id is derived, so each try of a delivery sends the same mail with the same Message-ID.
// What stops here: the server's words, which are cleaned before people see them.

/** For a whole try, including the wait for a connection: a server that trickles bytes must not hold one for ever. */
const TRY_TIMEOUT_MS = 120_000;
const MAX_ERROR_CODE_POINTS = 300;

export function openMails({
  clock,
  version,
  lookUp,
}: Pick<ChannelOptions, 'clock' | 'version' | 'lookUp'>): OpenChannel<EmailIntegration> {
  const pools = createPools(lookUp, clock);
  const slowIntegrations = createSlowIntegrations(clock);

  return {
    async send(integration, attempt, notification, externalUrl) {
      if (notification.kind === 'forward') {
        return { kind: 'nothing', why: ONLY_CLOUDEVENTS };
      }
      const { from } = integration;
      const to = notification.to ?? integration.to;
      if (to.length === 0) {
        const what = notification.kind === 'digest' ? 'a digest' : 'this';
        return {
          kind: 'nothing',
          why: `${what} belongs to no Nest: it is mailed to addresses, not to members`,
        };
      }
      const { templateError, ...message } = mailOf(integration, attempt, notification, externalUrl);
      const abort = new AbortController();
      const mailing = slowIntegrations.of(attempt);
      const secrets = secretsIn(integration);

      async function sendPart({ listed, due }: Part): Promise<Outcome> {
        let isSent = false;
        const mail: Mail = {
          ...message,
          to: [...listed],
          ...(attempt.remaining && { envelope: { from, to: [...due] } }),
          date: new Date(clock.nowUs() / 1000),
          xMailer: `nestwatch/${version}`,
          signal: abort.signal,
          whenBegun: mailing.begin,
          whenSent() {
            isSent = true;
          },
        };
        try {
          const { rejectedErrors = [] } = await pools.poolOf(integration, mailing.isSlow).sendMail(mail);
          return partly(rejectedErrors, secrets);
        } catch (error) {
          return failed(error, isSent, secrets);
        }
      }

      const cancelTimer = clock.setTimer(TRY_TIMEOUT_MS, () => abort.abort());
      try {
        const parts = partsOf(to, attempt.remaining ?? to);
        const isLimited =
          (parts.some(isExtended) || needsSmtpUtf8(from)) && !(await pools.offersSmtpUtf8(integration));
        if (isLimited && needsSmtpUtf8(from)) return { ...REFUSED, error: `${from}: ${NO_SMTPUTF8}` };
        const sent: Sent[] = [];
        for (const part of parts) {
          const isLeftOut = isLimited && isExtended(part);
          sent.push({ part, outcome: isLeftOut ? { ...REFUSED, error: NO_SMTPUTF8 } : await sendPart(part) });
        }
        // Attempts for those who remain follow one that has named the others.
        const leftOut = (!attempt.remaining && notification.leftOut) || [];
        const outcome = together(sent, leftOut, integration.toNestMembers === true);
        return outcome.kind === 'accepted' && templateError ? { ...outcome, templateError } : outcome;
      } catch (error) {
        return failed(error, false, secrets);
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
  integration: EmailIntegration,
  attempt: Attempt,
  notification: Readable,
  externalUrl: string,
) {
  const { from, templates } = integration;
  const mail = mailMessage(notification, externalUrl, templates, integration);
  const { subject, topic, text, html, headers, templateError } = mail;
  return {
    from,
    ...threadHeaders(notification, attempt, from),
    subject,
    headers: {
      'Thread-Topic': topic,
      ...headers,
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
    text,
    html,
    ...(notification.kind === 'digest' && 'report' in notification.digest && csvOf(notification.digest)),
    templateError,
  };
}

function csvOf({ name, report }: SentReport) {
  const filename = `${name} ${report.nest.nest ?? ''} ${report.month}`.replaceAll(/[^\p{L}\p{N}]+/gu, '-');
  const attachment = {
    filename: `${filename}.csv`,
    content: reportCsv(report.tables),
    contentType: 'text/csv; charset=utf-8',
  };
  return { attachments: [attachment] };
}

/** Recipients who get a mail of their own. */
interface Part {
  /** Those whom its head lists. */
  readonly listed: readonly string[];
  /** Those of them who are still to be reached. */
  readonly due: readonly string[];
}

interface Sent {
  readonly part: Part;
  readonly outcome: Outcome;
}

/**
 * Recipients beyond ASCII get a mail of their own. With them in envelope or head, a server that takes the mail and finds
 * no SMTPUTF8 at the next one returns it as undeliverable for all.
 */
function partsOf(to: readonly string[], due: readonly string[]): readonly Part[] {
  return [false, true]
    .map((isBeyond) => {
      const own = (one: string) => needsSmtpUtf8(one) === isBeyond;
      return { listed: to.filter(own), due: due.filter(own) };
    })
    .filter((part) => part.due.length > 0);
}

const isExtended = ({ due }: Part) => due.some(needsSmtpUtf8);

const REFUSED = { kind: 'refused', reason: 'rejected' } as const;

/**
 * One outcome for all parts. Once one of them was accepted, those who refused theirs are left out, besides those who
 * cannot be mailed at all, and the others are tried again. If a Nest's only members cannot be mailed, it is not the
 * integration that fails.
 */
function together(sent: readonly Sent[], leftOut: readonly LeftOut[], toNestMembers: boolean): Outcome {
  const isTaken = ({ kind, ...more }: Outcome) => kind === 'accepted' || 'remaining' in more;
  const open = sent.flatMap(({ part, outcome }) =>
    outcome.kind === 'failed' || outcome.kind === 'unknown' ? [{ part, outcome }] : [],
  );
  if (!sent.some(({ outcome }) => isTaken(outcome))) {
    const { part, outcome } = open[0] ?? sent[0]!;
    const isNamed = outcome.kind === 'refused' && outcome.error === NO_SMTPUTF8;
    if (!isNamed) return outcome;
    const error = `${part.due.join(', ')}: ${NO_SMTPUTF8}`;
    if (!toNestMembers) return { ...outcome, error };
    const all = [...leftOut, ...part.due.map((recipient) => ({ recipient, why: NO_SMTPUTF8 }))];
    return { kind: 'nothing', why: `nobody can be mailed: ${leftOutWords(all)}`, leftOut: all };
  }
  const all = [
    ...leftOut,
    ...sent.flatMap(({ part, outcome }) => {
      if (outcome.kind === 'refused') return part.due.map((recipient) => ({ recipient, why: outcome.error }));
      return 'leftOut' in outcome ? (outcome.leftOut ?? []) : [];
    }),
  ];
  const named = all.length > 0 && { leftOut: all };
  if (open.length === 0) return { kind: 'accepted', ...named };
  const { reason, error } = open[0]!.outcome;
  const remaining = open.flatMap(({ part, outcome }) =>
    'remaining' in outcome ? (outcome.remaining ?? []) : part.due,
  );
  return { kind: 'failed', reason, error, remaining, ...named };
}

/** The outcome if the server accepted the mail for some recipients. Only those that it deferred get the next try. */
function partly(rejected: readonly NodemailerError[], secrets: readonly string[]): Outcome {
  if (rejected.length === 0) return { kind: 'accepted' };
  const words = ({ response, message }: NodemailerError) => cleaned(response ?? message, secrets);
  const deferred = rejected.filter((error) => error.permanent !== true);
  const gone = rejected.filter((error) => error.permanent === true);
  const leftOut = gone.map((error) => ({ recipient: error.recipient ?? '', why: words(error) }));
  const named = leftOut.length > 0 && { leftOut };
  if (deferred.length === 0) return { kind: 'accepted', ...named };
  const remaining = deferred.flatMap((error) => error.recipient ?? []);
  const all = deferred.map((error) => `${error.recipient}: ${words(error)}`).join('; ');
  const error = plainText(`deferred for ${all}`, MAX_ERROR_CODE_POINTS);
  return { kind: 'failed', reason: 'unavailable', error, remaining, ...named };
}

/**
 * Codes of errors that concern the message itself. Others, such as a refused login, concern the connection to the
 * server.
 */
const MESSAGE_CODES = new Set(['EENVELOPE', 'EMESSAGE']);

function failed(error: unknown, isSent: boolean, secrets: readonly string[]): Outcome {
  if (!(error instanceof Error)) throw error;
  const { code, responseCode, permanent, message } = error as NodemailerError;
  const text = cleaned(inNetworkWords(message), secrets);
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

interface ThreadHeaders {
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references?: string;
}

/**
 * The first mail's Message-ID is derived from the thread and its recipients, that of a later one from its delivery. So
 * a reply knows the first mail's id without a lookup, and every try of a delivery has the same id (RFC 5322, 3.6.4).
 */
export function threadHeaders(
  notification: Readable,
  { id, receiver, position }: Pick<Attempt, 'id' | 'receiver' | 'position'>,
  from: string,
): ThreadHeaders {
  const { thread, threadPosition } = notification.kind === 'digest' ? ownThread(notification) : notification;
  const host = domainOf(from);
  const first = `<thread.${digest(thread, receiver, String(position))}@${host}>`;
  if (threadPosition === 0) return { messageId: first };
  return { messageId: `<${digest('delivery', id)}@${host}>`, inReplyTo: first, references: first };
}

/** The sender's domain, as RFC 5322 (3.6.4) advises: other hosts have it in their ids too, and spam filters expect it. */
function domainOf(from: string): string {
  const domain = /@([^@<>]*)>?$/.exec(from)?.[1] ?? '';
  return domainToASCII(domain) || 'localhost';
}

/** A digest is a thread of its own. */
function ownThread({ id }: DigestNotification) {
  return { thread: id, threadPosition: 0 };
}

function digest(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

// Knows which integrations' mails are slow, for example because the server examines one recipient for a minute. All
// integrations with the same login share a few connections. One that holds each of them for long would make the others
// wait again and again. So an integration whose mail was slow uses other connections until one of its mails is quick.

/** A mail takes a fraction of a second, or some seconds if the server examines it. */
const SLOW_MS = 10_000;

interface SlowIntegrations {
  /** Tracks a mail that is to be sent. */
  of(attempt: Pick<Attempt, 'receiver' | 'position'>): {
    /** Whether its integration's last mail was slow, or one that is under way is. */
    readonly isSlow: boolean;
    /** A connection has taken it. The wait for that says nothing about the integration. */
    begin(): void;
    /** The try has ended, with whatever outcome. */
    end(): void;
  };
}

function createSlowIntegrations(clock: Clock): SlowIntegrations {
  const slow = new Set<string>();
  return {
    of({ receiver, position }) {
      const key = JSON.stringify([receiver, position]);
      let cancel: (() => void) | undefined;
      let beganMs: number | undefined;
      return {
        isSlow: slow.has(key),
        begin() {
          cancel?.();
          beganMs = clock.monotonicMs();
          cancel = clock.setTimer(SLOW_MS, () => slow.add(key));
        },
        end() {
          cancel?.();
          if (beganMs !== undefined && clock.monotonicMs() - beganMs < SLOW_MS) slow.delete(key);
        },
      };
    },
  };
}
