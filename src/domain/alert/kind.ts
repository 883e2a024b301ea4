import type { Alert, Labels, Severity } from './alert.ts';
import type { Feed } from './event.ts';
import type { Fact } from './fact.ts';
import type { Change } from './lifecycle.ts';
import type { AlertKind, Rule } from './rule.ts';

/**
 * One kind of alert: which facts concern it, what its alerts are about, and how they change. All of it is pure.
 * Facts may come in any order, so a kind compares their instants and never trusts their sequence.
 */
export interface Kind {
  readonly alertname: AlertKind;
  /**
   * True where the severity follows from the fact: each severity is then an alert of its own, because labels are
   * fixed while an alert fires and routes look at them. One that is critical supersedes the milder one of the same
   * subject, and takes up the milder facts that follow.
   */
  readonly leveled?: boolean;
  /** True where what it tells is looked at again and again: an alert that somebody ends would soon fire again. */
  readonly measured?: true | ((alert: Pick<Alert, 'id'>) => boolean);
  /** What a fact may raise an alert about; undefined where it raises none of this kind. */
  topic(fact: Fact): Topic | undefined;
  /** Makes the topic narrower where the rule asks for it. */
  narrow?(topic: Topic, fact: Fact, rule: Rule): Topic;
  /** What a fact with a topic does to the alert about it; undefined for nothing. */
  raise(alert: Alert, fact: Fact, context: Context): Change | undefined;
  /** What a fact does to the other alerts of this kind in its scope: most of all, it may resolve them. */
  observe(alert: Alert, fact: Fact, context: Context): Change | undefined;
  /** What happens when the alert's `dueAtUs` has come. The change must move or clear it. */
  tick(alert: Alert, context: Context): Change;
}

export interface Topic {
  /** What within the region the alert is about, e.g. `bird/148890`: part of its identity, so without names. */
  readonly subject: string;
  /** Labels but for `alertname` and `severity`; rules are matched on these and on `alertname`. */
  readonly labels: Labels;
  /** The kind's own choice, which a rule may override. */
  readonly severity: Severity;
}

export interface Context {
  readonly rule: Rule;
  /** All labels that the alert has if it fires now. */
  readonly labels: Labels;
  readonly nowUs: number;
}

/** A part of a subject from outside, made unable to look like two parts. */
export function subjectPart(text: string | number | boolean | undefined): string {
  return encodeURIComponent(String(text ?? '').toWellFormed());
}

/** When an alert that was renewed at `atUs` is taken as over; null for never. */
export function quietAtUs(rule: Rule, atUs: number): number | null {
  return rule.resolveAfterMs === null ? null : atUs + rule.resolveAfterMs * 1000;
}

/** What entries of a feed are called. */
export const FEED_ENTRIES: Readonly<Record<Feed | 'inventory', readonly [one: string, many: string]>> = {
  notification: ['notification', 'notifications'],
  bird_log: ['Bird log entry', 'Bird log entries'],
  flight: ['Flight', 'Flights'],
  inventory: ['Nest or Bird', 'Nests or Birds'],
};
