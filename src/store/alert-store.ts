/**
 * Stores alerts: each identity once, in its current state, with its events. A written alert waits to be routed until
 * alerting has processed it, so a crash in between loses no change. Every resolved episode is kept for digests, even
 * after its alert is deleted.
 */
import type { Alert } from '../domain/alert/alert.ts';
import type { Filter } from './filter.ts';
import type { LinkedSpan } from './outbox-store.ts';

/** Selects alerts for `page`, by what people look for. */
export interface AlertQuery extends Filter {
  /** By default firing and resolved alerts. */
  readonly state?: Alert['state'] | undefined;
  /** Whether somebody has acknowledged the current episode. */
  readonly isAcknowledged?: boolean | undefined;
  /** The `cause` of a `Cause`. */
  readonly cause?: string | undefined;
  /** `severest`: firing before resolved, unacknowledged first, then by severity, then newest first. */
  readonly order: 'severest' | 'newest';
  /** The instant at which acknowledgements must be in force. */
  readonly nowUs: number;
  /** 1 to 1000. */
  readonly limit: number;
  /** `next` of an earlier answer. */
  readonly cursor?: string | undefined;
}

export type CauseQuery = Omit<AlertQuery, 'order' | 'state'>;

/** Firing alerts of one kind and severity that have the same cause. */
export interface Cause {
  readonly alertname: string;
  readonly severity: string;
  /** What they share: their error, or else their latest text without its variable parts. */
  readonly cause: string;
  readonly isAcknowledged: boolean;
  /** The label that all of its alerts share; undefined if they differ. */
  readonly region: string | undefined;
  readonly nestId: string | undefined;
  readonly alerts: number;
  readonly firstStartsAtUs: number;
  readonly lastStartsAtUs: number;
  /** The five that started last, latest first. */
  readonly latest: readonly Alert[];
}

export interface CausePage {
  readonly causes: Cause[];
  readonly next?: string;
}

/** A span of events, and the age from which one counts as old. */
export interface AgedSpan extends LinkedSpan {
  readonly maxAgeUs: number;
}
