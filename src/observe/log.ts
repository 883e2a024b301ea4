/**
 * What becomes of a happening in the log: a sentence that never changes, with the data beside it. Requests and polls
 * are for `debug`; what a person should know is `info`, what may need one is `warn` or `error`. Trouble that
 * repeats is told once a minute for each of its kinds, with how often it was held back. Only this file knows pino.
 */
import { pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { codeOf } from '../errors.ts';
import type { Happening, Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';
import { createFloodGate } from './log-throttle.ts';
import { redact } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes a line. `sentence` is constant; what varies stands in `data`. */
export type LogLine = (sentence: string, data?: Readonly<Record<string, unknown>>) => void;

export interface Log extends Readonly<Record<LogLevel, LogLine>> {
  readonly report: Report;
}

export interface LogOptions {
  /** The least level that is written. */
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  /** Colours for `pretty`. */
  readonly colour?: boolean;
  readonly stream: { write(text: string): unknown };
  readonly clock: Clock;
}

export function createLog({ level, format, colour = false, stream, clock }: LogOptions): Log {
  const pretty = prettyFactory({
    colorize: colour,
    translateTime: 'UTC:HH:MM:ss',
    messageKey: 'message',
    singleLine: true,
  });
  const destination = format === 'json' ? stream : { write: (line: string) => stream.write(pretty(line)) };
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
      logger[at](data === undefined ? {} : fields(data), sentence);
    };
  const lines = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  return { ...lines, report: createLogReport(lines, clock) };
}

/** The fields of a line, named in snake_case as everywhere outside. */
function fields(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown = redact(data) as Record<string, unknown>;
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [snakeCase(name), value]));
}

function createLogReport(log: Readonly<Record<LogLevel, LogLine>>, clock: Clock): Report {
  const pass = createFloodGate(clock);
  const healths = new Map<string, string>();
  /** Why it was not accepted the last time; empty when it was. */
  let heartbeat: string | undefined;

  /** A line that may come often: at most once a minute for each `kind`. */
  function seldom(
    kind: string,
    level: LogLevel,
    sentence: string,
    data: Readonly<Record<string, unknown>>,
  ): void {
    const held = pass(kind);
    if (held === undefined) return;
    log[level](sentence, held > 0 ? { ...data, repeated: held } : data);
  }

  const tell: Tellers = {
    request({ what, ...data }) {
      log.debug('A request ended', data);
    },
    rate_limit({ what, ...data }) {
      log.debug('The pace changed', data);
    },
    poll({ what, atUs, ...data }) {
      if (!data.failure) return log.debug('A poll ended', data);
      // The region's health has told it already, once.
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
    event({ what, ...data }) {
      log.debug('An event was kept', data);
    },
    quarantined({ what, ...data }) {
      const { region, feed, reason } = data;
      seldom(`quarantined/${region}/${feed}`, 'warn', 'Malformed entries were set aside', {
        ...data,
        reason,
      });
    },
    recovered({ what, ...data }) {
      log.warn('An audit found entries that the polls had missed', data);
    },
    missing({ what, ...data }) {
      log.error('The service counts entries that it does not show', data);
    },
    counts_untrue({ what, ...data }) {
      log.warn('The counts of a stream are untrue: audits read its entries instead', data);
    },
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
      log.debug('A notification was left out', data);
    },
    delivery({ what, ...data }) {
      const { receiver, integration, outcome, reason } = data;
      const kind = `delivery/${receiver}/${integration}/${outcome}/${reason}`;
      if (outcome === 'delivered') log.info('A notification was delivered', data);
      else if (outcome === 'suppressed') seldom(kind, 'warn', 'A delivery was left out', data);
      else if (outcome === 'dead') seldom(kind, 'error', 'A delivery was given up', data);
      else seldom(kind, 'warn', 'A delivery failed and is tried again', data);
    },
    heartbeat({ outcome, reason }) {
      const state = outcome === 'sent' ? '' : `${outcome}: ${reason}`;
      const before = heartbeat;
      heartbeat = state;
      if (state === before) return;
      if (outcome === 'silent') log.warn('The heartbeat stays out', { reason });
      else if (outcome === 'failed') log.warn('The heartbeat was not accepted', { reason });
      else log.info('The heartbeat is sent', {});
    },
    config_reload({ success, atUs }) {
      if (success) log.info('The configuration was read', { at: formatInstant(atUs) });
      else log.error('The new configuration has mistakes and changes nothing', {});
    },
    trouble({ what, ...data }) {
      const { stage, region, error } = data;
      const code = codeOf(error);
      const sentence = code === 'bug' ? 'A bug was met; the work goes on' : 'A stage met trouble';
      // Different bugs are different kinds: one that comes often must not hide another.
      const kind = `trouble/${stage}/${region}/${code === 'bug' ? String(error) : code}`;
      seldom(kind, levelOf(error), sentence, data);
    },
    // These are figures, not news: the metrics have them.
    cursor() {},
    duplicates() {},
    flight() {},
    flights_active() {},
  };
  return (one) => (tell[one.what] as (one: Happening) => void)(one);
}

type Tellers = {
  readonly [What in Happening['what']]: (one: Extract<Happening, { what: What }>) => void;
};

/** A bug, and what stops the work until a person acts, is an error; the rest heals or repeats by itself. */
function levelOf(error: unknown): LogLevel {
  const code = codeOf(error);
  return code === 'bug' || code === 'disk_full' || code.startsWith('store_') ? 'error' : 'warn';
}
