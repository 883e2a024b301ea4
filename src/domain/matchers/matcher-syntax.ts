/**
 * Reads matchers as Alertmanager does. It has two parsers: the newer one (0.27) with UTF-8 label names and Go's
 * quoting, and the classic one (0.25). What only one of them accepts is read by that one; where they differ (such as
 * `foo="\d"`), the classic one decides, as in Alertmanager's default mode.
 */
export type MatchOp = '=' | '!=' | '=~' | '!~';

export interface MatcherText {
  readonly name: string;
  readonly op: MatchOp;
  readonly value: string;
}

/** The message says what is wrong and where, for people who wrote the matcher. */
export class MatcherSyntaxError extends Error {
  override readonly name = 'MatcherSyntaxError';
}

/** Throws a `MatcherSyntaxError`. */
export function readMatchers(text: string): MatcherText[] {
  const modern = attempt(() => readModern(text));
  const classic = attempt(() => readClassic(text));
  if (classic.ok && (!modern.ok || JSON.stringify(classic.value) !== JSON.stringify(modern.value))) {
    return classic.value;
  }
  if (!modern.ok) throw modern.error;
  return modern.value;
}

/**
 * Reads a text that holds a single matcher, such as an argument or a `filter`. There Alertmanager takes everything
 * after the operator as the value, including commas and braces. A text that is not such a matcher is read like any
 * other. Throws a `MatcherSyntaxError`.
 */
export function readMatcher(text: string): MatcherText[] {
  const one = attempt(() => [readClassicMatcher(text)]);
  const matchers = one.ok ? one.value : readMatchers(text);
  if (matchers.length === 0) throw new MatcherSyntaxError('there is no matcher');
  return matchers;
}

type Attempt = { ok: true; value: MatcherText[] } | { ok: false; error: unknown };

function attempt(read: () => MatcherText[]): Attempt {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (!(error instanceof MatcherSyntaxError)) throw error;
    return { ok: false, error };
  }
}

const TOKEN =
  /(?<mark>[{},])|(?<op>!=|!~|=~|=)|"(?<quoted>(?:\\[\s\S]|[^"\\])*)"|(?<word>[^\s{}!=~,\\"'`]+)/uy;

interface Token {
  readonly kind: 'mark' | 'op' | 'text' | 'end';
  readonly value: string;
  readonly at: number;
}

function readModern(text: string): MatcherText[] {
  const tokens = tokensOf(text);
  const matchers: MatcherText[] = [];
  let index = 0;
  const peek = () => tokens[index]!;
  const take = () => tokens[index++]!;
  const isMark = (mark: string) => peek().kind === 'mark' && peek().value === mark;
  const expect = (kind: Token['kind'], what: string): Token => {
    const token = take();
    if (token.kind !== kind) throw unexpected(text, token, what);
    return token;
  };

  const braced = isMark('{');
  if (braced) take();
  while (peek().kind !== 'end' && !isMark('}')) {
    const name = expect('text', 'a label name').value;
    const op = expect('op', 'one of = != =~ !~').value as MatchOp;
    const value = expect('text', 'a label value').value;
    matchers.push({ name, op, value });
    if (peek().kind === 'end' || isMark('}')) break;
    if (!isMark(',')) throw unexpected(text, peek(), 'a comma');
    take();
  }
  if (braced && !isMark('}')) throw unexpected(text, peek(), 'a closing }');
  if (braced) take();
  if (peek().kind !== 'end') throw unexpected(text, peek(), 'the end');
  return matchers;
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && /\s/u.test(text[at]!)) at += 1;
    if (at >= text.length) break;
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) {
      const what = text[at] === '"' ? 'a quote is not closed' : `${text[at]} needs quotes around it`;
      throw new MatcherSyntaxError(`${what} ${place(text, at)}`);
    }
    const { mark, op, quoted, word } = match.groups!;
    if (mark !== undefined) tokens.push({ kind: 'mark', value: mark, at });
    else if (op !== undefined) tokens.push({ kind: 'op', value: op, at });
    else tokens.push({ kind: 'text', value: word ?? unquote(quoted!, text, at), at });
    at = TOKEN.lastIndex;
  }
  tokens.push({ kind: 'end', value: '', at });
  return tokens;
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ['"', '"'],
]);

/** A run of escapes, and a single one. */
const ESCAPES =
  /(?:\\(?:[abfnrtv\\"]|x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))+|\\[\s\S]?/gu;
const ESCAPE = /\\(?:([abfnrtv\\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/gu;

/** Decodes the body of a Go string literal. */
function unquote(body: string, text: string, at: number): string {
  if (body.includes('\n')) throw new MatcherSyntaxError(`a line break within quotes ${place(text, at)}`);
  return body.replace(ESCAPES, (written) => {
    const bytes = bytesOf(written);
    const known = bytes && asText(bytes);
    if (known === undefined) {
      throw new MatcherSyntaxError(`the escape ${written} is unknown ${place(text, at)}`);
    }
    return known;
  });
}

/** The bytes of escapes, as UTF-8: `\xf0` and `\360` are single bytes of it. Undefined for an invalid escape. */
function bytesOf(written: string): Buffer | undefined {
  const parts: Buffer[] = [];
  for (const [, simple, hex, octal, short, long] of written.matchAll(ESCAPE)) {
    if (simple) parts.push(Buffer.from(SIMPLE_ESCAPES.get(simple)!));
    else if (hex ?? octal) {
      const byte = hex ? Number.parseInt(hex, 16) : Number.parseInt(octal!, 8);
      if (byte > 255) return undefined;
      parts.push(Buffer.of(byte));
    } else {
      const full = Number.parseInt(short ?? long!, 16);
      if (full > 0x10ffff || (full >= 0xd800 && full <= 0xdfff)) return undefined;
      parts.push(Buffer.from(String.fromCodePoint(full)));
    }
  }
  return parts.length === 0 ? undefined : Buffer.concat(parts);
}

/** Undefined for bytes that are not valid UTF-8. */
function asText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** For a text without surrounding blanks. */
const CLASSIC = /^([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(=~|=|!=|!~)\s*([\s\S]*)$/;

function readClassic(text: string): MatcherText[] {
  const inner = text.replace(/^\{/, '').replace(/\}$/, '');
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  let escaped = false;
  for (const char of inner) {
    if (char === ',' && !quoted) {
      parts.push(part);
      part = '';
      continue;
    }
    if (char === '"' && !escaped) quoted = !quoted;
    // As in Alertmanager: a quote after `\,` still counts as escaped.
    if (char !== ',') escaped = char === '\\' && !escaped;
    part += char;
  }
  if (part.trim() !== '') parts.push(part.trim());
  return parts.map(readClassicMatcher);
}

function readClassicMatcher(text: string): MatcherText {
  const match = CLASSIC.exec(text.trim());
  if (!match) throw new MatcherSyntaxError(`not a matcher: ${text}`);
  const [, name, op, raw] = match;
  const isQuoted = raw!.startsWith('"');
  const body = isQuoted ? raw!.slice(1) : raw!;
  let value = '';
  let closed = false;
  for (let at = 0; at < body.length; at += 1) {
    const char = body[at]!;
    const next = body[at + 1];
    if (char === '\\' && next !== undefined) {
      value += next === 'n' ? '\n' : next === '"' || next === '\\' ? next : char + next;
      at += 1;
    } else if (char === '"') {
      closed = isQuoted && at === body.length - 1;
      if (!closed) throw new MatcherSyntaxError(`a quote within the value needs a backslash: ${text}`);
    } else {
      value += char;
    }
  }
  if (isQuoted && !closed) throw new MatcherSyntaxError(`a quote is not closed: ${text}`);
  return { name: name!, op: op as MatchOp, value };
}

function unexpected(text: string, token: Token, expected: string): MatcherSyntaxError {
  const found = token.kind === 'end' ? 'it ends' : `there is ${token.value}`;
  return new MatcherSyntaxError(`${found} where ${expected} should stand ${place(text, token.at)}`);
}

function place(text: string, at: number): string {
  return `(at character ${at + 1} of ${text})`;
}
