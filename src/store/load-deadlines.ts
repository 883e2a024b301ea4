import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { flightOverdue } from '../domain/kinds/flight-overdue.ts';
import type { BirdToJudge } from '../domain/kinds/judge.ts';
import type { TimeIntervals } from '../domain/muting/time-interval.ts';
import { type Deadline, outcomesOf, scheduleOf } from '../domain/statistics/deadlines.ts';
import { createHistories } from './read-history.ts';
import type { Transaction } from './store.ts';

/** What determines which deadlines a Bird has, and since when its Flights are known. */
export interface DeadlineConfig {
  readonly rules: readonly Rule[];
  readonly timeIntervals: TimeIntervals;
  readonly poll: { readonly initialLookbackMs: number };
  readonly store: { readonly retentionMs: number };
}

/** The deadlines of one rule for one Bird, as rule and Flights are now. */
export interface RuleDeadlines {
  /** The rule's id. */
  readonly rule: string;
  readonly zone: string;
  /** The next one that will be judged; undefined if it is far away. */
  readonly nextUs: number | undefined;
  /** The last ones that were judged, oldest first. */
  readonly last: readonly Deadline[];
}

/** Loads the deadlines after `afterUs` of every rule that fits a Bird, at most `most` of each. */
export async function loadDeadlines(
  tx: Transaction,
  bird: BirdToJudge,
  config: DeadlineConfig,
  { afterUs, most }: { readonly afterUs: number; readonly most: number },
  nowUs: number,
): Promise<RuleDeadlines[]> {
  const rules = rulesFor(flightOverdue, placeLabels(bird.place), config.rules);
  const { timeIntervals, poll, store } = config;
  const options = { timeIntervals, flightsReadUs: () => nowUs, lookbackMs: poll.initialLookbackMs };
  const history = createHistories(tx, options)(bird);
  const knownFromUs = rules.length === 0 ? undefined : await history.knownFromUs();
  if (knownFromUs === undefined) return [];
  // Of what is older, Flights may never have been read, or are already deleted.
  const knownUs = Math.max(knownFromUs, nowUs - store.retentionMs * 1000);
  const found: RuleDeadlines[] = [];
  for (const rule of rules) {
    const schedule = scheduleOf(rule, history.isWithin);
    const due = schedule
      .between(Math.max(afterUs, knownUs, bird.joinedUs), bird.deadlineUs, most)
      .filter(({ fromUs }) => fromUs >= knownUs);
    const flights = due[0] ? await history.flightsSince(due[0].fromUs) : [];
    const { id, timezone: zone, withinMs = 0 } = rule;
    const next = schedule.after(Math.max(nowUs, knownUs + withinMs * 1000 - 1));
    const judged = next && next.fromUs < knownUs ? schedule.after(next.atUs) : next;
    found.push({ rule: id, zone, nextUs: judged?.atUs, last: outcomesOf(due, flights) });
  }
  return found;
}
