import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

/**
 * A text that must never be printed: it becomes `[secret]` when converted, logged or serialised. Only `reveal()`
 * returns the text, at the one place that sends it.
 */
export interface Secret {
  reveal(): string;
}

/** Where each secret came from, so that two can be compared without revealing them; undefined if unknown. */
const SOURCES = new WeakMap<object, string | undefined>();

/** Wraps a fixed text. */
export function secret(text: string): Secret {
  return secretFrom(() => text, `text ${text}`);
}

/**
 * Wraps a text that may change between uses, such as a secret file that may be rotated. `read` may throw. Secrets with
 * the same `source`, such as a file's path, count as the same.
 */
export function secretFrom(read: () => string, source?: string): Secret {
  const wrapped = Object.freeze({
    reveal: read,
    toString: () => '[secret]',
    toJSON: () => '[secret]',
    [inspect.custom]: () => '[secret]',
  });
  SOURCES.set(wrapped, source);
  return wrapped;
}

/** Whether both are secrets from the same text or file. */
export function isSameSecret(a: object, b: object): boolean {
  const source = SOURCES.get(a);
  return source !== undefined && source === SOURCES.get(b);
}

export function isSecret(value: unknown): value is Secret {
  return typeof value === 'object' && value !== null && SOURCES.has(value);
}

/** A digest that is equal for secrets from the same text or file, and cannot be used to find the text. */
export function digestOfSecret(secret: Secret): string {
  return createHash('sha256')
    .update(SOURCES.get(secret) ?? '')
    .digest('hex');
}

/** A secret derived from another. Derived secrets count as the same if their originals do. */
export function derivedSecret(from: Secret, change: (text: string) => string): Secret {
  return secretFrom(() => change(from.reveal()), SOURCES.get(from));
}

/** The texts of all secrets within a value, such as an integration or a region, at any depth; none is empty. */
export function secretsIn(value: unknown): string[] {
  if (isSecret(value)) return [value.reveal()].filter((text) => text !== '');
  if (value instanceof Map || Array.isArray(value)) return [...value.values()].flatMap(secretsIn);
  const isPlain = typeof value === 'object' && value && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? Object.values(value).flatMap(secretsIn) : [];
}

/** Steps of a path that say what is there. They are no keys, and texts without them are hard to understand. */
const KNOWN_STEPS = new Set(['alertmanager', 'alerts', 'hooks', 'services', 'webhook', 'webhooks']);

/**
 * Of an address, or a query that begins with `?`: the password, the steps of the path, and the query's names and values,
 * as they are and decoded.
 */
function partsOf(text: string): string[] {
  const url = /^(?:[a-z][a-z0-9+.-]*:\/\/|\?)/i.test(text) ? URL.parse(text, 'http://localhost') : null;
  if (!url) return [];
  const query = url.search.slice(1);
  const steps = url.pathname.split('/').filter((step) => !KNOWN_STEPS.has(step));
  const parts = [url.password, ...steps, query, ...query.split(/[&=]/)];
  return parts.flatMap((part) => [part, decoded(part)]);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const HIDDEN = '[secret]';

/** Shorter texts are not treated as secrets: they would occur in half of all texts. */
const SHORTEST_SECRET = 4;

/**
 * Removes secrets, and the parts of secret addresses, from the other side's text, including their forms in JSON, HTML,
 * an address or a form, and in base64, where they may stand among other text, such as a user name.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return removerOf(secrets, (secret) => isLong(secret) && secret.length <= text.length)(text);
}

/** The same for many texts: the forms to look for are computed once. `isSought` leaves out secrets and parts of them. */
export function removerOf(
  secrets: readonly string[],
  isSought: (secret: string) => boolean,
): (text: string) => string {
  const known = secrets.flatMap((secret) => [secret, ...partsOf(secret)]).filter(isSought);
  const encoded = longestFirst(known.flatMap(formsInBase64));
  const forms = longestFirst(known.flatMap(formsOf));
  return (text) => {
    const rest = encoded.reduce(withoutRuns, text);
    return forms.reduce((left, form) => left.replaceAll(form, HIDDEN), rest);
  };
}

/** A secret that contains another one must be removed before it. */
function longestFirst(forms: readonly string[]): string[] {
  return [...new Set(forms)].filter(isLong).sort((a, b) => b.length - a.length);
}

function isLong(text: string): boolean {
  return text.length >= SHORTEST_SECRET;
}

function formsOf(secret: string): string[] {
  const inAddress = encodeURIComponent(secret.toWellFormed());
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    inJson.replaceAll('/', '\\/'),
    inJson.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    secret.replace(/[&<>"']/g, (sign) => HTML.get(sign)!),
    inAddress,
    inAddress.replace(/%../g, (byte) => byte.toLowerCase()),
    inForm(secret),
  ];
}

const HTML: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

function inForm(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

/** OAuth 2 encodes a client's secret for a form first. */
function formsInBase64(secret: string): string[] {
  return [secret, inForm(secret)].flatMap((text) => {
    const bytes = Buffer.from(text);
    // If it was encoded with other bytes before it, its base64 characters are shifted by one or two bytes.
    return [0, 1, 2].flatMap((before) => {
      const base64 = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
      const form = base64.slice(before === 0 ? 0 : before + 1).replace(/.?=+$/, '');
      return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
    });
  });
}

const BASE64 = /[A-Za-z0-9+/_=-]/;

/** Replaces each whole run of base64 in which `form` occurs: what stands beside it holds parts of its first bytes. */
function withoutRuns(text: string, form: string): string {
  let shown = '';
  let end = 0;
  for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, end)) {
    let begin = at;
    while (begin > end && BASE64.test(text[begin - 1]!)) begin -= 1;
    shown += text.slice(end, begin) + HIDDEN;
    end = at + form.length;
    while (end < text.length && BASE64.test(text[end]!)) end += 1;
  }
  return shown + text.slice(end);
}

// Texts that only nestwatch can have written, such as a link, a button or a cookie. What they hold is no secret.

/** Of the 32 bytes of an HMAC-SHA256: 128 bits cannot be guessed, and a link stays short. */
const SIGNATURE_BYTES = 16;

/** `content` as JSON, in base64url, with a signature that counts for this purpose only. */
export function signedText(key: Secret, purpose: string, content: unknown): string {
  const text = JSON.stringify(content);
  return [Buffer.from(text), signatureOf(key, purpose, text)]
    .map((one) => one.toString('base64url'))
    .join('.');
}

/** What such a text holds; undefined if it was not signed with this key for this purpose. */
export function readSignedText<Content>(key: Secret, purpose: string, signed: string): Content | undefined {
  const [body = '', signature = ''] = signed.split('.');
  const text = Buffer.from(body, 'base64url').toString();
  const given = Buffer.from(signature, 'base64url');
  const isOurs = given.length === SIGNATURE_BYTES && timingSafeEqual(given, signatureOf(key, purpose, text));
  return isOurs ? JSON.parse(text) : undefined;
}

function signatureOf(key: Secret, purpose: string, text: string): Buffer {
  return createHmac('sha256', key.reveal())
    .update(`${purpose} ${text}`)
    .digest()
    .subarray(0, SIGNATURE_BYTES);
}
