/** Lists the kinds of alerts. Every other list of them is derived from this one. */
import { PLAIN_RULE, type Rule, type RuleOf, ruleId } from '../alert/rule.ts';
import { birdDeactivated } from './bird-deactivated.ts';
import { birdStale } from './bird-stale.ts';
import { birdTriggerFailing } from './bird-trigger-failing.ts';
import { connectionDisconnected } from './connection-disconnected.ts';
import { deliveryFailing } from './delivery-failing.ts';
import { eventMatched } from './event-matched.ts';
import { flightFailed } from './failures/flight-failed.ts';
import { sharedCause } from './failures/shared-cause.ts';
import { feedIncomplete } from './feed-incomplete.ts';
import { flightOverdue } from './flight-overdue.ts';
import { flightSlow } from './flight-slow.ts';
import { flightStuck } from './flight-stuck.ts';
import { flightWaiting } from './flight-waiting.ts';
import { flightsUnusual } from './flights-unusual.ts';
import { birdNotAsDeclared } from './inventory/bird-not-as-declared.ts';
import { nestWithoutOwner } from './inventory/nest-without-owner.ts';
import type { Kind } from './kind.ts';
import { objectiveBurning } from './objectives/objective-burning.ts';
import { feedBehind, regionDown, regionUnauthorized } from './region-trouble.ts';
import { schemaDrift } from './schema-drift.ts';
import { serviceNotification } from './service-notification.ts';
import { watchImpaired } from './watch-impaired.ts';

const ALL = [
  flightFailed,
  birdDeactivated,
  birdTriggerFailing,
  connectionDisconnected,
  serviceNotification,
  regionDown,
  regionUnauthorized,
  feedBehind,
  feedIncomplete,
  deliveryFailing,
  flightStuck,
  birdStale,
  schemaDrift,
  watchImpaired,
  flightOverdue,
  flightSlow,
  flightsUnusual,
  flightWaiting,
  eventMatched,
  objectiveBurning,
  birdNotAsDeclared,
  nestWithoutOwner,
  sharedCause,
] as const;

export type AlertKind = (typeof ALL)[number]['name'];

export const KINDS: readonly Kind<AlertKind>[] = ALL;
export const ALERT_KINDS: readonly AlertKind[] = KINDS.map(({ name }) => name);

const BY_NAME: ReadonlyMap<string, Kind<AlertKind>> = new Map(KINDS.map((kind) => [kind.name, kind]));

/** Undefined for a name that no kind has, such as that of a stored alert of another version. */
export function kindOf(name: string): Kind<AlertKind> | undefined {
  return BY_NAME.get(name);
}

/** Whether it says what happened at an instant, and goes on for no time. */
export function isMoment({ alertname }: { readonly alertname: string }): boolean {
  return kindOf(alertname)?.words.isMoment === true;
}

/** A rule of the kind with this name, with its parameters. */
export type RuleNamed<Name extends string> = Name extends AlertKind
  ? RuleOf<Extract<(typeof ALL)[number], { readonly name: Name }>['parameters']>
  : Rule;

/** The rule that applies after a kind's configured ones; a plain one for a name that no kind has. */
export function defaultRule<Name extends string>(name: Name): RuleNamed<Name> {
  const parameters = Object.entries(kindOf(name)?.parameters ?? {});
  const defaults = Object.fromEntries(parameters.map(([field, parameter]) => [field, parameter.default]));
  const rule: Rule = { id: ruleId(name, []), kind: name, match: [], ...PLAIN_RULE, ...defaults };
  return rule as RuleNamed<Name>;
}

/** The rules that apply after the configured ones: one of each kind that needs not be asked for. */
export const DEFAULT_RULES: readonly Rule[] = KINDS.filter(({ isOnRequest }) => !isOnRequest).map(
  ({ name }) => defaultRule(name),
);
