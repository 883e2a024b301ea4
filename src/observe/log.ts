/** Writes the log: each line is a constant sentence with data beside it. Only this file knows pino. */
import { createRequire } from 'node:module';
import { pino } from 'pino';
import { shortId } from '../domain/alert/event.ts';
import { codeOf, NestwatchError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { Happening, Report } from '../report.ts';
import { plainText } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';

// Writes the log lines of each report. Requests and polls are `debug`, what a person should know is `info`, and what
// may need a person is `warn` or `error`. Recurring trouble of one kind is written once a minute, with the number of
// lines held back.

/** How often a line of one kind is written. */
const INTERVAL_MS = 60_000;

/** Kinds of lines remembered; far more than regions, codes and receivers make in practice. */
const MAX_KINDS = 1_000;

/** Recipients remembered who are not reached; far more than anybody tolerates. */
const MAX_LEFT_OUT = 10_000;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The variable part of a line. */
type LineData = Readonly<Record<string, unknown>>;

/** Writes a line. `sentence` is constant. Data given as a function is computed only if the line is written. */
type LogLine = (sentence: string, data?: LineData | (() => LineData)) => void;

type Lines = {
  readonly [What in Happening['what']]: (one: Extract<Happening, { what: What }>) => void;
};

type Writers = Readonly<Record<LogLevel, LogLine>>;

/** Writes a line that may recur often, at most once a minute for each `kind`. */
type Seldom = (
  kind: string,
  level: LogLevel,
  sentence: string,
  data: Readonly<Record<string, unknown>>,
) => void;

export function createLogReport(log: Writers, clock: Clock): Report {
  const pass = createLogThrottle(clock);
  const isSaid = createAwayWatch(clock);
  const seldom: Seldom = (kind, level, sentence, data) => {
    const held = pass(kind);
    if (held === undefined) return;
    log[level](sentence, held > 0 ? { ...data, repeated: held } : data);
  };
  const lines: Lines = {
    ...intakeLines(log, seldom),
    ...deliveryLines(log, seldom),
    ...processLines(log, seldom),
    // These are figures rather than news: the metrics show them.
    duplicates() {},
    flight() {},
    flights_active() {},
    connection_lost() {},
    deadline() {},
  };
  return (one) => {
    if (!isSaid(one)) (lines[one.what] as (one: Happening) => void)(one);
  };
}

/**
 * While the store's server is unavailable, every stage fails for the same reason: only the first failure is logged.
 * The health report about it is suppressed too, but its recovery is logged. A minute without a failure ends it as well:
 * what was over before health looked is never reported as over.
 */
function createAwayWatch(clock: Clock): (one: Happening) => boolean {
  let awayMs = Number.NEGATIVE_INFINITY;
  const isAway = () => clock.monotonicMs() - awayMs < INTERVAL_MS;
  return (one) => {
    if ('error' in one && codeOf(one.error) === 'store_down') {
      const wasAway = isAway();
      awayMs = clock.monotonicMs();
      return wasAway;
    }
    const isBack = one.what === 'events' || one.what === 'alert' || one.what === 'notified';
    if (isBack) awayMs = Number.NEGATIVE_INFINITY;
    if (one.what !== 'impaired' || one.reason !== 'store_failing') return false;
    const isSaid = isAway() && !one.isOver;
    if (one.isOver) awayMs = Number.NEGATIVE_INFINITY;
    return isSaid;
  };
}

function intakeLines(log: Writers, seldom: Seldom) {
  const healths = new Map<string, string>();
  return {
    request({ what, ...data }) {
      log.debug('A request ended', data);
    },
    rate_limit({ what, ...data }) {
      log.debug('The pace changed', data);
    },
    poll({ what, atUs, ...data }) {
      if (!data.failure) return log.debug('A poll ended', data);
      // The line about the region's health said so already.
      if (data.failure === 'circuit_open') return log.debug('A poll failed', data);
      const { region, feed, failure } = data;
      seldom(`poll/${region}/${feed}/${failure}`, levelOf(data.error), 'A poll failed', data);
    },
    region_health({ region, health, reason }) {
      const before = healths.get(region);
      healths.set(region, health);
      if (health === before) return;
      if (health === 'up') log.info('The region answers', { region });
      else if (health === 'down') log.error('The region does not answer', { region, reason });
      else log.error('The region refuses the token', { region, reason });
    },
    inventory({ region, birds }) {
      log.debug('The inventory was read', { region, birds: birds.length });
    },
    events({ region, feed, events }) {
      for (const one of events) {
        log.debug('An event was kept', () => {
          const { occurredAtUs, ...data } = one;
          return { region, feed, ...data, shortId: shortId(one) };
        });
      }
    },
    quarantined({ what, ...data }) {
      seldom(`quarantined/${data.region}/${data.feed}`, 'warn', 'Malformed entries were set aside', data);
    },
    recovered({ what, ...data }) {
      log.warn('An audit found entries that the polls had missed', data);
    },
    missing({ what, ...data }) {
      log.error('The service counts entries that it does not return', data);
    },
    counts_untrue({ what, ...data }) {
      log.warn('The counts of a stream are wrong: audits read its entries instead', data);
    },
  } satisfies Partial<Lines>;
}

function deliveryLines(log: Writers, seldom: Seldom) {
  /** Why the last heartbeat failed or was withheld; empty when it was sent, undefined before the first. */
  let heartbeat: string | undefined;
  /** Said already: it recurs with each mail, and until somebody corrects the address. */
  const leftOut = new Set<string>();

  return {
    alert({ state, ...data }) {
      const { alertname, region, alertId } = data;
      const shown = { alertname, region, alert: alertId };
      if (state === 'firing') log.warn('An alert fires', shown);
      else log.info('An alert is resolved', shown);
    },
    notified({ what, ...data }) {
      log.info('A notification was queued', data);
    },
    template_failed({ receiver, integration, error }) {
      seldom(`template/${receiver}/${integration}`, 'warn', 'A template failed, the built-in text was sent', {
        receiver,
        integration,
        reason: error,
      });
    },
    suppressed({ what, ...data }) {
      log.debug('A notification was suppressed', data);
    },
    left_out({ what, ...data }) {
      const { recipient, why } = data;
      const key = `${recipient} ${why}`;
      if (leftOut.has(key)) return;
      if (leftOut.size >= MAX_LEFT_OUT) leftOut.delete(leftOut.values().next().value!);
      leftOut.add(key);
      log.warn('Somebody is not notified', data);
    },
    delivery({ what, isForwarded, ...data }) {
      const { receiver, integration, outcome, reason } = data;
      const kind = `delivery/${receiver}/${integration}/${outcome}/${reason}`;
      // Forwarded events are a stream: the metrics count its batches.
      if (outcome === 'delivered' && isForwarded) log.debug('Forwarded events were delivered', data);
      else if (outcome === 'delivered') log.info('A notification was delivered', data);
      else if (outcome === 'suppressed') seldom(kind, 'warn', 'A delivery was suppressed', data);
      else if (outcome === 'dead') seldom(kind, 'error', 'A delivery was given up', data);
      else seldom(kind, 'warn', 'A delivery failed and is retried', data);
    },
    heartbeat({ outcome, reason }) {
      const state = outcome === 'sent' ? '' : `${outcome}: ${reason}`;
      const before = heartbeat;
      heartbeat = state;
      if (state === before) return;
      if (outcome === 'silent') log.warn('The heartbeat is not sent', { reason });
      else if (outcome === 'failed') log.warn('The heartbeat was not accepted', { reason });
      else log.info('The heartbeat is sent', {});
    },
  } satisfies Partial<Lines>;
}

function processLines(log: Writers, seldom: Seldom) {
  return {
    action({ what, ...data }) {
      log.info('The service was to do something', data);
    },
    config_reload({ success, atUs, mistakes = [], needsRestart = [] }) {
      if (!success) return log.error('The new configuration has mistakes and changes nothing', { mistakes });
      log.info('The configuration was read', { at: formatInstant(atUs) });
      if (needsRestart.length > 0) {
        log.warn('Some configuration changes take effect only after a restart', { keys: needsRestart });
      }
    },
    impaired({ what, isOver, severity, ...data }) {
      // The summary says how it was when it was last found.
      if (isOver) return log.info('The watch is no longer impaired by this', { ...data, summary: undefined });
      const level = severity === 'critical' ? 'error' : severity === 'warning' ? 'warn' : 'info';
      log[level]('The watch is impaired', data);
    },
    write({ what, atUs, ...data }) {
      log.info('Somebody asked for a change', { ...data, at: formatInstant(atUs) });
    },
    limit_reached({ what, ...data }) {
      seldom(`limit/${data.limit}/${data.region}`, 'warn', 'A limit was reached', data);
    },
    set_aside({ what, ...data }) {
      seldom(
        `set_aside/${data.sort}/${data.name}`,
        'error',
        'Something failed and was set aside; the rest continues',
        data,
      );
    },
    joined({ what, ...data }) {
      log.info('This replica takes part', data);
    },
    relieves({ what, ...data }) {
      log.warn('This replica takes a region from another, which does not reach its service', data);
    },
    duty({ what, isOwned, ...data }) {
      log.info(isOwned ? 'This replica begins a duty' : 'This replica ends a duty', data);
    },
    trouble({ what, ...data }) {
      const { stage, region, error } = data;
      const code = codeOf(error);
      const sentence = code === 'bug' ? 'A bug occurred; the work continues' : 'A stage had trouble';
      // Different bugs are different kinds, so that a frequent one does not hide another.
      const kind = `trouble/${stage}/${region}/${code === 'bug' ? String(error) : code}`;
      seldom(kind, levelOf(error), sentence, data);
    },
  } satisfies Partial<Lines>;
}

/** Bugs, and failures that stop the work until a person acts, are errors; the rest recovers by itself or repeats. */
function levelOf(error: unknown): LogLevel {
  const code = codeOf(error);
  return code === 'bug' || code === 'disk_full' || code.startsWith('store_') ? 'error' : 'warn';
}

/**
 * Lets one line of each kind through per minute. Returns how many of that kind were held back since the last one that
 * passed, or undefined when this one must be held back.
 */
function createLogThrottle(clock: Clock): (kind: string) => number | undefined {
  const passed = new Map<string, { atMs: number; held: number }>();
  return (kind) => {
    const nowMs = clock.monotonicMs();
    const last = passed.get(kind);
    if (last && nowMs - last.atMs < INTERVAL_MS) {
      last.held += 1;
      return undefined;
    }
    // When full, the kind that passed longest ago is forgotten, and its count with it.
    passed.delete(kind);
    if (passed.size >= MAX_KINDS) passed.delete(passed.keys().next().value!);
    passed.set(kind, { atMs: nowMs, held: 0 });
    return last?.held ?? 0;
  };
}

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
/**
 * Scheme, an optional login, host, and the rest, which in a webhook's address is often its key. A login ends at the last
 * `@`, since a password may hold others; only after one may the host be empty. A scheme is bounded, so that each of many
 * letters that might begin one costs little; more letters may stand before it.
 */
const ADDRESS = /([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/"'<>]*@|(?=[^\s/?#"'<>]))([^\s/?#"'<>]*)([^\s"'<>]*)/gi;

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
