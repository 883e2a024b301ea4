import type { Feed } from './domain/alert/event.ts';
import type { FaultSort } from './domain/alert/fault.ts';
import type { SuppressionReason } from './domain/muting/suppression.ts';
import type { ErrorCode } from './errors.ts';
import type { LimitName } from './limits.ts';

export type FailureReason = ErrorCode | 'bug';

/**
 * What the stages report of their work: typed facts about the work, never about people's data. Only `observe/`
 * knows what becomes of them (metrics and log lines). An implementation returns at once and never throws.
 */
export type Happening =
  | {
      readonly what: 'request';
      readonly region: string;
      readonly operation: string;
      readonly durationMs: number;
      readonly failure?: FailureReason;
    }
  | { readonly what: 'rate_limit'; readonly region: string; readonly requestsPerSecond: number }
  | {
      readonly what: 'poll';
      readonly region: string;
      readonly feed: Feed | 'inventory';
      readonly durationMs: number;
      readonly atUs: number;
      readonly failure?: FailureReason;
      readonly error?: unknown;
      readonly birdId?: string;
    }
  | { readonly what: 'cursor'; readonly region: string; readonly feed: Feed; readonly oldestUs: number }
  | {
      readonly what: 'event';
      readonly region: string;
      readonly feed: Feed;
      readonly key: string;
      readonly type: string;
      readonly occurredAtUs: number;
      readonly delayMs: number;
      readonly historic: boolean;
    }
  | {
      readonly what: 'flight';
      readonly region: string;
      readonly nestId: string;
      readonly birdId: string;
      readonly status: string;
      /** When it ended, or for `active` when it started. */
      readonly atUs: number;
      /** Of its end; absent for a start. */
      readonly eventKey?: string;
      /** Absent where the service does not say when it started. */
      readonly durationMs?: number;
      /** Of one that failed, the stable part of its message; empty where there is none. */
      readonly error?: string;
    }
  /** The service notified that a connection is lost: it still tries by itself, or has given up. */
  | {
      readonly what: 'connection_lost';
      readonly region: string;
      readonly state: 'retrying' | 'given_up';
    }
  /** Somebody asked over HTTP for a change: one line for each, for whoever wants to know later who did what. */
  | ({ readonly what: 'write' } & WriteRecord)
  | { readonly what: 'duplicates'; readonly region: string; readonly feed: Feed; readonly count: number }
  | {
      readonly what: 'quarantined';
      readonly region: string;
      readonly feed: Feed | 'inventory';
      readonly count: number;
      readonly reason: string;
    }
  /** Entries that polls had missed, found by an audit: late, not lost. */
  | { readonly what: 'recovered'; readonly region: string; readonly feed: Feed; readonly count: number }
  /** Entries that the service counts but does not return. */
  | { readonly what: 'missing'; readonly region: string; readonly feed: Feed; readonly count: number }
  /** The service's counts of a stream contradict its entries: audits read the entries instead. */
  | {
      readonly what: 'counts_untrue';
      readonly region: string;
      readonly feed: Feed;
      readonly stream: string;
    }
  | { readonly what: 'inventory'; readonly region: string; readonly birds: readonly ObservedBird[] }
  | {
      readonly what: 'flights_active';
      readonly region: string;
      readonly nestId: string;
      readonly birdId: string;
      readonly count: number;
    }
  | {
      readonly what: 'region_health';
      readonly region: string;
      readonly health: 'up' | 'down' | 'unauthorized';
      readonly reason: string;
    }
  | {
      readonly what: 'alert';
      readonly alertname: string;
      readonly region: string;
      readonly state: 'firing' | 'resolved';
      readonly alertId: string;
    }
  | {
      readonly what: 'notified';
      readonly receiver: string;
      readonly groupKey: string;
      readonly reason: string;
      readonly alerts: number;
    }
  | { readonly what: 'suppressed'; readonly reason: SuppressionReason; readonly count: number }
  | {
      readonly what: 'delivery';
      readonly receiver: string;
      readonly integration: string;
      readonly id: string;
      readonly outcome: 'delivered' | 'retry' | 'ambiguous' | 'dead' | 'suppressed';
      readonly attempt: number;
      readonly reason?: FailureReason;
      readonly error?: string;
      readonly latencyMs?: number;
    }
  /** A message was accepted with a built-in text, because a template of people's own failed. */
  | {
      readonly what: 'template_failed';
      readonly receiver: string;
      readonly integration: string;
      readonly error: string;
    }
  /** A call to the outside watchdog was made, or was left out, and why. */
  | {
      readonly what: 'heartbeat';
      readonly outcome: 'sent' | 'failed' | 'silent';
      /** Empty when it was sent. */
      readonly reason: string;
      readonly atUs: number;
    }
  /** Something began to impair the watch, or does so no longer. */
  | {
      readonly what: 'impaired';
      readonly reason: string;
      readonly severity: 'critical' | 'warning' | 'info';
      readonly summary: string;
      readonly isOver: boolean;
      readonly region?: string | undefined;
      readonly receiver?: string | undefined;
    }
  /** More came from outside than is taken; what happens then stands in the table of limits. */
  | { readonly what: 'limit_reached'; readonly limit: LimitName; readonly region?: string }
  /** Something failed while it was evaluated, and everything else goes on without it. */
  | {
      readonly what: 'set_aside';
      readonly sort: FaultSort;
      readonly name: string;
      readonly reason: string;
    }
  | {
      readonly what: 'config_reload';
      readonly success: boolean;
      readonly atUs: number;
      /** Why it was refused. */
      readonly mistakes?: readonly string[];
      /** Keys that changed and change nothing before a restart. */
      readonly needsRestart?: readonly string[];
    }
  /** Where several replicas share a store: this one takes part from now on, under that number. */
  | { readonly what: 'joined'; readonly replica: number }
  /** Where several replicas share a store: this one takes a region from another that does not reach its service. */
  | { readonly what: 'relieves'; readonly region: string }
  /** Where several replicas share a store: this one began or ended what only one at a time does. */
  | {
      readonly what: 'duty';
      /** `alerting`, `repeating`, or the reading of a region. */
      readonly duty: string;
      /** The region that is read. */
      readonly region: string | undefined;
      readonly isOwned: boolean;
    }
  | {
      readonly what: 'trouble';
      readonly stage: 'intake' | 'alerting' | 'delivery' | 'web' | 'store';
      readonly region?: string;
      readonly error: unknown;
    };

/** A Bird as the metrics show it. */
export interface ObservedBird {
  readonly nestId: string;
  readonly nest: string;
  readonly birdId: string;
  readonly bird: string;
  readonly status: string;
  readonly triggerType: string;
}

export type Report = (happening: Happening) => void;

/** What is written down of a request that was to change something. */
export interface WriteRecord {
  /** A person's name or a token's; empty where nobody is asked for one. */
  readonly who: string;
  readonly by: 'proxy' | 'user' | 'token' | 'link' | 'nobody_asked';
  /** Address of the other end of the connection. */
  readonly from: string;
  readonly action: string;
  /** The beginning of what was sent, cleaned. */
  readonly asked: string;
  readonly status: number;
  readonly atUs: number;
}
