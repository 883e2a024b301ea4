import { durationWords } from '../../text/instant-words.ts';
import { nearest } from '../../text/mistake-words.ts';
import { cronProblem } from '../../time/cron.ts';
import { type Alert, type Change, clear, type Ending, fire, type Labels, resolve } from '../alert/alert.ts';
import type { Event, Feed } from '../alert/event.ts';
import type { Fact, FactName, FactOf, Place } from '../alert/fact.ts';
import { annotate, placeLabels } from '../alert/labels.ts';
import type { Parameters, Rule, RuleOf } from '../alert/rule.ts';
import type { Judges, OpenAlerts, RegionToJudge } from './judge.ts';

/**
 * One kind of alert, and everything that nestwatch knows about it: what people read, what rules may say, which facts
 * concern it, what its alerts are about, and how they change. Every table of kinds is derived from this one.
 * Everything here is pure. Facts may come in any order, so a kind compares their instants and never relies on their
 * sequence.
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
  /** When it fires and when it resolves, for the documentation: Markdown clauses without a full stop. */
  readonly fires: string;
  readonly resolves: string;
  readonly words: Words;
  readonly runbook: Runbook;
  /**
   * It has no default rule: only what a rule asks for is judged. Every rule that fits decides, each about an alert of its
   * own, which has the rule's id as label `rule`.
   */
  readonly isOnRequest?: true;
  /** What its rules may say in addition to what every rule may. */
  readonly parameters: P;
  /** What is wrong with a combination of individually valid values; `given` reads the rule as written. */
  mistakes?(given: Given): readonly Mistake[];
  /**
   * The severities that it chooses by itself, the usual one first. If there are several, the severity follows from
   * the fact, and each is its own alert, because labels are fixed while an alert fires and routes depend on them. A
   * critical alert supersedes the milder one about the same subject, and takes over the milder facts that follow.
   */
  readonly severities: readonly Severity[];
  /**
   * The labels that the matchers of its rules see, in addition to `alertname`: those of its topics. A label that does
   * not apply is empty. `severity` is not among them, since it follows from the rule.
   */
  readonly labels: readonly string[];
  /** What the matchers of its rules see besides, and no alert has as a label. If given, all other names are refused. */
  readonly matchedOnly?: readonly string[];
  /** Labels that its alerts have in addition, but that are known only after a rule was chosen. */
  readonly laterLabels?: readonly string[];
  /** Its alerts say that nestwatch does not see everything in a region, or sees it late. */
  readonly impairsWatch?: true;
  /** While it fires, other alerts of its region are a consequence of it, and nobody is notified of them. */
  readonly inhibitsRegion?: true;
  /** Its alerts belong to no region: their label `region` is `all`. */
  readonly isOfNoRegion?: true;
  /** Some of its alerts belong to no region, others to one. */
  readonly isAlsoOfNoRegion?: true;
  /** Another kind whose alert about the same subject may take over from this one's. */
  readonly supersededBy?: string;
  /** Another kind whose alerts about the same Bird messages list under this one's. */
  readonly contains?: string;
  /** Whether people may resolve it: not if its condition is measured repeatedly, and it would soon fire again. */
  isResolvableByHand(alert: Pick<Alert, 'subject'>): boolean;
  /**
   * What its alerts remember; absent for nothing. An alert with any other memory counts as one that remembers
   * nothing, even while it fires.
   */
  readonly remembers?: Remembered;
  /** Absent if one fact is always enough. */
  readonly counting?: Counting<RuleOf<P>>;

  /** Absent for a kind that no time alone raises. */
  readonly judges?: Judges<RuleOf<P>>;

  /**
   * What is new after a reading of the inventory; absent for a kind that it does not raise. What is not known is left as
   * it is. Facts about what the rule does not match are dropped.
   */
  judgeRegion?(region: RegionToJudge, rule: RuleOf<P>, open: OpenAlerts): Promise<readonly Fact[]>;

  /** The facts that may raise it. */
  readonly raisedBy: readonly Raising[];
  /** The facts that may change, and above all end, an alert that they did not raise. */
  readonly observes: readonly Seen[];
  /**
   * The types of the events among these facts, or a feed for all of its types: the kind is not asked about other
   * events. Absent for all events.
   */
  readonly eventTypes?: readonly string[];
  /** What a fact may raise an alert about; undefined if it raises none of this kind. */
  topic(fact: FactOf<Raising>): Topic<Severity> | undefined;
  /** Narrows the topic if the rule asks for it; a severity that this gives goes before the rule's. */
  narrow?(topic: Topic<Severity>, fact: FactOf<Raising>, rule: RuleOf<P>): Topic<Severity>;
  /** What a fact with a topic does to the alert about it; undefined for nothing. */
  raise(alert: Alert, fact: FactOf<Raising>, context: RaiseContext<RuleOf<P>>): Change | undefined;
  /** What a fact does to the other alerts of this kind in its scope. */
  observe?(alert: Alert, fact: FactOf<Seen>, context: Context<RuleOf<P>>): Change | undefined;
  /** What later messages of a firing alert say first; undefined for nothing. */
  still?(alert: Alert, nowUs: number): string | undefined;
  /** What happens when the alert's `dueAtUs` has come. The change must move or clear it. Absent: that is all. */
  tick?(alert: Alert, context: Context<RuleOf<P>>): Change;
}

/** The states of a kind's alerts, in the words of a person who runs automations rather than monitoring. */
export interface Words {
  /** What has happened; also the alert's title. */
  readonly firing: string;
  /** In a reminder, and when more of the same came. */
  readonly still: string;
  /** Its end was observed. */
  readonly over: string;
  /**
   * The same three in sentences about one Bird, and about several: `lands again`, `land again`. Absent: said as titles,
   * `Connection lost: Phrase TMS`.
   */
  readonly verbs?: Readonly<Record<'firing' | 'still' | 'over', readonly [one: string, several: string]>>;
  /** Nothing more was heard of it, which proves nothing. Absent if that never ends it. */
  readonly quiet?: string;
  /** It has become worse. Absent if nothing is worse. */
  readonly superseded?: string;
  /** What its events are to people, by default messages; null if their number means nothing. */
  readonly events?: 'failure' | 'event' | null;
  /** The description is our own sentence; for other kinds it is what somebody answered. */
  readonly hasOwnDescription?: true;
  /** The description has a line for each of those that its events are about, so that messages need not list these. */
  readonly listsEvents?: true;
  /** The description says all that the summary does. */
  readonly hasWholeDescription?: true;
  /**
   * It happened at an instant: it goes on for no time, nobody is reminded of it, and its end is told only where
   * `send_resolved: true` is written. Its annotation `title` says what happened.
   */
  readonly isMoment?: true;
  /** In place of `firing` and `still`, if it has the annotation `due_by`: what is to be feared has not happened. */
  readonly ahead?: string;
}

/** For whoever gets such an alert: clauses in Markdown, in lower case, as in `config/runbooks.md`. */
interface Runbook {
  readonly look: string;
  readonly act: string;
}

export interface Topic<Severity extends string = string> {
  /**
   * What the alert is about within the region, such as `bird/148890`. It is part of the identity, so it contains no
   * names.
   */
  readonly subject: string;
  /** Labels without `alertname` and `severity`; rules are matched on these and on `alertname`. */
  readonly labels: Labels;
  /** The fact names the rule that decides, whose matchers it fits. */
  readonly isMatched?: true;
  /** The kind's own choice, which a rule may override; absent for the usual one. */
  readonly severity?: Severity;
}

export interface Context<R extends Rule = Rule> {
  readonly rule: R;
  /** All labels that the alert has if it fires now. */
  readonly labels: Labels;
  readonly nowUs: number;
}

interface RaiseContext<R extends Rule> extends Context<R> {
  /** The rule's alerts about the same subject, if each severity is its own. */
  readonly levels: readonly Alert[];
}

/** For kinds whose rules may require several facts before an alert fires. */
interface Counting<R extends Rule> {
  asksForSeveral(rule: R): boolean;
  /** The events counted for an alert that does not fire yet. */
  waiting(alert: Alert): readonly Event[];
}

/** The value of a key as written in a rule, unchecked; undefined if absent. */
export type Given = (key: string) => unknown;

export interface Mistake {
  readonly key: string;
  /** True if the key should not be there, false if its value is wrong. */
  readonly isOfKey: boolean;
  /** For people, without a full stop. */
  readonly message: string;
}

/** A kind whose parameters are known. */
export type KindWith<P extends Parameters, Name extends string = string> = Omit<Kind<Name>, 'parameters'> & {
  readonly parameters: P;
};

/** Checks a kind's parts against each other at compile time: its functions receive only facts that it lists. */
export function defineKind<
  const Name extends string,
  const P extends Parameters,
  const Severity extends string,
  const Raising extends FactName,
  const Seen extends FactName = never,
>(kind: Kind<Name, P, Severity, Raising, Seen>): KindWith<P, Name> {
  return kind as unknown as KindWith<P, Name>;
}

/** Whether a rule belongs to a kind, and so has its parameters. */
export function isRuleOf<P extends Parameters>(rule: Rule, kind: KindWith<P>): rule is RuleOf<P> {
  return rule.kind === kind.name;
}

/** Labels that many kinds have. */
export const PLACE_LABELS = ['bird', 'bird_id', 'nest', 'nest_id', 'region'] as const;
export const ENTITY_LABELS = ['entity_id', 'entity_name', 'entity_type'] as const;

/** A part of a subject from outside, encoded so that it cannot look like two parts. */
export function subjectPart(text: string | number | boolean | undefined): string {
  return encodeURIComponent(String(text ?? '').toWellFormed());
}

/** What an alert about a Bird is about. */
export function birdTopic(place: Place): Pick<Topic, 'subject' | 'labels'> {
  return { subject: `bird/${subjectPart(place.birdId)}`, labels: placeLabels(place) };
}

/** When an alert renewed at `atUs` counts as over; null for never. */
export function quietAtUs(rule: Rule, atUs: number): number | null {
  return rule.resolveAfterMs === null ? null : atUs + rule.resolveAfterMs * 1000;
}

/** What was measured, as its alert says it. */
interface Measured {
  readonly startsAtUs: number;
  readonly summary: string;
  readonly description: string;
  readonly memory: unknown;
  /** Absent if time alone does nothing to it. */
  readonly dueAtUs?: number | null;
}

/** Fires, or renews an alert, about something that is measured and that no event tells. */
export function fireMeasured(
  alert: Alert,
  { startsAtUs, summary, description, memory, dueAtUs = null }: Measured,
  { rule, labels, nowUs }: Context,
): Change {
  const annotations = annotate({ rule, labels }, summary, description);
  return fire(alert, { startsAtUs, labels, annotations, events: [], memory, dueAtUs }, nowUs);
}

/** Ends an alert of which nothing was heard for `resolve_after`. `unheard` is what did not happen. */
export function endQuiet(alert: Alert, unheard: string, { rule, nowUs }: Context): Change {
  const by = `${unheard} for ${durationWords(rule.resolveAfterMs ?? 0, 'exact')}`;
  return resolve(alert, alert.dueAtUs ?? nowUs, by, nowUs, 'quiet');
}

/** Ends an alert about a Bird that vanished. */
export function endVanished(alert: Alert, { readAtUs, isLeftOut }: FactOf<'bird_vanished'>, nowUs: number) {
  const by = isLeftOut ? 'its Nest is no longer watched' : 'the Bird is gone';
  return clear(alert, readAtUs, by, nowUs, 'gone');
}

/** Ends an alert about what an active Bird does, once it is not active. */
export function endInactive(alert: Alert, { status, readAtUs }: FactOf<'bird_status'>, nowUs: number) {
  if (status === 'active' || alert.state !== 'firing') return undefined;
  return resolve(alert, readAtUs, 'the Bird is no longer active', nowUs, 'superseded');
}

/** What entries of a feed are called. */
export const FEED_ENTRIES: Readonly<Record<Feed | 'inventory', readonly [one: string, many: string]>> = {
  notification: ['notification', 'notifications'],
  bird_log: ['Bird log entry', 'Bird log entries'],
  flight: ['Flight', 'Flights'],
  inventory: ['Nest or Bird', 'Nests or Birds'],
};

/** Ends an alert, because `by`: a clause for people. */
export function putRight(
  { scope, subject }: Alert,
  by: string,
  ending: Ending = 'over',
): FactOf<'put_right'> {
  return { fact: 'put_right', scope, subject, by, ending };
}

/** What `put_right` does to an alert of its scope. */
export function observePutRight(
  alert: Alert,
  { subject, by, ending }: FactOf<'put_right'>,
  { nowUs }: Pick<Context, 'nowUs'>,
): Change | undefined {
  return alert.subject === subject ? clear(alert, nowUs, by, nowUs, ending) : undefined;
}

/** What is wrong with `timezone`. Anything but a text is refused by its type. */
export function zoneMistakes(given: Given): Mistake[] {
  const zone = given('timezone') ?? 'UTC';
  const problem = typeof zone === 'string' ? cronProblem('0 0 * * *', zone) : undefined;
  if (typeof zone !== 'string' || problem === undefined) return [];
  const meant = nearest(zone, Intl.supportedValuesOf('timeZone'));
  const message = meant === undefined ? problem : `${problem}; did you mean ${meant}?`;
  return [{ key: 'timezone', isOfKey: false, message }];
}

/**
 * Checks what alerts remember from one fact to the next (`Alert.memory`). Each kind declares the fields; a memory
 * that was changed in the store or written by another version does not match them and is ignored.
 */

type Type = 'number' | 'string' | 'boolean' | 'object';

const isOf = (type: Type) => (value: unknown) =>
  type === 'object' ? isObject(value) : typeof value === type;

/** A list of objects with these fields. */
const listOf = (fields: Readonly<Record<string, Type>>) => (value: unknown) =>
  Array.isArray(value) &&
  value.every(
    (one) => isObject(one) && Object.entries(fields).every(([name, type]) => isOf(type)(own(one, name))),
  );

const endsOf = listOf({ key: 'string', atUs: 'number', failed: 'boolean' });

const FIELDS = {
  number: isOf('number'),
  /** An instant of our own clock, which is moved when that clock is set back. */
  instant: isOf('number'),
  /** The same, since when something lasts: `for` counts from it. It is also moved when that clock is set ahead. */
  since: isOf('number'),
  text: isOf('string'),
  'text or absent': (value: unknown) => value === undefined || typeof value === 'string',
  flag: isOf('boolean'),
  numbers: (value: unknown) => Array.isArray(value) && value.every(isOf('number')),
  /** Waiting events. */
  events: listOf({
    ...{ key: 'string', message: 'string', occurredAtUs: 'number', observedAtUs: 'number' },
    attributes: 'object',
  }),
  /** How Flights ended; may be absent. */
  ends: (value: unknown) => value === undefined || endsOf(value),
  /** Flights that wait, and since when. */
  waits: listOf({ flightId: 'string', startedAtUs: 'number', sinceUs: 'number' }),
};

/** The fields of what a kind remembers. */
type Remembered = Readonly<Record<string, keyof typeof FIELDS>>;

/** Whether `memory` has the fields that a kind remembers; always false for a kind that remembers nothing. */
export function isMemoryOf(remembered: Remembered | undefined, memory: unknown): boolean {
  if (remembered === undefined || !isObject(memory)) return false;
  return Object.entries(remembered).every(([name, field]) => FIELDS[field](own(memory, name)));
}

/** The memory with the instants of our own clock that are of these sorts changed by `move`. */
export function withInstants(
  remembered: Remembered | undefined,
  memory: unknown,
  move: (us: number) => number,
  sorts: readonly (keyof typeof FIELDS)[] = ['instant', 'since'],
): unknown {
  if (remembered === undefined || !isMemoryOf(remembered, memory)) return memory;
  const instants = Object.keys(remembered).filter((name) => sorts.includes(remembered[name]!));
  const moved = instants.map((name) => [name, move(own(memory as object, name) as number)]);
  return { ...(memory as object), ...Object.fromEntries(moved) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
