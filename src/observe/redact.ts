/**
 * Makes values safe for a log line. Secrets have a type of their own that never prints; this file catches those that
 * arrive otherwise: a header in a library's error, a URL whose path is a key. It also removes control characters from
 * the service's texts. Values are copied and limited in depth, size and length.
 */
import { NestwatchError } from '../errors.ts';
import { plainText } from '../text/plain-text.ts';

const SECRET_KEY =
  /authorization|token|password|passwd|secret|cookie|credential|api[_-]?key|signature|^pass$|^auth$/i;

/**
 * What follows the colon when a word such as "token" is part of a sentence, as in `refuses the token: searchNests of
 * eu: …`: a word that begins a statement with another word behind it, or an operation of a region. The list is short
 * on purpose, because any other word may be a password.
 */
const SENTENCE =
  '(?:is|are|was|has|must|may|cannot|the|an?|no|not|neither|it|its|connect|getaddrinfo|read|write) [a-z]|[a-z]{3,30} of [a-z0-9-]{1,40}: ';

/** Texts that are recognisably secret by their form. */
const SECRET_TEXT: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, '$1 [secret]'],
  [/\bwhsec_[A-Za-z0-9+/=_-]+/g, '[secret]'],
  [
    new RegExp(
      `(?<![a-z])(authorization|token|password|secret|api[_-]?key)(?!: (?:${SENTENCE}))(["']?\\s*[:=]\\s*["']?)[^\\s"',;&]+`,
      'gi',
    ),
    '$1$2[secret]',
  ],
];
/** Scheme, an optional login, host, and the rest, which in a webhook's address is often its key. */
const ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/@"'<>]*@)?([^\s/?#"'<>]+)([^\s"'<>]*)/gi;

const MAX_TEXT_LENGTH = 2_000;
const MAX_STACK_LENGTH = 4_000;
const MAX_DEPTH = 6;
const MAX_ITEMS = 50;

/** A copy of `value` that is safe for a log line. */
export function redact(value: unknown, depth: number = 0): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '…';
  if (value instanceof Error) return redactError(value, depth, false);
  if ('toJSON' in value && typeof value.toJSON === 'function') return redact(value.toJSON(), depth + 1);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1));
  const entries = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    entries.map(([key, item]) => [key, SECRET_KEY.test(key) ? '[secret]' : redact(item, depth + 1)]),
  );
}

/** One line of text with apparent secrets removed. */
function redactText(text: string): string {
  return plainText(withoutSecrets(text), MAX_TEXT_LENGTH);
}

/**
 * An error as data: code, message, what the other side answered, and its causes. Only bugs show their stack, because
 * expected failures are explained by their code.
 */
function redactError(error: Error, depth: number, isCause: boolean): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  if (error instanceof NestwatchError) {
    shown.code = error.code;
    if (error.facts.status !== undefined) shown.status = error.facts.status;
    if (error.facts.problem !== undefined) shown.problem = redact(error.facts.problem, depth + 1);
  } else {
    if (!isCause) shown.code = 'bug';
    shown.name = redactText(error.name);
    if ('code' in error) shown.system_code = redact(error.code, depth + 1);
    if (!isCause) shown.stack = stackOf(error);
  }
  shown.message = redactText(error.message);
  if (error.cause instanceof Error && depth < MAX_DEPTH)
    shown.cause = redactError(error.cause, depth + 1, true);
  else if (error.cause !== undefined) shown.cause = redact(error.cause, depth + 1);
  return shown;
}

/** The lines of the stack, each cleaned as text of its own. */
function stackOf(error: Error): string[] {
  const lines = withoutSecrets(String(error.stack ?? '').slice(0, MAX_STACK_LENGTH)).split('\n');
  return lines.map((line) => plainText(line, MAX_TEXT_LENGTH));
}

function withoutSecrets(text: string): string {
  const bounded = text.slice(0, 4 * MAX_TEXT_LENGTH);
  const bare = bounded.replace(ADDRESS, (_, scheme: string, host: string, rest: string) =>
    rest === '' || rest === '/' ? `${scheme}${host}` : `${scheme}${host}/…`,
  );
  return SECRET_TEXT.reduce((rest, [pattern, shown]) => rest.replace(pattern, shown), bare);
}
