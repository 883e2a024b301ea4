import { inspect } from 'node:util';

/**
 * A text that must never be printed: it shows as `[secret]` wherever it is converted, logged or serialised.
 * Only `reveal()` gives the text, at the one place that sends it.
 */
export interface Secret {
  reveal(): string;
}

/** Wraps a fixed text. */
export function secret(text: string): Secret {
  return secretFrom(() => text);
}

/** Wraps a text that is read anew at each use, as for a secret file that is rotated. `read` may throw. */
export function secretFrom(read: () => string): Secret {
  return Object.freeze({
    reveal: read,
    toString: () => '[secret]',
    toJSON: () => '[secret]',
    [inspect.custom]: () => '[secret]',
  });
}

/** Shorter ones are no secrets, and would be found in half of all texts. */
const SHORTEST_SECRET = 4;

/**
 * A text of the other side without the secrets that it was sent: also as they stand in JSON, in an address and in a
 * header of HTTP or SMTP, which are written in base64.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap(formsOf)
    .reduce((rest, form) => rest.replaceAll(form, '[secret]'), text);
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
