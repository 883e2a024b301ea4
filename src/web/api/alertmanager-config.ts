/**
 * The configuration as Alertmanager would write it, for clients that load it: the route tree, the receivers' names
 * and the inhibitions. Integrations are left out, as they hold secrets; so is what only nestwatch knows.
 */
import { stringify } from 'yaml';
import { formatMatcher } from '../../domain/matchers/matcher.ts';
import type { Route } from '../../domain/routing/route.ts';
import type { AlertingConfig } from '../../operator/routed-alert.ts';
import { formatDuration } from '../../time/duration.ts';

export function alertmanagerYaml({ route, receivers, inhibitRules }: AlertingConfig): string {
  return stringify({
    route: routeYaml(route),
    receivers: receivers.map(({ name }) => ({ name })),
    inhibit_rules: inhibitRules.map((rule) => ({
      source_matchers: rule.sourceMatchers.map(formatMatcher),
      target_matchers: rule.targetMatchers.map(formatMatcher),
      equal: rule.equal,
    })),
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
    ...(route.routes.length > 0 && { routes: route.routes.map(routeYaml) }),
  };
}

/** Alertmanager refuses a bare `0` where it stands without a unit. */
function goDuration(ms: number): string {
  return ms === 0 ? '0s' : formatDuration(ms);
}
