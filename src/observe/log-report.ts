/**
 * Writes the log lines of each report. Requests and polls are `debug`, what a person should know is `info`, and what
 * may need a person is `warn` or `error`. Recurring trouble of one kind is written once a minute, with the number of
 * lines held back.
 */

import { shortId } from '../domain/alert/event.ts';
import { codeOf } from '../errors.ts';
import type { Happening, Report } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import { formatInstant } from '../time/instant.ts';

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
export type LogLine = (sentence: string, data?: LineData | (() => LineData)) => void;

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
  const isSaid = createAwayWatch();
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
    cursor() {},
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
 * The health report about it is suppressed too, but its recovery is logged.
 */
function createAwayWatch(): (one: Happening) => boolean {
  let isAway = false;
  return (one) => {
    if ('error' in one && codeOf(one.error) === 'store_down') {
      const wasAway = isAway;
      isAway = true;
      return wasAway;
    }
    if (one.what === 'events' || one.what === 'alert' || one.what === 'notified') isAway = false;
    if (one.what !== 'impaired' || one.reason !== 'store_failing') return false;
    const isSaid = isAway && !one.isOver;
    if (one.isOver) isAway = false;
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
