import type { Route } from '../../routing/route.ts';
import type { Flush, FlushOf } from '../flush.ts';
import type { AlertInGroup, Group, GroupMember } from '../group.ts';

/** How groups of one sort are flushed. Each sort has its own file in this folder. */
export interface Sort {
  /** True: a group is never flushed before its instant, even when everything else is flushed at once. */
  readonly isTimed?: true;
  /**
   * True: a group notifies of what the alerts' groups of sort `route` did not. So an incident that its receiver keeps
   * is that of those groups, and if the receiver is throttled the group simply waits.
   */
  readonly gathers?: true;
  /** True: a group is deleted as soon as it has notified. */
  readonly isSpentOnceNotified?: true;
  /** True: `flush` sums up events that were left to it, and needs their number for each alert. */
  readonly sumsUp?: true;
  /**
   * The route by which a group notifies; undefined if the current configuration has none for it. `isKnown`: that
   * configuration has the group's receiver.
   */
  routeOf(group: Group, root: Route, isKnown: boolean): Route | undefined;
  /** The alerts that a flush decides on, and the members that it deletes. */
  select(inGroup: readonly AlertInGroup[]): Selection;
  /** Whether a group notifies now, of what, and what is stored of it afterwards. */
  flush(input: FlushInput): Flush;
}

interface Selection {
  readonly staying: readonly AlertInGroup[];
  readonly leaving: readonly GroupMember[];
}

interface FlushInput extends FlushOf {
  /** How many events of each alert, by id, were left to the summary. */
  readonly toSumUp: ReadonlyMap<string, number>;
}

/** How soon a gathering group that could not notify is flushed again. */
export const GATHERING_INTERVAL_MS = 60_000;

/** The route of a group that notifies its receiver once, without repeating. */
export function routeOnce(route: Route, receiver: string): Route {
  return {
    ...route,
    receiver,
    matchers: [],
    continue: false,
    routes: [],
    repeatIntervalMs: Number.POSITIVE_INFINITY,
  };
}

/** Keeps all members. */
export function selectAll(inGroup: readonly AlertInGroup[]): Selection {
  return { staying: inGroup, leaving: [] };
}
