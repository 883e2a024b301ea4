/** Decides whether a rule may start a Bird again now: a closed list of guard rails, each with its reason for people. */
import { howMany } from '../../text/counts.ts';
import { plainText } from '../../text/plain-text.ts';
import { type ActionRule, whyNotStarted } from './action.ts';

/** What is known when a rule decides. */
export interface Seen {
  /** Whether the episode for which it was planned still lasts. */
  readonly isFiring: boolean;
  /** Who paused all rules; undefined if nobody did. */
  readonly pausedBy: string | undefined;
  readonly bird: Parameters<typeof whyNotStarted>[0] | undefined;
  /** The status of the Bird's last Flight. */
  readonly lastStatus: string;
  readonly isInAir: boolean;
  readonly isChanged: boolean;
  /** How many Birds of the region fail with the same error. */
  readonly failingAlike: number;
  /** What impairs the watch of the region; empty for nothing. */
  readonly impairedBy: string;
  /** 1 for the first of this episode. */
  readonly attempt: number;
  /** How often this rule started Birds of the region within the last hour. */
  readonly withinHour: number;
}

interface Withheld {
  readonly guard: string;
  readonly reason: string;
}

/** With so many Birds the cause is not the Bird's own. */
const SHARED_BY = 3;

export function withheldBy(rule: ActionRule | undefined, seen: Seen): Withheld | undefined {
  const { bird, attempt, withinHour, failingAlike } = seen;
  const withheld = (guard: string, reason: string) => ({ guard, reason: `${reason}.` });
  if (!rule) return withheld('rule_gone', 'the rule is no longer configured, or does not fit any more');
  if (!seen.isFiring) return withheld('over', 'it was over before');
  if (seen.pausedBy !== undefined)
    return withheld('paused', `all rules are paused by ${plainText(seen.pausedBy, 120) || 'somebody'}`);
  const why = bird ? whyNotStarted(bird) : 'The Bird is no longer known.';
  if (why !== undefined) return { guard: 'not_startable', reason: why };
  if (attempt > rule.atMost)
    return withheld('at_most', `this was done ${howMany(rule.atMost, 'time')} already, which is the most`);
  if (seen.isInAir) return withheld('in_air', 'a Flight of the Bird is in the air');
  if (seen.lastStatus === 'cancelled') return withheld('cancelled', 'a person cancelled its last Flight');
  if (seen.isChanged)
    return withheld('changed', 'the Bird was published or activated after that Flight started');
  if (failingAlike >= SHARED_BY)
    return withheld('shared_cause', `${failingAlike} Birds of the region fail with the same error`);
  if (seen.impairedBy !== '') return withheld('impaired', `the watch is impaired: ${seen.impairedBy}`);
  if (withinHour >= rule.perHour)
    return withheld(
      'per_hour',
      `the rule started ${howMany(withinHour, 'Flight')} of the region within an hour, which is the most`,
    );
  return rule.isDryRun
    ? withheld('dry_run', 'it would have been flown again now, but `dry_run` is on')
    : undefined;
}
