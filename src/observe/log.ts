/** Writes the log: each line is a constant sentence with data beside it. Only this file knows pino. */
import { createRequire } from 'node:module';
import { pino } from 'pino';
import { NestwatchError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Report } from '../report.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';
import { createLogReport, type LogLevel, type LogLine } from './log-report.ts';

const require = createRequire(import.meta.url);

export interface Log extends Readonly<Record<LogLevel, LogLine>> {
  readonly report: Report;
  /** The lowest level that is written; `setLevel` changes it. */
  readonly level: () => LogLevel;
  readonly setLevel: (level: LogLevel) => void;
}

export interface LogOptions {
  /** The lowest level that is written. */
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  /** Colours for `pretty`. */
  readonly colour?: boolean;
  readonly stream: TextStream;
  /** Called when lines start to be dropped because nobody reads them. */
  readonly unread?: () => void;
  readonly clock: Clock;
}

export function createLog({ level, format, colour = false, stream, unread, clock }: LogOptions): Log {
  const bounded = boundedStream({
    stream,
    reached: () => unread?.(),
    leftOut: (count) => lines.warn('Lines of the log were left out, since nobody read it', { lines: count }),
  });
  const destination = format === 'json' ? bounded : prettyStream(bounded, colour);
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${formatInstant(clock.nowUs())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination as { write(text: string): void },
  );
  const line =
    (at: LogLevel): LogLine =>
    (sentence, data) => {
      if (!logger.isLevelEnabled(at)) return;
      logger[at](fields(typeof data === 'function' ? data() : data), sentence);
    };
  const lines = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  return {
    ...lines,
    report: createLogReport(lines, clock),
    level: () => logger.level as LogLevel,
    setLevel(next) {
      logger.level = next;
    },
  };
}

/** The library is loaded only here: a daemon's log is usually JSON. */
function prettyStream(stream: Pick<TextStream, 'write'>, colour: boolean): { write(line: string): void } {
  const { prettyFactory } = require('pino-pretty') as typeof import('pino-pretty');
  const pretty = prettyFactory({
    colorize: colour,
    translateTime: 'UTC:HH:MM:ss',
    messageKey: 'message',
    singleLine: true,
  });
  return { write: (line) => void stream.write(pretty(line)) };
}

/** The fields of a line, in snake_case as everywhere outside. */
function fields(data: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const shown = redact(data) as Record<string, unknown>;
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [snakeCase(name), value]));
}

interface TextStream {
  write(text: string): unknown;
  /** How much was written but not read yet; absent where that is unknown. */
  readonly writableLength?: number;
}

interface BoundedStreamOptions {
  readonly stream: TextStream;
  /** Called when lines start to be dropped. */
  readonly reached: () => void;
  /** Called when lines are written again, with the number dropped. */
  readonly leftOut: (lines: number) => void;
}

/** Drops lines beyond the limit. Reports this once when it begins, and again before the first line after it. */
function boundedStream({ stream, reached, leftOut }: BoundedStreamOptions): TextStream {
  const { most } = LIMITS.unread_log_bytes;
  let missing = 0;
  return {
    write(text) {
      const unread = stream.writableLength ?? 0;
      // Resumes only at half the limit: there is room for the report, and it does not alternate with every line read.
      const isFull = missing === 0 ? unread > most : unread > most / 2;
      if (isFull) {
        missing += 1;
        if (missing === 1) reached();
        return;
      }
      const lines = missing;
      missing = 0;
      if (lines > 0) leftOut(lines);
      stream.write(text);
    },
  };
}

// Makes values safe for a log line. Secrets have a type of their own that never prints; this file catches those that
// arrive otherwise: a header in a library's error, a URL whose path is a key. It also removes control characters from
// the service's texts. Values are copied and limited in depth, size and length.

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
function redact(value: unknown, depth: number = 0): unknown {
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
