/** Finds out why an event belongs to no alert, as facts that each language can word. */
import type { Alert } from '../domain/alert/alert.ts';
import { BEFORE_WATCH, type Event, NEST_EXCLUDED } from '../domain/alert/event.ts';
import { nameOfRule, type Rule } from '../domain/alert/rule.ts';
import type { rulesConcerning } from '../domain/evaluate/choose-rule.ts';
import { asKindSees } from '../domain/evaluate/flapping.ts';
import { kindOf } from '../domain/kinds/kinds.ts';
import { dayAndTime, durationWords } from '../text/instant-words.ts';

type NoAlert =
  | { readonly why: 'nest_excluded' }
  | { readonly why: 'no_kind'; readonly type: string }
  | { readonly why: 'no_rule'; readonly kinds: string }
  /** `lasting` is the alert for a state that still held when nestwatch began to watch. */
  | {
      readonly why: 'past';
      /** What was not watched yet when it happened. */
      readonly of: 'region' | 'Bird';
      readonly lasting: { readonly alertname: string; readonly id: string } | undefined;
    }
  | { readonly why: 'not_fired'; readonly each: readonly NotFired[] };

/** A rule that decided about the event without firing; `forMs` is the rule's `for`. */
interface NotFired {
  readonly kind: string;
  readonly forMs: number;
  /** When the alert will fire unless the cause ends first; undefined if no time is set. */
  readonly firesAtUs: number | undefined;
  /** Whether the event counts towards its rule's threshold, which is not reached yet. */
  readonly isCounted: boolean;
  /** Otherwise, what may have kept it from firing. */
  readonly reasons: readonly ('threshold' | 'start_unknown' | 'too_short' | 'over')[];
}

type Decisions = ReturnType<typeof rulesConcerning>;

interface Known {
  /** Alerts that have the event and are still waiting for their `for`. */
  readonly awaiting: readonly Alert[];
  readonly ofScope: readonly Alert[];
  readonly rules: readonly Rule[];
}

export function whyNoAlert(event: Event, isHistoric: boolean, decisions: Decisions, known: Known): NoAlert {
  const { ofScope, rules } = known;
  if (event.attributes[NEST_EXCLUDED] === true) return { why: 'nest_excluded' };
  if (decisions.length === 0) return { why: 'no_kind', type: event.type };
  const decided = decisions.flatMap(({ rule }) => (rule === null ? [] : [rules[rule]!]));
  if (decided.length === 0) return { why: 'no_rule', kinds: decisions.map(({ kind }) => kind).join(', ') };
  if (isHistoric) {
    const of = event.attributes[BEFORE_WATCH] === true ? 'Bird' : 'region';
    return { why: 'past', of, lasting: lastingOf(event, decisions, ofScope) };
  }
  return { why: 'not_fired', each: decided.map((rule) => whyNotFired(event, rule, known)) };
}

/** The rules of kinds of which every rule decides, and that count an event although it is part of another alert. */
export function alsoCounted(
  event: Event,
  isHistoric: boolean,
  decisions: Decisions,
  known: Known,
): NoAlert | null {
  const each = decisions
    .filter(({ kind, rule }) => rule !== null && kindOf(kind)?.isOnRequest && !isHistoric)
    .map(({ rule }) => whyNotFired(event, known.rules[rule!]!, known))
    .filter(({ isCounted }) => isCounted);
  return each.length > 0 ? { why: 'not_fired', each } : null;
}

/** Historic events raise no alerts, but a state that lasted until nestwatch began to watch does. */
function lastingOf({ occurredAtUs }: Event, decisions: Decisions, ofScope: readonly Alert[]) {
  const lasting = ofScope.find(
    ({ alertname, startsAtUs, endsAtUs }) =>
      decisions.some(({ kind }) => kind === alertname) &&
      startsAtUs > 0 &&
      startsAtUs <= occurredAtUs &&
      (endsAtUs === 0 || endsAtUs >= occurredAtUs),
  );
  return lasting && { alertname: lasting.alertname, id: lasting.id };
}

/** Why no alert of this rule's kind contains the event. */
function whyNotFired({ key, feed, attributes }: Event, rule: Rule, { awaiting, ofScope }: Known): NotFired {
  const { kind, forMs } = rule;
  const { counting, isOnRequest } = kindOf(kind) ?? {};
  const isOwn = (one: Alert) => one.alertname === kind && (!isOnRequest || one.rule === rule.id);
  const own = ofScope.filter(isOwn);
  const awaits = awaiting.find(isOwn)?.flapping?.awaits;
  const name = isOnRequest && nameOfRule(rule);
  const isCounted = own.some(
    (alert) =>
      asKindSees(alert).state !== 'firing' && counting?.waiting(alert).some((waiting) => waiting.key === key),
  );
  return {
    kind: name ? `${kind} (rule ${name})` : kind,
    forMs,
    firesAtUs: awaits && awaits.sinceUs + forMs * 1000,
    isCounted,
    reasons: [
      ...(counting?.asksForSeveral(rule) ? (['threshold'] as const) : []),
      ...(feed === 'flight' && attributes.started_at === undefined ? (['start_unknown'] as const) : []),
      forMs > 0 ? 'too_short' : 'over',
    ],
  };
}

/** The explanation in English, as the API and commands give it. */
export function sayNoAlert(noAlert: NoAlert, instant: (us: number) => string = dayAndTime): string {
  switch (noAlert.why) {
    case 'nest_excluded':
      return 'Its Nest is not watched: `nests.include` and `exclude` of the region leave it out.';
    case 'no_kind': {
      const none = `No kind of alert is raised by ${noAlert.type}.`;
      const isOfLog = noAlert.type.startsWith('bird_log.');
      return isOfLog
        ? `${none} Such entries are read each \`poll.max_interval\` if requests are scarce.`
        : none;
    }
    case 'no_rule':
      return `No rule for ${noAlert.kinds} matches it.`;
    case 'past': {
      const { of, lasting } = noAlert;
      const past = `It happened before nestwatch first watched the ${of}`;
      return lasting
        ? `${past}, so no alert lists it; but what it says still held then, and ${lasting.alertname} says that (${lasting.id}).`
        : `${past}: what is past raises no alert.`;
    }
    case 'not_fired':
      return noAlert.each.map((one) => sayNotFired(one, instant)).join(' ');
  }
}

function sayNotFired(
  { kind, forMs, firesAtUs, isCounted, reasons }: NotFired,
  instant: (us: number) => string,
): string {
  const lasted = `lasted for ${durationWords(forMs, 'exact')}, as \`for\` of its rule asks`;
  if (firesAtUs !== undefined) {
    return `${kind} fires on ${instant(firesAtUs)}, when this has ${lasted}, unless it is over before.`;
  }
  if (isCounted) {
    const also = forMs > 0 ? ` and it has ${lasted}` : '';
    return `It is counted for ${kind}, which fires when the threshold of its rule is reached${also}.`;
  }
  const why = {
    threshold: 'the threshold of its rule was not reached',
    start_unknown:
      'the service does not say when it started, so that it may be older than the watch of its region',
    too_short: `it was over before it had ${lasted}`,
    over: 'what came later had ended it already',
  };
  return `${kind} did not fire for it: ${reasons.map((reason) => why[reason]).join(', or ')}.`;
}
