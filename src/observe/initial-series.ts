/** Creates the series that are known before anything happens, at 0, so that Prometheus sees their first increase. */
import { ACTION_OUTCOMES } from '../domain/action/action.ts';
import type { AlertState } from '../domain/alert/alert.ts';
import { EVENT_TYPES, FEEDS } from '../domain/alert/event.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { SUPPRESSION_REASONS } from '../domain/muting/suppression.ts';
import { IMPAIRMENT_REASONS } from '../health/impairment.ts';
import { COUNTED_LIMITS } from '../limits.ts';
import type { FailureReason } from '../report.ts';
import type { Clock } from '../time/clock.ts';
import type { Instruments } from './instruments.ts';
import { BIRD_METRICS, METRICS } from './metric-catalogue.ts';

const ALERT_STATES: readonly AlertState[] = ['pending', 'firing', 'resolved'];

/** The most common reasons; others get their series when they occur. */
const READ_FAILURES: readonly FailureReason[] = [
  'unreachable',
  'timeout',
  'unavailable',
  'rate_limited',
  'unauthorized',
];
const SEND_FAILURES: readonly FailureReason[] = ['unreachable', 'timeout', 'unavailable', 'rejected'];
const STAGES = ['intake', 'alerting', 'delivery', 'web', 'store'];

/** Metrics with a limited number of series. */
const BOUNDED = [
  'events',
  'nestInfo',
  'nestFlightsEnded',
  'flightDuration',
  'alertsFiring',
  'notificationsSuppressed',
] as const;

/** What is known of the metrics before anything happens. */
export interface Foreseen {
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
  readonly clock: Clock;
  readonly regions: readonly string[];
  /** The regions in which nestwatch may do something at the service. */
  readonly acting?: readonly string[];
  /** Ids of the operations that nestwatch calls. */
  readonly operations: readonly string[];
  readonly receivers: readonly {
    readonly name: string;
    readonly integrations: readonly { readonly kind: string }[];
  }[];
  readonly rules: readonly Pick<Rule, 'kind' | 'severity'>[];
}

interface AlertLabels {
  readonly alertname: string;
  readonly severity: string;
  readonly state: string;
}

/** Labels of the alerts that these rules can raise. */
export function foreseenAlerts(rules: Foreseen['rules']): AlertLabels[] {
  return rules.flatMap(({ kind, severity }) =>
    (severity === undefined ? (kindOf(kind)?.severities ?? []) : [severity]).flatMap((one) =>
      ALERT_STATES.map((state) => ({ alertname: kind, severity: one, state })),
    ),
  );
}

/** The series that exist from the start with any configuration. */
export function foreseeProcess(
  metrics: Instruments,
  { version, revision, nodeVersion, clock }: Pick<Foreseen, 'version' | 'revision' | 'nodeVersion' | 'clock'>,
): void {
  metrics.buildInfo.set({ version, revision, node_version: nodeVersion }, 1);
  metrics.reloadSuccessful.set(1);
  metrics.reloadTime.set(clock.nowUs() / 1e6);
  for (const reason of SUPPRESSION_REASONS) metrics.notificationsSuppressed.inc({ reason }, 0);
  for (const reason of IMPAIRMENT_REASONS) metrics.watchImpaired.set({ reason }, 0);
  for (const stage of STAGES) metrics.troubles.inc({ stage, reason: 'bug' }, 0);
  for (const limit of COUNTED_LIMITS) metrics.limitReached.inc({ limit }, 0);
  const bounded = [...BOUNDED.map((metric) => METRICS[metric]), ...Object.values(BIRD_METRICS)];
  for (const { name } of bounded) metrics.seriesDropped.inc({ metric: name }, 0);
}

/** The rate limit is left out: 0 would be a false statement. It appears with its first report. */
export function foreseeRegion(metrics: Instruments, region: string, operations: readonly string[]): void {
  metrics.regionUp.set({ region }, 0);
  for (const state of ['retrying', 'given_up']) metrics.connectionsLost.inc({ region, state }, 0);
  metrics.flightFailures.inc({ labels: { region, error: '_other' }, value: 0 });
  for (const feed of [...FEEDS, 'inventory']) {
    metrics.polls.inc({ region, feed }, 0);
    for (const reason of READ_FAILURES) metrics.pollsFailed.inc({ region, feed, reason }, 0);
    metrics.pollDuration.zero({ region, feed });
    metrics.pollLastSuccess.set({ region, feed }, 0);
    metrics.quarantined.inc({ region, feed }, 0);
    metrics.streamsOverdue.set({ region, feed }, 0);
    metrics.oldestRead.set({ region, feed }, 0);
  }
  for (const feed of FEEDS) {
    metrics.cursor.set({ region, feed }, 0);
    for (const type of EVENT_TYPES[feed]) metrics.events.inc({ region, feed, type }, 0);
    metrics.duplicates.inc({ region, feed }, 0);
    metrics.verified.set({ region, feed }, 0);
    metrics.recovered.inc({ region, feed }, 0);
    metrics.missing.inc({ region, feed }, 0);
    metrics.eventDelay.zero({ region, feed });
  }
  for (const outcome of ['met', 'late', 'missed']) metrics.deadlines.inc({ region, outcome }, 0);
  for (const type of EVENT_TYPES.inventory) metrics.events.inc({ region, feed: 'inventory', type }, 0);
  for (const operation of operations) {
    metrics.requests.inc({ region, operation }, 0);
    for (const reason of READ_FAILURES) metrics.requestsFailed.inc({ region, operation, reason }, 0);
    metrics.requestDuration.zero({ region, operation });
  }
}

/** Only where nestwatch may do something at the service. */
export function foreseeActions(metrics: Instruments, region: string): void {
  for (const type of EVENT_TYPES.action) metrics.events.inc({ region, feed: 'action', type }, 0);
  for (const outcome of ACTION_OUTCOMES) metrics.actions.inc({ region, action: 'fly_again', outcome }, 0);
}

export function foreseeIntegration(metrics: Instruments, receiver: string, integration: string): void {
  metrics.notifications.inc({ receiver, integration }, 0);
  for (const reason of SEND_FAILURES) metrics.notificationsFailed.inc({ receiver, integration, reason }, 0);
  metrics.notificationLatency.zero({ receiver, integration });
  metrics.templatesFailed.inc({ receiver, integration }, 0);
}
