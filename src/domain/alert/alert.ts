export type Severity = string;
export type Labels = Readonly<Record<string, string>>;

/** A label by a name that may come from outside: `constructor` is none that every object has. Undefined for none. */
export function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/**
 * `pending`: something is remembered (a count below its threshold, say) but nobody is notified.
 * `firing`: true now. `resolved`: was true; kept until every group has notified that and `memory` is no longer needed.
 */
export type AlertState = 'pending' | 'firing' | 'resolved';

/**
 * How an episode ended; the annotation `resolved_by` says it for people. `over`: it was seen that it is no longer so.
 * `quiet`: nothing more was heard of it. `superseded`: it has become worse, which another alert says. `moved`: it goes
 * on under other labels, or by another route. `gone`: what it was about is not there any more. `by_hand`: somebody said that it is over.
 */
export type Ending = 'over' | 'quiet' | 'superseded' | 'moved' | 'gone' | 'by_hand';

/** One alert as the store keeps it: at most one per identity, from its first fact on. */
export interface Alert {
  /**
   * Identity: alertname, `firstRule`, region and subject, e.g. `FlightFailed/1d9a4c07/eu/bird/148890`; with the
   * severity at its end where its kind has several. Stays when a Bird is renamed. Nothing is read out of it.
   */
  readonly id: string;
  /** The scope of the facts that concern it (`scopeOf`). */
  readonly scope: string;
  /** What within its region it is about (`Topic.subject`). */
  readonly subject: string;
  /** Id of the rule that judges it. */
  readonly rule: string;
  /** Id of the rule that it began with: another one may judge it after a change of the configuration. */
  readonly firstRule: string;
  readonly alertname: string;
  readonly state: AlertState;
  /** Fixed from the moment it fires until it is resolved. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** When the last episode began; 0 before the first. */
  readonly startsAtUs: number;
  /** When it ended; 0 unless resolved. */
  readonly endsAtUs: number;
  /** Of the last episode that ended; absent before the first. */
  readonly ending?: Ending;
  readonly updatedAtUs: number;
  /** Events of this firing episode. Those of history raise an alert without being joined to it. */
  readonly eventsTotal: number;
  /** Events that were ever part of an episode of this identity; the last one's `seq`. Never falls. */
  readonly lastSeq: number;
  /** The kind's own memory between facts: JSON, bounded; null when nothing is remembered. */
  readonly memory: unknown;
  /** When time alone may change it (`tick`); null for never. */
  readonly dueAtUs: number | null;
  /** What keeps its state apart from what its kind says (`flapping.ts`); absent where there is nothing to keep. */
  readonly flapping?: FlappingState;
}

/** What `for`, `keep_firing_for` and flapping make of the changes that a kind asks for. */
export interface FlappingState {
  /** When it began to fire or was resolved: the newest changes that count for flapping. */
  readonly changesUs: readonly number[];
  /** True while it changes too often, which its annotation `flapping` says. */
  readonly isFlapping?: true;
  /** It is true, and has not lasted for the rule's `for`: what it fires with then. */
  readonly awaits?: {
    readonly startsAtUs: number;
    /** What `for` counts from. */
    readonly sinceUs: number;
    readonly labels: Labels;
    readonly annotations: Labels;
    /** So many events behind `lastSeq` are linked to it already, and are its own once it fires. */
    readonly eventsTotal: number;
    /** The kind's own. */
    readonly dueAtUs: number | null;
  };
  /** It is over, and fires on until then. */
  readonly held?: {
    readonly endsAtUs: number;
    readonly by: string;
    readonly ending: Ending;
    readonly untilUs: number;
    /** The kind's own. */
    readonly dueAtUs: number | null;
  };
}
