/**
 * Formats alerts, silences and the configuration for Alertmanager's API v2: the shapes of its openapi.yaml, with
 * nestwatch's additions.
 */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import { stringify } from 'yaml';
import { fingerprint, type Labels } from '../../domain/alert/alert.ts';
import { formatMatcher, matcherJson } from '../../domain/matchers/matcher.ts';
import type { Span, TimeIntervalSpec } from '../../domain/muting/muting.ts';
import { type Silence, silenceState } from '../../domain/muting/silence.ts';
import type { Route } from '../../domain/routing/route.ts';
import { alertPath } from '../../http/page-path.ts';
import type { AlertingConfig, RoutedAlert } from '../../operator/read-alerts.ts';
import { formatDuration } from '../../time/duration.ts';

/**
 * How long Alertmanager keeps an alert that is not renewed. Its clients take an alert as resolved once its end has
 * passed.
 */
const RESOLVE_TIMEOUT_US = 300_000_000;

export function gettableAlert(
  { alert, receivers, silencedBy, inhibitedBy }: RoutedAlert,
  mutedBy: readonly string[],
  { externalUrl, nowUs }: { readonly externalUrl: string; readonly nowUs: number },
) {
  const isSuppressed = silencedBy.length + inhibitedBy.length + mutedBy.length > 0;
  return {
    annotations: alert.annotations,
    endsAt: dateTime(nowUs + RESOLVE_TIMEOUT_US),
    fingerprint: fingerprint(alert.labels),
    receivers: receivers.map((name) => ({ name })),
    startsAt: dateTime(alert.startsAtUs),
    status: { inhibitedBy, mutedBy, silencedBy, state: isSuppressed ? 'suppressed' : 'active' },
    updatedAt: dateTime(alert.updatedAtUs),
    generatorURL: `${externalUrl}/${alertPath(alert.id)}`,
    labels: alert.labels,
    // An addition of nestwatch: the id by which the alert is acknowledged.
    id: alert.id,
  };
}
export type GettableAlert = ReturnType<typeof gettableAlert>;

export interface AlertGroupJson {
  readonly alerts: readonly GettableAlert[];
  readonly labels: Labels;
  readonly receiver: { readonly name: string };
  readonly routeLabels: Labels;
}

export function gettableSilence(silence: Silence, nowUs: number) {
  const { recurrence } = silence;
  return {
    id: silence.id,
    status: { state: silenceState(silence, nowUs) },
    updatedAt: dateTime(silence.updatedAtUs),
    annotations: silence.annotations ?? {},
    comment: silence.comment,
    createdBy: silence.createdBy,
    endsAt: dateTime(silence.endsAtUs),
    matchers: silence.matchers.map(matcherJson),
    startsAt: dateTime(silence.startsAtUs),
    // Additions of nestwatch: the recurring windows, and the acknowledged alert.
    ...(recurrence && {
      recurrence: {
        cron: recurrence.cron,
        timezone: recurrence.timezone,
        duration: formatDuration(recurrence.durationMs),
      },
    }),
    ...(silence.alertId !== null && { alertId: silence.alertId }),
  };
}

/** RFC 3339 with milliseconds, as Go's strfmt writes it. */
export function dateTime(us: number): string {
  return new Date(Math.floor(us / 1000)).toISOString();
}

/** The characters written without a pause, which takes a millisecond. */
const SLICE_LENGTH = 256 * 1024;

/** The slices joined without a pause, which takes some milliseconds. */
const COPIED_AT_ONCE = 16;

export class JsonInSlices {
  readonly #written: Buffer[] = [];
  #slice = '';

  async add(json: string): Promise<void> {
    this.#slice += json;
    if (this.#slice.length < SLICE_LENGTH) return;
    this.#write();
    await turnOfEventLoop();
  }

  /** Adds a list, item by item. */
  async addList<T>(items: readonly T[], add: (item: T) => Promise<void>): Promise<void> {
    for (const [index, item] of items.entries()) {
      await this.add(index === 0 ? '[' : ',');
      await add(item);
    }
    await this.add(items.length === 0 ? '[]' : ']');
  }

  /** Everything that was added. */
  async whole(): Promise<Uint8Array<ArrayBuffer>> {
    this.#write();
    const whole = new Uint8Array(this.#written.reduce((sum, { length }) => sum + length, 0));
    let done = 0;
    for (const [index, slice] of this.#written.entries()) {
      whole.set(slice, done);
      done += slice.length;
      if (index % COPIED_AT_ONCE === COPIED_AT_ONCE - 1) await turnOfEventLoop();
    }
    return whole;
  }

  #write(): void {
    this.#written.push(Buffer.from(this.#slice));
    this.#slice = '';
  }
}

/**
 * Writes the configuration as Alertmanager would, for clients that load it: the route tree, the receivers' names, the
 * inhibitions and the time intervals. Integrations are left out because they hold secrets. What only nestwatch knows
 * is left out too, and so are labels of routes: clients that are older than these refuse the whole file.
 */
export function alertmanagerYaml({ route, receivers, inhibitRules, timeIntervals }: AlertingConfig): string {
  return stringify({
    route: routeYaml(route),
    receivers: receivers.map(({ name }) => ({ name })),
    inhibit_rules: inhibitRules.map((rule) => ({
      source_matchers: rule.sourceMatchers.map(formatMatcher),
      target_matchers: rule.targetMatchers.map(formatMatcher),
      equal: rule.equal,
    })),
    ...(timeIntervals.size > 0 && {
      time_intervals: [...timeIntervals].map(([name, list]) => ({
        name,
        time_intervals: list.map(({ spec }) => intervalYaml(spec)),
      })),
    }),
  });
}

function routeYaml(route: Route): Record<string, unknown> {
  return {
    receiver: route.receiver,
    ...(route.matchers.length > 0 && { matchers: route.matchers.map(formatMatcher) }),
    ...(route.continue && { continue: true }),
    group_by: route.groupBy === 'all' ? ['...'] : route.groupBy,
    group_wait: goDuration(route.groupWaitMs),
    group_interval: goDuration(route.groupIntervalMs),
    repeat_interval: goDuration(route.repeatIntervalMs),
    ...(route.muteTimeIntervals && { mute_time_intervals: route.muteTimeIntervals }),
    ...(route.activeTimeIntervals && { active_time_intervals: route.activeTimeIntervals }),
    ...(route.routes.length > 0 && { routes: route.routes.map(routeYaml) }),
  };
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

function intervalYaml({ times, weekdays, daysOfMonth, months, years, location }: TimeIntervalSpec) {
  const range = ({ from, to }: Span) => `${from}:${to}`;
  return {
    ...(times && {
      times: times.map(({ from, to }) => ({ start_time: clockTime(from), end_time: clockTime(to) })),
    }),
    ...(weekdays && { weekdays: weekdays.map(({ from, to }) => `${WEEKDAYS[from]}:${WEEKDAYS[to]}`) }),
    ...(daysOfMonth && { days_of_month: daysOfMonth.map(range) }),
    ...(months && { months: months.map(range) }),
    ...(years && { years: years.map(range) }),
    location,
  };
}

/** From the minute of the day, up to `24:00`. */
function clockTime(minute: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

/** Alertmanager refuses a bare `0` without a unit. */
function goDuration(ms: number): string {
  return ms === 0 ? '0s' : formatDuration(ms);
}
