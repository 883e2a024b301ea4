/** Parses JSON whose numbers may be 64-bit ids. */

/** A whole number that may be too long for a double: 2^53 has sixteen digits. A match inside a text only costs time. */
const LONG_NUMBER = /[:[,]\s*-?\d{16}/;

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * Parses JSON like `JSON.parse`, but keeps the digits of 64-bit ids: a whole number beyond 2^53 is returned as its
 * text. Throws `SyntaxError` if it is not JSON.
 */
export function parseJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && isLongInteger(value, source) ? source : value,
  );
}

function isLongInteger(value: number, source: string): boolean {
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
}
