/** Reads the configuration of mails. */
import * as z from 'zod';
import { type Check, isGiven } from '../../document/check.ts';
import { readTls, tlsShape } from '../../document/connection-config.ts';
import type { Path } from '../../document/problem.ts';
import { refuseTemplates } from '../../document/read-template.ts';
import { refused, refusedKeys, twins, words } from '../../document/value-shape.ts';
import type { TlsSettings } from '../../http/http-settings.ts';
import { mistakeInHostPort, parseHostPort } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import { type ReaderZone, timezoneKey } from '../post-config.ts';
import type { Integration } from '../receiver.ts';
import { type MailExtras, mailExtraKeys, readMailExtras } from './mail-extras.ts';

export interface EmailIntegration extends MailExtras, ReaderZone, Integration {
  readonly kind: 'email';
  /** One or more addresses; none if it notifies members of Nests only. */
  readonly to: readonly string[];
  /** True if the active members of the alerts' Nests are notified, each Nest in a mail of its own. */
  readonly toNestMembers?: boolean;
  readonly from: string;
  readonly smarthost: { readonly host: string; readonly port: number };
  readonly requireTls: boolean;
  readonly username: string;
  readonly password: Secret | null;
  /** The name for EHLO; empty for the machine's own. */
  readonly hello: string;
  /** Encrypts from the start instead of by STARTTLS. */
  readonly isImplicitTls: boolean;
  readonly tls?: TlsSettings;
  /** Absent for `telling`. */
  readonly subject?: 'stable';
}

export const emailShape = z
  .strictObject({
    to: words.describe(
      "One or more addresses, separated by commas. `nest_members` stands for the active members of an alert's Nest: each Nest gets a mail of its own. Whoever cannot be mailed is named in the delivery, in the log and by `doctor`. If nobody is left to mail, the receiver's `fallback` is notified, or else the receiver of the root route.",
    ),
    from: words.optional().describe('Overrides `smtp_from`.'),
    smarthost: words.optional().describe('Overrides `smtp_smarthost`.'),
    hello: words.optional().describe('Overrides `smtp_hello`.'),
    auth_username: words.optional().describe('Overrides `smtp_auth_username`.'),
    ...twins('auth_password', 'Overrides `smtp_auth_password`.'),
    require_tls: z.boolean().optional().describe('Overrides `smtp_require_tls`.'),
    tls_config: tlsShape.optional().describe('Replaces `smtp_tls_config`.'),
    force_implicit_tls: z.boolean().optional().describe('Overrides `smtp_force_implicit_tls`.'),
    send_resolved: z.boolean().prefault(false).describe('Also notifies when alerts are resolved.'),
    subject: z
      .enum(['telling', 'stable'])
      .prefault('telling')
      .describe(
        'What the built-in subject says. `telling`: how things stand, such as `✕ Translate blog failed · EU Marketing`, `✓ Translate blog lands again · EU Marketing`, or `Reminder: …`. `stable`: the same in all mails of a thread, with `Re:` from the second on, such as `[nestwatch] EU - Marketing: FlightFailed`, for filters and ticket systems.',
      ),
    ...timezoneKey,
    ...mailExtraKeys,
    ...refusedKeys(
      ['auth_secret', 'auth_secret_file', 'auth_identity'],
      'use `auth_username` and `auth_password`',
    ),
    threading: refused('leave it out, mails are threaded'),
  })
  .describe(
    'Mails with a text and an HTML part, each under 30 kB; one thread per group, held together by `References`, but what a rule on events tells is a thread of its own. The first line of the text says how things stand.',
  );

export const emailGlobalShape = {
  smtp_smarthost: z.string().optional().describe('Mail server, as `host:port`; `:25` means this machine.'),
  smtp_from: words.optional().describe('Sender of every mail.'),
  smtp_hello: z.string().optional().describe("Name given in EHLO. Default: the machine's own name."),
  smtp_auth_username: z.string().optional().describe('User name for the mail server; empty for none.'),
  ...twins('smtp_auth_password', 'Password for the mail server.'),
  smtp_auth_password: z
    .string()
    .optional()
    .meta({ description: 'Password for the mail server; empty without a user name.', writeOnly: true }),
  smtp_require_tls: z.boolean().prefault(true).describe('Sends mails only over STARTTLS.'),
  smtp_tls_config: tlsShape.optional(),
  smtp_force_implicit_tls: z
    .boolean()
    .optional()
    .describe('Whether TLS begins with the connection instead of by STARTTLS. Default: only on port 465.'),
  ...refusedKeys(
    ['smtp_auth_secret', 'smtp_auth_secret_file', 'smtp_auth_identity'],
    'use `smtp_auth_username` and `smtp_auth_password`',
  ),
};

/** Of submission over TLS (RFC 8314, 3.3). */
const IMPLICIT_TLS_PORT = 465;

/** The defaults of all mails, from `global`. */
interface MailDefaults {
  readonly smarthost: string | undefined;
  readonly from: string | undefined;
  readonly hello: string | undefined;
  readonly username: string | undefined;
  readonly password: Secret | null;
  readonly requireTls: boolean;
  readonly isImplicitTls: boolean | undefined;
  readonly tls: TlsSettings | undefined;
}

export function emailReader(check: Check): (path: Path) => EmailIntegration | undefined {
  const shared = readMailDefaults(check);
  return (path) => readEmail(check, path, shared);
}

function readMailDefaults(check: Check): MailDefaults {
  const path = ['global'];
  const password = check.secret(path, 'smtp_auth_password', {});
  const tls = readTls(check, [...path, 'smtp_tls_config']);
  const text = (key: string) => {
    const value = check.raw([...path, key]);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  checkSmarthost(check, [...path, 'smtp_smarthost']);
  checkAddress(check, [...path, 'smtp_from']);
  const shape = check.read(z.object(emailGlobalShape).prefault({}), path);
  return {
    smarthost: text('smtp_smarthost'),
    from: text('smtp_from'),
    hello: text('smtp_hello'),
    username: text('smtp_auth_username'),
    password,
    requireTls: shape?.smtp_require_tls ?? true,
    isImplicitTls: shape?.smtp_force_implicit_tls,
    tls,
  };
}

function readEmail(check: Check, path: Path, shared: MailDefaults): EmailIntegration | undefined {
  refuseTemplates(check, path, emailShape, ['text', 'html', 'headers']);
  const own = check.secret(path, 'auth_password', {});
  const ownTls = [...path, 'tls_config'];
  const tls = check.raw(ownTls) === undefined ? shared.tls : readTls(check, ownTls);
  checkSmarthost(check, [...path, 'smarthost']);
  checkAddress(check, [...path, 'from']);
  const { to, toNestMembers } = readRecipients(check, [...path, 'to']);
  const extras = readMailExtras(check, path);
  const email = check.read(emailShape, path);

  const has = (key: string) => isSaid(check, path, key) || isSaid(check, ['global'], `smtp_${key}`);
  if (!has('smarthost')) {
    check.problem([...path, 'smarthost'], 'is missing: set `global.smtp_smarthost` to the mail server');
  }
  if (!has('from')) {
    check.problem([...path, 'from'], 'is missing: set `global.smtp_from` to the sender');
  }
  const hasUser = has('auth_username');
  const hasPassword = has('auth_password');
  const hasOauth2 = check.raw([...path, 'oauth2']) !== undefined;
  if (hasUser && !hasPassword && !hasOauth2) {
    check.problem([...path, 'auth_password'], 'is missing: the user name needs a password');
  }
  if (hasPassword && !hasUser) {
    check.problem([...path, 'auth_username'], 'is missing: the password needs a user name');
  }

  if (hasOauth2 && !hasUser) {
    check.problem([...path, 'auth_username'], 'is missing: `oauth2` needs a user name');
  }

  const from = email?.from ?? shared.from;
  const server = serverOf(email?.smarthost ?? shared.smarthost ?? '');
  if (!email || !from || !server) return undefined;
  return {
    kind: 'email',
    to,
    ...(toNestMembers && { toNestMembers }),
    from,
    smarthost: server,
    requireTls: email.require_tls ?? shared.requireTls,
    username: email.auth_username ?? shared.username ?? '',
    password: own ?? shared.password,
    hello: email.hello ?? shared.hello ?? '',
    isImplicitTls: email.force_implicit_tls ?? shared.isImplicitTls ?? server.port === IMPLICIT_TLS_PORT,
    ...(tls && { tls }),
    sendResolved: email.send_resolved,
    ...(email.subject === 'stable' && { subject: email.subject }),
    ...(email.timezone !== undefined && { timezone: email.timezone }),
    ...extras,
  };
}

/** Parses a server address. Without a host it is this machine. */
function serverOf(text: string): EmailIntegration['smarthost'] | undefined {
  const server = parseHostPort(text);
  return server && { ...server, host: server.host || 'localhost' };
}

/** Whether a key is given and not empty. An empty value in `global` means nothing, as in Alertmanager. */
function isSaid(check: Check, path: Path, key: string): boolean {
  return isGiven(check, path, key) && check.raw([...path, key]) !== '';
}

function checkSmarthost(check: Check, path: Path): void {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return;
  const server = parseHostPort(text);
  if (!server || server.port === 0) {
    check.problem(path, mistakeInHostPort(text, 'mail.example.com:587', 1));
  }
}

function checkAddress(check: Check, path: Path): void {
  const text = check.raw(path);
  if (typeof text === 'string' && text !== '' && !isAddress(text)) {
    check.problem(path, 'must be a mail address, such as nestwatch@example.com');
  }
}

/** Among the addresses, stands for the active members of the alert's Nest. */
const NEST_MEMBERS = 'nest_members';

function readRecipients(check: Check, path: Path): { to: string[]; toNestMembers: boolean } {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return { to: [], toNestMembers: false };
  const all = splitAddresses(text);
  const to = all.filter((one) => one !== NEST_MEMBERS);
  if (all.length === 0 || !to.every(isAddress)) {
    check.problem(path, 'must be one or more mail addresses separated by commas');
  }
  return { to, toNestMembers: to.length < all.length };
}

/** Splits `a@x, "Ops, team" <b@y>` at the commas that are not inside quotes or angle brackets. */
function splitAddresses(text: string): string[] {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|<[^>]*>|[^,])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/**
 * Whether it is `local@domain` or `Name <local@domain>`. This is enough to catch slips; the mail server checks the
 * rest.
 */
function isAddress(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another header.
  if (/[\u0000-\u001f\u007f]/.test(text)) return false;
  const address = /^[^<>]*<([^<>]*)>$/.exec(text)?.[1] ?? text;
  return /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(address);
}
