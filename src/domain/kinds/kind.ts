import type { Alert, Labels } from '../alert/alert.ts';
import type { Event, Feed } from '../alert/event.ts';
import type { FactName, FactOf } from '../alert/fact.ts';
import { type Change, clear } from '../alert/lifecycle.ts';
import type { Parameters, RuleOf } from '../alert/parameter.ts';
import type { Rule } from '../alert/rule.ts';
import type { Remembered } from './memory.ts';

/**
 * One kind of alert, and all that nestwatch knows of it: what people read, what rules may say, which facts concern
 * it, what its alerts are about, and how they change. Every table of kinds is derived from this one. All of it is
 * pure. Facts may come in any order, so a kind compares their instants and never trusts their sequence.
 */
export interface Kind<
  Name extends string = string,
  P extends Parameters = Parameters,
  Severity extends string = string,
  Raising extends FactName = FactName,
  Seen extends FactName = FactName,
> {
  /** The label `alertname` of its alerts. */
  readonly name: Name;
  /** When it fires and when it resolves, for the documentation: clauses without a full stop, Markdown. */
  readonly fires: string;
  readonly resolves: string;
  readonly words: Words;
  /** What its rules may say beside what every rule may. */
  readonly parameters: P;
  /** What is wrong with values that are right by themselves; `given` has a rule as it is written. */
  mistakes?(given: Given): readonly Mistake[];
  /**
   * The severities that it chooses by itself, the usual one first. Where there are several the severity follows from
   * the fact, and each is an alert of its own, because labels are fixed while an alert fires and routes look at them.
   * One that is critical supersedes the milder one of the same subject, and takes up the milder facts that follow.
   */
  readonly severities: readonly Severity[];
  /**
   * The labels that the matchers of its rules see beside `alertname`, those of its topics; a label that does not
   * apply is empty. There is no `severity` among them: it follows from the rule.
   */
  readonly labels: readonly string[];
  /** Its alerts say that nestwatch does not see all of a region, or sees it late. */
  readonly impairsWatch?: true;
  /** While it fires, other alerts of its region are a consequence of it, and nobody is notified of them. */
  readonly inhibitsRegion?: true;
  /** Its alerts belong to no region: their label `region` is `all`. */
  readonly isOfNoRegion?: true;
  /** Some of its alerts belong to no region, others to one. */
  readonly isAlsoOfNoRegion?: true;
  /** Another kind whose alert, about the same subject, may take over from this one's. */
  readonly supersededBy?: string;
  /** Whether somebody may say that it is over: not where it is measured again and again, and would soon fire again. */
  isResolvableByHand(alert: Pick<Alert, 'subject'>): boolean;
  /**
   * What its alerts remember; absent for nothing. An alert that remembers something else is taken as one that remembers
   * nothing, also while it fires.
   */
  readonly remembers?: Remembered;
  /** Absent where one fact is always enough. */
  readonly counting?: Counting<RuleOf<P>>;

  /** The facts that may raise it. */
  readonly raisedBy: readonly Raising[];
  /** The facts that may change an alert that they did not raise; most of all, end it. */
  readonly observes: readonly Seen[];
  /**
   * The types of the events among these facts, or a feed for all of its types: of other events it is not asked.
   * Absent for all events.
   */
  readonly eventTypes?: readonly string[];
  /** What a fact may raise an alert about; undefined where it raises none of this kind. */
  topic(fact: FactOf<Raising>): Topic<Severity> | undefined;
  /** Makes the topic narrower where the rule asks for it. */
  narrow?(topic: Topic<Severity>, fact: FactOf<Raising>, rule: RuleOf<P>): Topic<Severity>;
  /** What a fact with a topic does to the alert about it; undefined for nothing. */
  raise(alert: Alert, fact: FactOf<Raising>, context: Context<RuleOf<P>>): Change | undefined;
  /** What a fact does to the other alerts of this kind in its scope. */
  observe?(alert: Alert, fact: FactOf<Seen>, context: Context<RuleOf<P>>): Change | undefined;
  /** What happens when the alert's `dueAtUs` has come. The change must move or clear it. */
  tick(alert: Alert, context: Context<RuleOf<P>>): Change;
}

/** The states of a kind's alerts in the words of a person who runs automations, not of one who runs monitors. */
export interface Words {
  /** What has happened; the alert's title as well. */
  readonly firing: string;
  /** In a reminder, and when more of the same came. */
  readonly still: string;
  /** It was seen that it is over. */
  readonly over: string;
  /** Nothing more was heard of it, which proves nothing. Absent where that never ends it. */
  readonly quiet?: string;
  /** It has become worse. Absent where nothing is worse. */
  readonly superseded?: string;
  /** What its events are to people, messages if absent; null where their number says nothing. */
  readonly events?: 'failure' | null;
  /** The description is a sentence of our own, where those of other kinds show what somebody answered. */
  readonly hasOwnDescription?: true;
}

interface Topic<Severity extends string = string> {
  /** What within the region the alert is about, e.g. `bird/148890`: part of its identity, so without names. */
  readonly subject: string;
  /** Labels but for `alertname` and `severity`; rules are matched on these and on `alertname`. */
  readonly labels: Labels;
  /** The kind's own choice, which a rule may override; absent for the usual one. */
  readonly severity?: Severity;
}

export interface Context<R extends Rule = Rule> {
  readonly rule: R;
  /** All labels that the alert has if it fires now. */
  readonly labels: Labels;
  readonly nowUs: number;
}

/** Of kinds whose rules may ask for several facts before an alert fires. */
interface Counting<R extends Rule> {
  asksForSeveral(rule: R): boolean;
  /** The events that are counted for an alert that does not fire yet. */
  waiting(alert: Alert): readonly Event[];
}

/** The value of a key as a rule gives it, unchecked; undefined where it does not. */
export type Given = (key: string) => unknown;

export interface Mistake {
  readonly key: string;
  /** True where the key should not be there, false where its value is wrong. */
  readonly isOfKey: boolean;
  /** For people, without a full stop. */
  readonly message: string;
}

/** A kind whose parameters are known. */
export type KindWith<P extends Parameters, Name extends string = string> = Omit<Kind<Name>, 'parameters'> & {
  readonly parameters: P;
};

/** Checks a kind's parts against each other: a fact that it does not list reaches none of its functions. */
export function defineKind<
  const Name extends string,
  const P extends Parameters,
  const Severity extends string,
  const Raising extends FactName,
  const Seen extends FactName = never,
>(kind: Kind<Name, P, Severity, Raising, Seen>): KindWith<P, Name> {
  return kind as unknown as KindWith<P, Name>;
}

/** Whether a rule is one of a kind, and has its parameters. */
export function isRuleOf<P extends Parameters>(rule: Rule, kind: KindWith<P>): rule is RuleOf<P> {
  return rule.kind === kind.name;
}

/** Labels that many kinds have. */
export const PLACE_LABELS = ['bird', 'bird_id', 'nest', 'nest_id', 'region'] as const;
export const ENTITY_LABELS = ['entity_id', 'entity_name', 'entity_type'] as const;

/** A part of a subject from outside, made unable to look like two parts. */
export function subjectPart(text: string | number | boolean | undefined): string {
  return encodeURIComponent(String(text ?? '').toWellFormed());
}

/** When an alert that was renewed at `atUs` is taken as over; null for never. */
export function quietAtUs(rule: Rule, atUs: number): number | null {
  return rule.resolveAfterMs === null ? null : atUs + rule.resolveAfterMs * 1000;
}

/** Ends what is about a Bird that vanished. */
export function endVanished(alert: Alert, { readAtUs, isLeftOut }: FactOf<'bird_vanished'>, nowUs: number) {
  const by = isLeftOut ? 'its Nest is no longer watched' : 'the Bird is gone';
  return clear(alert, readAtUs, by, nowUs, 'gone');
}

/** What entries of a feed are called. */
export const FEED_ENTRIES: Readonly<Record<Feed | 'inventory', readonly [one: string, many: string]>> = {
  notification: ['notification', 'notifications'],
  bird_log: ['Bird log entry', 'Bird log entries'],
  flight: ['Flight', 'Flights'],
  inventory: ['Nest or Bird', 'Nests or Birds'],
};
