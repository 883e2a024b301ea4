export type Severity = string;
export type Labels = Readonly<Record<string, string>>;

/** The label with this name, which may come from outside: inherited properties such as `constructor` do not count. */
export function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/**
 * `pending`: something is remembered (such as a count below its threshold), but nobody is notified. `firing`: true
 * now. `resolved`: was true; kept until every group has notified of that and `memory` is no longer needed.
 */
export type AlertState = 'pending' | 'firing' | 'resolved';

/**
 * How an episode ended; the annotation `resolved_by` says it for people. `over`: the end was observed. `quiet`:
 * nothing more was heard of it. `superseded`: it became worse, and another alert took over. `moved`: it continues
 * under other labels or another route. `gone`: what it was about no longer exists. `by_hand`: somebody resolved it.
 */
export type Ending = 'over' | 'quiet' | 'superseded' | 'moved' | 'gone' | 'by_hand';

/** One alert as the store keeps it: at most one per identity, from its first fact on. */
export interface Alert {
  /**
   * Identity: alertname, `firstRule`, region and subject, such as `FlightFailed/1d9a4c07/eu/bird/148890`, followed by
   * the severity if its kind has several. It does not change when a Bird is renamed. It is never parsed.
   */
  readonly id: string;
  /** The scope of the facts that concern it (`scopeOf`). */
  readonly scope: string;
  /** What it is about within its region (`Topic.subject`). */
  readonly subject: string;
  /** Id of the rule that judges it. */
  readonly rule: string;
  /** Id of the rule it began with; after a change of the configuration another one may judge it. */
  readonly firstRule: string;
  readonly alertname: string;
  readonly state: AlertState;
  /** Fixed while it fires, from the start of an episode until it is resolved. */
  readonly labels: Labels;
  readonly annotations: Labels;
  /** When the last episode began; 0 before the first. */
  readonly startsAtUs: number;
  /** When it ended; 0 unless resolved. */
  readonly endsAtUs: number;
  /** How the last episode ended; absent before the first end. */
  readonly ending?: Ending;
  readonly updatedAtUs: number;
  /** Events of this episode. Historic events can raise an alert but do not count. */
  readonly eventsTotal: number;
  /**
   * How many events were ever part of an episode of this identity; also the `seq` of the last one. It never
   * decreases.
   */
  readonly lastSeq: number;
  /** The kind's own memory between facts: bounded JSON; null if nothing is remembered. */
  readonly memory: unknown;
  /** When time alone may change it (`tick`); null for never. */
  readonly dueAtUs: number | null;
  /** Why its state differs from what its kind says (`flapping.ts`); absent if it does not. */
  readonly flapping?: FlappingState;
}

/** How `for`, `keep_firing_for` and flapping modify the changes that a kind asks for. */
export interface FlappingState {
  /** When it fired or resolved: the latest changes, which count for flapping. */
  readonly changesUs: readonly number[];
  /** True while it changes too often; its annotation `flapping` says so. */
  readonly isFlapping?: true;
  /** Set while it is true but has not lasted for the rule's `for` yet: what it will fire with. */
  readonly awaits?: {
    readonly startsAtUs: number;
    /** The instant from which `for` counts. */
    readonly sinceUs: number;
    readonly labels: Labels;
    readonly annotations: Labels;
    /** How many events beyond `lastSeq` are already linked to it; they become its own once it fires. */
    readonly eventsTotal: number;
    /** The kind's own `dueAtUs`. */
    readonly dueAtUs: number | null;
  };
  /** Set while it is over but fires on until `untilUs`. */
  readonly held?: {
    readonly endsAtUs: number;
    readonly by: string;
    readonly ending: Ending;
    readonly untilUs: number;
    /** The kind's own `dueAtUs`. */
    readonly dueAtUs: number | null;
  };
}
