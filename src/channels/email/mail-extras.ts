/** Reads what few mails need: other ways to log in, a signature, and custom texts. */
import { createPrivateKey } from 'node:crypto';
import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { splitTokenUrl } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, template } from '../../document/read-template.ts';
import { twins, words } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Secret } from '../../secret.ts';
import type { Template } from '../../templates/liquid.ts';

const TOKEN_URL = 'https://accounts.google.com/o/oauth2/token';

/** Headers that nestwatch sets itself, and what to use instead. */
const OWN_HEADERS: ReadonlyMap<string, string> = new Map([
  ['from', 'use `from`'],
  ['to', 'use `to`'],
  ['cc', 'use `to`'],
  ['bcc', 'use `to`'],
  ['sender', 'use `from`'],
  ['date', 'leave it out'],
  ['message-id', 'leave it out, mails are threaded'],
  ['thread-topic', 'leave it out, mails are threaded'],
  ['in-reply-to', 'leave it out, mails are threaded'],
  ['references', 'leave it out, mails are threaded'],
  ['auto-submitted', 'leave it out'],
  ['mime-version', 'leave it out'],
  ['dkim-signature', 'use `dkim`'],
]);

export interface MailExtras {
  /** Logs in with XOAUTH2 instead of the password. */
  readonly oauth2?: MailOauth2;
  /** Signs every mail. */
  readonly dkim?: { readonly domain: string; readonly selector: string; readonly privateKey: Secret };
  /** What is sent instead of the built-in message. */
  readonly templates?: MailTemplates;
}

/** Either an access token that another program keeps fresh in its file, or what is needed to request one. */
type MailOauth2 =
  | { readonly accessToken: Secret }
  | {
      readonly clientId: string;
      readonly clientSecret: Secret;
      readonly refreshToken: Secret;
      readonly tokenUrl: string;
      readonly tokenQuery: Secret;
    };

export interface MailTemplates {
  readonly subject?: Template;
  readonly text?: Template;
  readonly html?: Template;
  readonly headers: Readonly<Record<string, Template>>;
}

const mailOauth2Shape = z.strictObject({
  ...twins(
    'access_token',
    'A token that another program keeps fresh in a file. Without it, the other keys are required.',
  ),
  client_id: words.optional().describe('ID of a client that may send mails.'),
  ...twins('client_secret', 'Secret of that client.'),
  ...twins('refresh_token', 'Refresh token that is exchanged for access tokens.'),
  token_url: words.optional().meta({ preset: TOKEN_URL, description: 'Address at which it is exchanged.' }),
});

const dkimShape = z.strictObject({
  domain: words.describe("Signing domain: the sender's."),
  selector: words.describe('Selector: the public key is in the DNS under `selector._domainkey.domain`.'),
  ...twins('private_key', 'Private key in PEM. Required.'),
});

export const mailExtraKeys = {
  oauth2: mailOauth2Shape
    .optional()
    .describe('Logs in as `auth_username` with XOAUTH2 instead of a password.'),
  dkim: dkimShape.optional().describe('Signs every mail.'),
  headers: z
    .record(z.string(), words)
    .optional()
    .describe('Liquid templates by header name. `Subject` replaces the built-in subject; others are added.'),
  text: template('of the text part'),
  html: template('of the HTML part'),
};

export function readMailExtras(check: Check, path: Path): MailExtras {
  const oauth2 = readOauth2(check, path);
  const dkim = readDkim(check, [...path, 'dkim']);
  const templates = readTemplates(check, path);
  return { ...(oauth2 && { oauth2 }), ...(dkim && { dkim }), ...(templates && { templates }) };
}

function readOauth2(check: Check, mail: Path): MailOauth2 | undefined {
  const path = [...mail, 'oauth2'];
  const given = check.raw(path);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  for (const key of ['auth_password', 'auth_password_file']) {
    if (check.raw([...mail, key]) !== undefined) {
      check.problem([...mail, key], 'give either a password or `oauth2`, not both');
    }
  }
  const accessToken = check.secret(path, 'access_token', {});
  if ('access_token' in given || 'access_token_file' in given) {
    for (const key of Object.keys(mailOauth2Shape.shape)) {
      if (key.startsWith('access_token') || check.raw([...path, key]) === undefined) continue;
      check.problem([...path, key], 'is of no use beside `access_token`: give one or the other');
    }
    return accessToken ? { accessToken } : undefined;
  }
  const clientSecret = check.secret(path, 'client_secret', { isRequired: true });
  const refreshToken = check.secret(path, 'refresh_token', { isRequired: true });
  const clientId = check.raw([...path, 'client_id']);
  const tokenUrl = check.raw([...path, 'token_url']) ?? TOKEN_URL;
  if (clientId === undefined) {
    check.problem([...path, 'client_id'], 'is missing: give it, or an `access_token`');
  }
  const mistake = typeof tokenUrl === 'string' ? mistakeInUrl(tokenUrl) : undefined;
  if (mistake) check.problem([...path, 'token_url'], mistake);
  if (!clientSecret || !refreshToken || typeof clientId !== 'string' || typeof tokenUrl !== 'string') {
    return undefined;
  }
  return { clientId, clientSecret, refreshToken, ...splitTokenUrl(tokenUrl) };
}

function readDkim(check: Check, path: Path): MailExtras['dkim'] {
  if (check.raw(path) === undefined) return undefined;
  const privateKey = check.secret(path, 'private_key', { isRequired: true, mistake: mistakeInKey });
  const [domain, selector] = [check.raw([...path, 'domain']), check.raw([...path, 'selector'])];
  if (!privateKey || typeof domain !== 'string' || typeof selector !== 'string') return undefined;
  return { domain, selector, privateKey };
}

function mistakeInKey(text: string): string | undefined {
  try {
    createPrivateKey(text);
    return undefined;
  } catch {
    return 'must be a private key in PEM';
  }
}

function readTemplates(check: Check, path: Path): MailTemplates | undefined {
  const text = readTemplate(check, [...path, 'text'], 'text');
  const html = readTemplate(check, [...path, 'html'], 'html');
  const given = check.raw([...path, 'headers']);
  const names =
    typeof given === 'object' && given !== null && !Array.isArray(given) ? Object.keys(given) : [];
  const headers = new Map<string, Template>();
  let subject: typeof text;
  for (const name of names) {
    const at = [...path, 'headers', name];
    const instead =
      OWN_HEADERS.get(name.toLowerCase()) ?? (/^content-/i.test(name) ? 'leave it out' : undefined);
    const isTwice = names.some((other) => other !== name && other.toLowerCase() === name.toLowerCase());
    if (instead) check.keyProblem(at, `cannot be set here: ${instead}`);
    else if (isTwice) check.keyProblem(at, 'is given twice: header names are case-insensitive');
    else if (!/^[A-Za-z0-9-]+$/.test(name)) check.keyProblem(at, 'is not the name of a header');
    const template = readTemplate(check, at, 'text');
    if (!template || instead) continue;
    if (name.toLowerCase() === 'subject') subject = template;
    else headers.set(name, template);
  }
  if (!text && !html && !subject && headers.size === 0) return undefined;
  return {
    ...(subject && { subject }),
    ...(text && { text }),
    ...(html && { html }),
    headers: Object.fromEntries(headers),
  };
}
