import { placeLabels } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import { rulesFor } from '../domain/evaluate/choose-rule.ts';
import { flightOverdue } from '../domain/kinds/flight-overdue.ts';
import type { BirdToJudge } from '../domain/kinds/judge.ts';
import type { TimeIntervals } from '../domain/muting/muting.ts';
import { countOutcomes, type Deadline, outcomesOf, scheduleOf } from '../domain/statistics/deadlines.ts';
import { createHistories } from './read-history.ts';
import type { Store, Transaction } from './store.ts';

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

/** Birds, and the last deadlines of each, that are counted: it is no news for people that more of them were met. */
const MOST_COUNTED = { birds: 1_000, ofEach: 1_000 };

/** How each Bird met its deadlines after `fromUs` until `toUs`, each read in its own transaction. */
export async function countDeadlines(store: Store, config: DeadlineConfig, fromUs: number, toUs: number) {
  if (!config.rules.some(({ kind }) => kind === flightOverdue.name)) return [];
  const birds = await store.transaction((tx) => tx.overdue.birdsWithDeadlines(fromUs, MOST_COUNTED.birds));
  const counted = [];
  for (const bird of birds) {
    const until = { ...bird, deadlineUs: Math.min(bird.deadlineUs, toUs) };
    const span = { afterUs: fromUs, most: MOST_COUNTED.ofEach };
    const each = await store.transaction((tx) => loadDeadlines(tx, until, config, span, toUs));
    const outcomes = countOutcomes(each.flatMap(({ last }) => last));
    if (outcomes.met + outcomes.late + outcomes.missed > 0) counted.push({ place: bird.place, ...outcomes });
  }
  return counted;
}
