import { createHash } from 'node:crypto';
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
 * Wraps a text that is read at each use, such as a secret file that may be rotated. `read` may throw. Secrets with
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

/** Shorter texts are not treated as secrets: they would occur in half of all texts. */
const SHORTEST_SECRET = 4;

/**
 * Removes from the other side's text the secrets that it was sent, including their forms in JSON, in an address, and
 * in base64 as HTTP and SMTP headers use it.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return removerOf(secrets)(text);
}

/** The same for many texts: the forms to look for are computed once. */
export function removerOf(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.filter((secret) => secret.length >= SHORTEST_SECRET).flatMap(formsOf);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, '[secret]'), text);
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  // If the secret was encoded with other bytes before it, its base64 characters are shifted by one or two bytes.
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
