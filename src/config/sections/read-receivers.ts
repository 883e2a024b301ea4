import { isAddress, splitAddresses } from '../../channels/email/mail-address.ts';
import { parseHostPort } from '../../http/host-port.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { EmailIntegration, Receiver, WebhookIntegration } from '../config.ts';
import { type Check, isGiven } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { checkReceiver, receiverNames } from '../values/known-receiver.ts';
import { readList } from '../values/read-list.ts';
import { readTemplate } from '../values/read-template.ts';
import { refuseTemplates } from '../values/refuse-templates.ts';
import { globalShape } from './global-section.ts';
import { readMailExtras } from './read-mail-extras.ts';
import {
  type PostDefaults,
  readAlertmanager,
  readPagerduty,
  readPostDefaults,
  readSlack,
  readTeams,
} from './read-posts.ts';
import { emailShape, receiverShape, webhookShape } from './receiver-shape.ts';

/** What all mails share, from `global`. */
interface MailDefaults extends PostDefaults {
  readonly smarthost: string | undefined;
  readonly from: string | undefined;
  readonly hello: string | undefined;
  readonly username: string | undefined;
  readonly password: EmailIntegration['password'];
  readonly requireTls: boolean;
  readonly tlsInsecureSkipVerify: boolean;
}

export function readReceivers(check: Check): Receiver[] {
  const defaults = readMailDefaults(check);
  const names = new Set<string>();
  return readList(check, ['receivers']).flatMap((path) => {
    const name = check.raw([...path, 'name']);
    if (typeof name === 'string') {
      if (names.has(name)) check.problem([...path, 'name'], 'another receiver has this name already');
      names.add(name);
    }
    return readReceiver(check, path, defaults) ?? [];
  });
}

/** A fallback must be another receiver, or it is no help. */
function checkFallback(check: Check, path: Path): void {
  const name = check.raw([...path, 'fallback']);
  if (typeof name !== 'string' || name === '') return;
  if (name === check.raw([...path, 'name'])) {
    check.problem([...path, 'fallback'], 'must be another receiver: this is the one that it stands in for');
  }
  checkReceiver(check, [...path, 'fallback'], name, receiverNames(check));
}

function readReceiver(check: Check, path: Path, defaults: MailDefaults): Receiver | undefined {
  checkFallback(check, path);
  const receiver = check.read(receiverShape, path);
  const emails = readList(check, [...path, 'email_configs']).map((one) => readEmail(check, one, defaults));
  const webhooks = readList(check, [...path, 'webhook_configs']).map((one) => readWebhook(check, one));
  const each = <T>(key: string, read: (at: Path) => T) => readList(check, [...path, key]).map(read);
  const posts = [
    ...each('slack_configs', (one) => readSlack(check, one, defaults)),
    ...each('msteamsv2_configs', (one) => readTeams(check, one)),
    ...each('pagerduty_configs', (one) => readPagerduty(check, one, defaults)),
    ...each('alertmanager_configs', (one) => readAlertmanager(check, one)),
  ];
  if (!receiver) return undefined;
  const integrations = [...emails, ...webhooks, ...posts].filter((one) => one !== undefined);
  const { name, fallback, max_notifications_per_hour: max, fold_storms: foldStormsMs } = receiver;
  return {
    name,
    integrations,
    ...(fallback !== undefined && { fallback }),
    ...(max !== undefined && { maxNotificationsPerHour: max }),
    ...(foldStormsMs !== undefined && { foldStormsMs }),
  };
}

function readMailDefaults(check: Check): MailDefaults {
  const path = ['global'];
  refuseTemplates(check, path, globalShape);
  const password = check.secret(path, 'smtp_auth_password', {});
  const text = (key: string) => {
    const value = check.raw([...path, key]);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  checkSmarthost(check, [...path, 'smtp_smarthost']);
  checkAddress(check, [...path, 'smtp_from']);
  const shape = check.read(globalShape.prefault({}), path);
  return {
    ...readPostDefaults(check),
    smarthost: text('smtp_smarthost'),
    from: text('smtp_from'),
    hello: text('smtp_hello'),
    username: text('smtp_auth_username'),
    password,
    requireTls: shape?.smtp_require_tls ?? true,
    tlsInsecureSkipVerify: shape?.smtp_tls_config?.insecure_skip_verify ?? false,
  };
}

function readEmail(check: Check, path: Path, defaults: MailDefaults): EmailIntegration | undefined {
  refuseTemplates(check, path, emailShape, ['text', 'html', 'headers']);
  const own = check.secret(path, 'auth_password', {});
  checkSmarthost(check, [...path, 'smarthost']);
  checkAddress(check, [...path, 'from']);
  const { to, toNestMembers } = readRecipients(check, [...path, 'to']);
  const extras = readMailExtras(check, path);
  const email = check.read(emailShape, path);

  const has = (key: string, shared: string) =>
    isGiven(check, path, key) || isGiven(check, ['global'], shared);
  if (!has('smarthost', 'smtp_smarthost')) {
    check.problem([...path, 'smarthost'], 'is missing: set `global.smtp_smarthost` to the mail server');
  }
  if (!has('from', 'smtp_from')) {
    check.problem([...path, 'from'], 'is missing: set `global.smtp_from` to the sender');
  }
  const hasUser = has('auth_username', 'smtp_auth_username');
  const hasPassword = has('auth_password', 'smtp_auth_password');
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

  const from = email?.from ?? defaults.from;
  const server = parseHostPort(email?.smarthost ?? defaults.smarthost ?? '');
  if (!email || !from || !server) return undefined;
  return {
    kind: 'email',
    to,
    ...(toNestMembers && { toNestMembers }),
    from,
    smarthost: server,
    requireTls: email.require_tls ?? defaults.requireTls,
    username: email.auth_username ?? defaults.username ?? '',
    password: own ?? defaults.password,
    hello: email.hello ?? defaults.hello ?? '',
    tlsInsecureSkipVerify: email.tls_config?.insecure_skip_verify ?? defaults.tlsInsecureSkipVerify,
    sendResolved: email.send_resolved,
    ...extras,
  };
}

function readWebhook(check: Check, path: Path): WebhookIntegration | undefined {
  refuseTemplates(check, path, webhookShape, ['template']);
  const url = check.secret(path, 'url', { isRequired: true, mistake: mistakeInUrl });
  const secret = check.secret(path, 'secret', {});
  const previousSecret = check.secret(path, 'secret_previous', {});
  if (previousSecret && !isGiven(check, path, 'secret')) {
    check.problem([...path, 'secret'], 'is missing: `secret_previous` stands beside the new one');
  }
  const template = readTemplate(check, [...path, 'template'], 'json');
  const webhook = check.read(webhookShape, path);
  checkFormat(check, path);
  if (!webhook || !url) return undefined;
  return {
    kind: 'webhook',
    url,
    format: webhook.format,
    ...(template && { template }),
    secret,
    ...(previousSecret && { previousSecret }),
    timeoutMs: webhook.timeout,
    sendResolved: webhook.send_resolved,
    maxAlerts: webhook.max_alerts,
  };
}

/** The template and the format that asks for one stand together. */
function checkFormat(check: Check, path: Path): void {
  const isTemplate = check.raw([...path, 'format']) === 'template';
  const hasTemplate = check.raw([...path, 'template']) !== undefined;
  if (isTemplate && !hasTemplate) {
    check.problem([...path, 'template'], 'is missing: write the JSON that is posted, as a Liquid template');
  }
  if (hasTemplate && !isTemplate) {
    check.problem([...path, 'format'], 'must be template, or else `template` is not used');
  }
}

function checkSmarthost(check: Check, path: Path): void {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return;
  const server = parseHostPort(text);
  if (!server?.host || server.port === 0) {
    check.problem(path, 'must be host:port, such as mail.example.com:587');
  }
}

function checkAddress(check: Check, path: Path): void {
  const text = check.raw(path);
  if (typeof text === 'string' && text !== '' && !isAddress(text)) {
    check.problem(path, 'must be a mail address, such as nestwatch@example.com');
  }
}

/** Stands among the addresses for the active members of the alert's Nest. */
const NEST_MEMBERS = 'nest_members';

function readRecipients(check: Check, path: Path): { to: string[]; toNestMembers: boolean } {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return { to: [], toNestMembers: false };
  const all = splitAddresses(text);
  const to = all.filter((one) => one !== NEST_MEMBERS);
  if (all.length === 0 || !to.every(isAddress)) {
    check.problem(path, 'must be one or more mail addresses with commas between them');
  }
  return { to, toNestMembers: to.length < all.length };
}
