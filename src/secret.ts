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
