/** Writes the log: each line is a constant sentence with data beside it. Only this file knows pino. */
import { createRequire } from 'node:module';
import { pino } from 'pino';
import { LIMITS } from '../limits.ts';
import type { Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';
import { createLogReport, type LogLevel, type LogLine } from './log-report.ts';
import { redact } from './redact.ts';

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
