import type { Receiver } from '../channels/receiver.ts';
import type { ActionRule } from '../domain/action/action.ts';
import type { Rule } from '../domain/alert/rule.ts';
import type { InhibitRule, TimeIntervals } from '../domain/muting/muting.ts';
import type { Route } from '../domain/routing/route.ts';
import type { ContextConfig } from './sections/context-section.ts';
import type { DigestConfig } from './sections/digests-section.ts';
import type { Forward } from './sections/forward-section.ts';
import type { HeartbeatConfig } from './sections/heartbeat-section.ts';
import type { MetricsConfig } from './sections/metrics-section.ts';
import type { Objective } from './sections/objectives-section.ts';
import type { PollConfig } from './sections/poll-section.ts';
import type { RegionConfig } from './sections/regions-section.ts';
import type { StoreConfig } from './sections/store-section.ts';
import type { WebConfig } from './sections/web-section.ts';

/** The whole validated configuration: defaults are filled in, durations are in milliseconds, secrets are wrapped. */
export interface Config {
  readonly regions: readonly RegionConfig[];
  readonly store: StoreConfig;
  readonly poll: PollConfig;
  /** The configured rules, then one default rule of each kind. */
  readonly rules: readonly Rule[];
  readonly route: Route;
  readonly receivers: readonly Receiver[];
  /** The configured rules, then the built-in ones. */
  readonly inhibitRules: readonly InhibitRule[];
  readonly timeIntervals: TimeIntervals;
  readonly forward: readonly Forward[];
  readonly digests: readonly DigestConfig[];
  /** Absent for none. */
  readonly objectives?: readonly Objective[];
  /** Absent for none. */
  readonly actions?: readonly ActionRule[];
  readonly context: ContextConfig;
  /** Absent for none. */
  readonly heartbeat?: HeartbeatConfig;
  readonly metrics: MetricsConfig;
  readonly web: WebConfig;
}
