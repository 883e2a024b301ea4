/**
 * Writes the configuration as Alertmanager would, for clients that load it: the route tree, the receivers' names, the
 * inhibitions and the time intervals. Integrations are left out because they hold secrets. What only nestwatch knows
 * is left out too, and so are labels of routes: clients that are older than these refuse the whole file.
 */
import { stringify } from 'yaml';
import { formatMatcher } from '../../domain/matchers/matcher.ts';
import type { Span, TimeIntervalSpec } from '../../domain/muting/time-interval.ts';
import type { Route } from '../../domain/routing/route.ts';
import type { AlertingConfig } from '../../operator/routed-alert.ts';
import { formatDuration } from '../../time/duration.ts';

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
