import type { EventFeed, Feed } from './domain/alert/event.ts';
import type { FaultSort } from './domain/alert/fault.ts';
import type { SuppressionReason } from './domain/muting/suppression.ts';
import type { ErrorCode } from './errors.ts';
import type { LimitName } from './limits.ts';

export type FailureReason = ErrorCode | 'bug';

/**
 * Everything that the stages report about their work: typed facts about the work, never people's data, except whom no
 * mail reaches. Only `observe/` knows what becomes of them (metrics and log lines). An implementation returns at once
 * and never throws.
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
  /** Events that were read and stored together. */
  | {
      readonly what: 'events';
      readonly region: string;
      readonly feed: EventFeed;
      readonly events: readonly KeptEvent[];
    }
  | {
      readonly what: 'flight';
      readonly region: string;
      readonly nestId: string;
      readonly birdId: string;
      readonly status: string;
      /** When it ended; for `active`, when it started. */
      readonly atUs: number;
      /** The event of its end; absent for a start. */
      readonly eventKey?: string;
      /** Absent if the service does not say when it started. */
      readonly durationMs?: number;
      /** For a failed Flight, the stable part of its message; empty if there is none. */
      readonly cause?: string;
    }
  /** The service notified that a connection is lost: it is still retrying, or has given up. */
  | {
      readonly what: 'connection_lost';
      readonly region: string;
      readonly state: 'retrying' | 'given_up';
    }
  /** Somebody requested a change over HTTP. Each is logged in one line, so that it is known later who did what. */
  | ({ readonly what: 'write' } & WriteRecord)
  | { readonly what: 'duplicates'; readonly region: string; readonly feed: Feed; readonly count: number }
  | {
      readonly what: 'quarantined';
      readonly region: string;
      readonly feed: Feed | 'inventory';
      readonly count: number;
      readonly reason: string;
    }
  /** Entries that polls had missed and an audit found: late, not lost. */
  | { readonly what: 'recovered'; readonly region: string; readonly feed: Feed; readonly count: number }
  /** Entries that the service counts but does not return. */
  | { readonly what: 'missing'; readonly region: string; readonly feed: Feed; readonly count: number }
  /** The service's counts of a stream contradict its entries; audits read the entries instead. */
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
  /** An attempt to do something at the service ended. */
  | {
      readonly what: 'action';
      readonly region: string;
      readonly action: 'fly_again';
      readonly outcome: 'done' | 'refused' | 'unknown' | 'withheld';
      readonly id: string;
    }
  | { readonly what: 'deadline'; readonly region: string; readonly outcome: 'met' | 'late' | 'missed' }
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
      /** A batch of forwarded events, of which nobody is notified. */
      readonly isForwarded?: true;
    }
  /** Somebody is not reached: by the mails to the members of this Nest, or by this integration. */
  | {
      readonly what: 'left_out';
      readonly recipient: string;
      readonly why: string;
      readonly region?: string;
      readonly nestId?: string;
      readonly receiver?: string;
      readonly integration?: string;
    }
  /** A message was accepted with a built-in text, because the configured template failed. */
  | {
      readonly what: 'template_failed';
      readonly receiver: string;
      readonly integration: string;
      readonly error: string;
    }
  /** The heartbeat to the outside watchdog was sent, failed, or was withheld, and why. */
  | {
      readonly what: 'heartbeat';
      readonly outcome: 'sent' | 'failed' | 'silent';
      /** Empty when it was sent. */
      readonly reason: string;
      readonly atUs: number;
    }
  /** An impairment of the watch began or ended. */
  | {
      readonly what: 'impaired';
      readonly reason: string;
      readonly severity: 'critical' | 'warning' | 'info';
      readonly summary: string;
      readonly isOver: boolean;
      readonly region?: string | undefined;
      readonly receiver?: string | undefined;
    }
  /** A limit was reached; the table of limits says what happens then. */
  | { readonly what: 'limit_reached'; readonly limit: LimitName; readonly region?: string }
  /** Something failed while it was evaluated and is set aside; everything else continues. */
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
      /** Keys that changed but take effect only after a restart. */
      readonly needsRestart?: readonly string[];
    }
  /** This replica joined those that share the store, under this number. */
  | { readonly what: 'joined'; readonly replica: number }
  /** This replica takes over a region from another one that cannot reach its service. */
  | { readonly what: 'relieves'; readonly region: string }
  /** This replica took on or gave up a duty that only one replica has at a time. */
  | {
      readonly what: 'duty';
      /** `alerting`, `repeating`, or the reading of a region. */
      readonly duty: string;
      /** The region, if the duty is to read one. */
      readonly region: string | undefined;
      readonly isOwned: boolean;
    }
  | {
      readonly what: 'trouble';
      readonly stage: 'intake' | 'alerting' | 'delivery' | 'web' | 'store';
      readonly region?: string;
      readonly error: unknown;
    };

export interface KeptEvent {
  readonly key: string;
  readonly type: string;
  readonly occurredAtUs: number;
  readonly delayMs: number;
  readonly historic: boolean;
}

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

/** The record of a request that was meant to change something. */
export interface WriteRecord {
  /** A person's or token's name; empty if no authentication is configured. */
  readonly who: string;
  readonly by: 'proxy' | 'user' | 'token' | 'link' | 'oidc' | 'slack' | 'rule' | 'nobody_asked';
  /** Remote address of the connection. */
  readonly from: string;
  readonly action: string;
  /** The beginning of the request's content, cleaned. */
  readonly asked: string;
  readonly status: number;
  readonly atUs: number;
}
