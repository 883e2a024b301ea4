import { createHash } from 'node:crypto';
import { inspect } from 'node:util';

/**
 * A text that must never be printed: it shows as `[secret]` wherever it is converted, logged or serialised.
 * Only `reveal()` gives the text, at the one place that sends it.
 */
export interface Secret {
  reveal(): string;
}

/** What each secret was wrapped from, so that two can be compared without being revealed; undefined where nobody says it. */
const SOURCES = new WeakMap<object, string | undefined>();

/** Wraps a fixed text. */
export function secret(text: string): Secret {
  return secretFrom(() => text, `text ${text}`);
}

/**
 * Wraps a text that is read anew at each use, as for a secret file that is rotated. `read` may throw. Secrets of one
 * `source`, such as the path of a file, are the same.
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

/** Whether both are secrets that come from the same text or the same file. */
export function isSameSecret(a: object, b: object): boolean {
  const source = SOURCES.get(a);
  return source !== undefined && source === SOURCES.get(b);
}

export function isSecret(value: unknown): value is Secret {
  return typeof value === 'object' && value !== null && SOURCES.has(value);
}

/** The same for all secrets that come from the same text or the same file, and of no use to find that text. */
export function digestOfSecret(secret: Secret): string {
  return createHash('sha256')
    .update(SOURCES.get(secret) ?? '')
    .digest('hex');
}

/** A secret made of another one: such are the same where those are. */
export function derivedSecret(from: Secret, change: (text: string) => string): Secret {
  return secretFrom(() => change(from.reveal()), SOURCES.get(from));
}

/** Shorter ones are no secrets, and would be found in half of all texts. */
const SHORTEST_SECRET = 4;

/**
 * A text of the other side without the secrets that it was sent: also as they stand in JSON, in an address and in a
 * header of HTTP or SMTP, which are written in base64.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return removerOf(secrets)(text);
}

/** The same for many texts: what to look for is found out once. */
export function removerOf(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).flatMap(formsOf);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[secret]'), text);
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  // Where the secret is not the beginning of what was encoded, its bytes stand across other characters.
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return encoded.slice(before === 0 ? 0 : before + 1).replace(/.?=+$/, '');
  });
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    bytes.toString('base64'),
    ...base64,
  ];
  return [...new Set(forms)].filter((form) => form.length >= SHORTEST_SECRET);
}
