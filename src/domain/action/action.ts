/**
 * Something that nestwatch does to the service, as opposed to what it reads and tells: it starts a Bird again.
 *
 *   proposed ◄──► planned ──► wanted ──► asked ──► done · refused · unknown
 *      └─────────────┴──► withheld
 *
 * - *planned*: a rule waits before it decides. *proposed*: it waits for people to approve; then the rule decides again.
 * - *wanted*: nothing was asked of the service yet.
 * - *asked*: committed before the request is sent, which happens once. Whoever finds it in this state after the process
 *   has died cannot know what came of it, so it becomes *unknown*, and is never asked again.
 * - *done*, *refused*, *unknown*: by the answer. The new Flight is looked for while `seeks` is set.
 * - *withheld*: a guard rail, or it was not approved in time; nothing was asked.
 *
 * A Bird has at most one action that is open.
 */
import { createHash } from 'node:crypto';
import { plainText } from '../../text/plain-text.ts';
import type { Place } from '../alert/fact.ts';
import type { Matcher } from '../matchers/matcher.ts';

export const ACTION_OUTCOMES = ['done', 'refused', 'unknown', 'withheld'] as const;
export type ActionOutcome = (typeof ACTION_OUTCOMES)[number];
/** Why a rule did not do it, in words: a guard rail, it was not approved in time, or a person did it first. */
export const GUARDS = {
  rule_gone: 'the rule was gone, fitted no more, or may not act in the region any more',
  over: 'it was over before',
  paused: 'all rules were paused',
  not_startable: 'the Bird could not be started from outside',
  at_most: 'that was done as often as at_most allows',
  in_air: 'a Flight of the Bird was in the air',
  cancelled: 'a person had cancelled its last Flight',
  changed: 'the Bird was published or activated since',
  shared_cause: 'other Birds failed with the same error',
  impaired: 'the watch was impaired',
  per_hour: 'that was done as often as per_hour allows',
  dry_run: 'dry_run is on',
  lapsed: 'it was not approved within 4 hours',
  by_hand: 'a person did it first',
} as const;
export type Guard = keyof typeof GUARDS;
type ActionState = 'planned' | 'proposed' | 'wanted' | 'asked' | ActionOutcome;

/** Instants are on our clock, unless they say otherwise, and 0 while they are not known. */
export interface Action extends Place {
  readonly id: string;
  readonly name: 'fly_again';
  readonly state: ActionState;
  /** The names of people: who wanted it, then who approved. */
  readonly by: readonly string[];
  /** The ids of the wishes that approved it, so that each counts once. */
  readonly approvedBy?: readonly string[];
  /** The rule that wanted it; empty if a person did. */
  readonly rule: string;
  /** Why it is wanted, in a person's words; may be empty. */
  readonly comment: string;
  /** Absent for a person's wish. */
  readonly plan?: Plan;
  /** The guard rail that withheld it. */
  readonly guard?: Guard;
  /** The Flight that failed; empty if none is meant. */
  readonly failedFlightId: string;
  readonly wantedAtUs: number;
  readonly askedAtUs: number;
  readonly settledAtUs: number;
  /** Why it was refused or withheld, or what is known of the answer, for people; empty if there is nothing to say. */
  readonly reason: string;
  /** Where the new Flight is looked for, by its start on the service's clock. */
  readonly seeks?: { readonly afterUs: number; readonly untilUs: number };
  readonly newFlight?: { readonly flightId: string; readonly startedAtUs: number };
}

/** A rule that starts Birds again whose alerts fit. */
export interface ActionRule {
  readonly name: string;
  readonly match: readonly Matcher[];
  readonly waitMs: number;
  /** Starts for one episode of an alert. */
  readonly atMost: number;
  /** Starts by this rule within an hour in each region. */
  readonly perHour: number;
  /** How long the first message waits for the outcome; 0 for not. */
  readonly holdMs: number;
  /** How many people have to approve. */
  readonly approvals: 0 | 1 | 2;
  readonly isDryRun: boolean;
}

/** What a rule decides by. */
export interface Plan {
  readonly alertId: string;
  /** The episode of that alert. */
  readonly alertStartsAtUs: number;
  /** Absent in what an earlier version planned. */
  readonly plannedAtUs?: number;
  readonly dueAtUs: number;
  /** 1 for the first of this episode. */
  readonly attempt: number;
  readonly atMost: number;
  readonly approvals: number;
  readonly isDryRun: boolean;
}

/** A wish that could not be asked of the service for this long is refused: nobody expects it any more. */
export const WISH_LASTS_US = 120_000_000;

export function isOpen({ state, seeks }: Action): boolean {
  return ['planned', 'proposed', 'wanted', 'asked'].includes(state) || seeks !== undefined;
}

/**
 * The last start for a failed Flight that the service did, or may have done; undefined if there is none. `ofBird`: the newest
 * first.
 */
export function startFor(failedFlightId: string, ofBird: readonly Action[]): Action | undefined {
  if (failedFlightId === '') return undefined;
  return ofBird.find(
    (one) => one.failedFlightId === failedFlightId && (one.state === 'done' || one.state === 'unknown'),
  );
}

const NAME_CODE_POINTS = 120;
const SENTENCE_CODE_POINTS = 300;

/** Why the interface cannot start a Bird, for people; undefined if it can. Status and trigger are in the service's words. */
export function whyNotStarted({
  status,
  triggerType,
  present,
}: Readonly<Record<'status' | 'triggerType', string>> & { readonly present: boolean }): string | undefined {
  if (!present) return 'The service no longer lists this Bird.';
  if (triggerType === 'manual' && status === 'active') return undefined;
  const of = plainText(triggerType === 'manual' ? status : triggerType, NAME_CODE_POINTS);
  return `${of.charAt(0).toUpperCase()}${of.slice(1)} Birds cannot be started from outside: use Fly again in the service.`;
}

const AND = new Intl.ListFormat('en-GB');

/** Who or what wanted it: `ann`, `rule app-did-not-respond`, `rule app-did-not-respond, ann and bob`. */
export function wantedBy({ by, rule }: Action): string {
  const people = by.map((name) => plainText(name, NAME_CODE_POINTS)).filter((name) => name !== '');
  const parts = [...(rule === '' ? [] : [`rule ${plainText(rule, NAME_CODE_POINTS)}`]), ...people];
  return parts.length === 0 ? 'somebody' : AND.format(parts);
}

/**
 * How it stands, as sentences. `at` writes an instant. `flight`: the new one, where its end is to be told as well; it is in
 * the air while that is 0.
 */
export function sayAction(
  action: Action,
  at: (us: number) => string,
  flight?: { readonly status: string; readonly endedAtUs: number },
): string {
  const { state, plan, wantedAtUs, askedAtUs, newFlight, seeks, comment } = action;
  const who = `by ${wantedBy(action)}`;
  const by = `${who}${plan ? ` (${plan.attempt} of ${plan.atMost})` : ''}`;
  const reason = plainText(action.reason, SENTENCE_CODE_POINTS);
  const why = comment === '' ? '' : ` Why: ${plainText(comment, SENTENCE_CODE_POINTS)}`;
  const seen = newFlight
    ? ` A Flight started at ${at(newFlight.startedAtUs)}`
    : seeks
      ? ' Its Flight is not seen yet'
      : ' No Flight was seen to start within 2 minutes';
  const end = flight?.endedAtUs
    ? `: ${plainText(flight.status, NAME_CODE_POINTS)} at ${at(flight.endedAtUs)}`
    : `.${seen}`;
  switch (state) {
    case 'planned':
      return plan?.isDryRun
        ? `Would be flown again ${by}, but for \`dry_run\`.`
        : `Will be flown again ${by}.`;
    case 'proposed':
      // Without the number of the start, which would be read as one of approvals.
      return `Waits for approval${approvers(action)} since ${at(wantedAtUs)}: to be flown again ${who}.${why}`;
    case 'wanted':
      return `Fly again was asked for at ${at(wantedAtUs)} ${by}.${why}`;
    case 'asked':
      return `The service is being asked to fly it again since ${at(askedAtUs)}, ${by}.${why}`;
    case 'done':
      return `Flown again at ${at(askedAtUs)} ${by}${end}.${why}`;
    case 'unknown':
      return `Asked at ${at(askedAtUs)} ${by}; ${reason}.${seen}${newFlight ? ', probably this one' : ''}.${why}`;
    case 'refused':
      return `Not flown again at ${at(action.settledAtUs)} ${by}: ${reason}${why}`;
    case 'withheld':
      return `Not flown again ${who}: ${reason}`;
  }
}

/** Who has yet to approve it, if that takes two. */
function approvers({ plan, by }: Action): string {
  if (plan?.approvals !== 2) return '';
  return by.length === 0 ? ' by two people' : ' by another person';
}

/** What an action that was withheld is like. `detail` is for people. */
export function withheld(guard: Guard, detail = '') {
  return { state: 'withheld', guard, reason: `${GUARDS[guard]}${detail && ` (${detail})`}.` } as const;
}

/** The id of an action: the same for the same parts, so that a wish counts once. */
export function uuidOf(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}
