/**
 * The form in which alerts are stored, and what they are found by. `tx.alerts` (`sql/alerted/alerts.ts`) keeps each
 * identity once, in its current state, with its events. A written alert waits to be routed until alerting has processed
 * it, so a crash in between loses no change. An episode that ended outlives its alert, until retention deletes it.
 */
import { type Alert, type Labels, RANKED_SEVERITIES, severityRank } from '../domain/alert/alert.ts';
import { reasonOf, signature } from '../domain/alert/error-signature.ts';
import type { Episode } from '../domain/digest/digest.ts';
import { foldedText, plainText } from '../text/plain-text.ts';
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
  /**
   * `severest`: those that fire come first, unacknowledged before acknowledged ones, then by severity, then newest first;
   * behind them, resolved ones by when they ended, the last first.
   */
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

// The stored form of an alert: its body, and the values by which people find and order it.

export interface AlertRow {
  readonly body: string;
}

/** Throws for a body that is no alert. */
export function alertOf({ body }: AlertRow): Alert {
  const alert: unknown = JSON.parse(body);
  if (typeof alert !== 'object' || alert === null || !('labels' in alert)) throw new TypeError('no alert');
  return alert as Alert;
}

/** The episode that an alert ends by being resolved. */
export function episodeOf(alert: Alert): Episode {
  const { id: alertId, alertname, labels, startsAtUs, endsAtUs, eventsTotal: events, ending = null } = alert;
  return { alertId, alertname, labels, startsAtUs, endsAtUs, events, ending };
}

export interface LabelsRow {
  readonly alert: number;
  /** 1 for an alert whose cause is over, but which fires on because it flaps. */
  readonly flaps_on: number;
  /** As JSON. */
  readonly labels: string;
}

/** The result of `firingLabels` for rows in order of their numbers. */
export function labelsPage(rows: readonly LabelsRow[], limit: number): { labels: Labels[]; next?: number } {
  const labels = rows.filter((row) => row.flaps_on === 0).map((row) => JSON.parse(row.labels) as Labels);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { labels, ...(last && { next: last.alert }) };
}

interface FoundBy {
  readonly rank: number;
  readonly birdId: string;
  readonly cause: string;
  readonly nest: string;
  readonly bird: string;
  readonly words: string;
}

/** In UTF-16 units, of all searchable words together. */
const MAX_WORDS = 4_000;
/** In code points, of a text that is shortened to a cause. */
const MAX_CAUSE = 200;

export function foundBy({ alertname, labels, annotations }: Alert): FoundBy {
  const { bird_id: birdId = '', nest = '', bird = '' } = labels;
  const said = [annotations.summary, annotations.description].filter((text) => text !== undefined);
  const words = [alertname, ...Object.values(labels), ...said].join('\n');
  return {
    rank: RANKED_SEVERITIES.length - 1 - severityRank(labels),
    birdId,
    cause: causeOf({ labels, annotations }),
    nest: foldedText(nest),
    bird: foldedText(bird),
    words: foldedText(words.slice(0, MAX_WORDS)),
  };
}

/** What messages group alerts by: their error, or else their latest text. */
function causeOf({ labels, annotations }: Pick<Alert, 'labels' | 'annotations'>): string {
  if (labels.error) return labels.error;
  const said = plainText(reasonOf(annotations.description ?? ''), MAX_CAUSE);
  return said === '' ? (annotations.summary ?? '') : signature(said);
}
