/**
 * Applies `for`, `keep_firing_for` and flapping between what a kind says is true and the state of its alert.
 *
 *   over ──the kind fires──► awaits (for `for`) ──it lasted──► firing ──the kind resolves──► held ──► over
 *                              └── the kind resolves: never fired      ◄── the kind fires ──┘
 *
 * A kind sees an alert that awaits as firing, and one that is held as resolved, as if these two states did not exist.
 * An alert is held for the rule's `keep_firing_for`, or, while it flaps, until it has been over for the rule's calm.
 * It flaps if it fires with one change too many within the rule's window. Events that come while it is held still
 * join it, so nothing is lost.
 *
 * The events of an alert that awaits are linked to it with numbers above its `lastSeq`, which nobody reads. Once it
 * fires, they are the first events of the episode. If it ends before, the next events get the same numbers.
 */
import { durationWords } from '../../text/instant-words.ts';
import type { Alert, Change, FlappingState, Labels } from '../alert/alert.ts';
import type { Rule } from '../alert/rule.ts';

interface FlappingContext {
  readonly rule: Rule;
  readonly nowUs: number;
  /** Set if it takes over from an alert that has been true since then. */
  readonly sinceUs?: number | undefined;
  /** Ends without being held, for example because another alert takes over. */
  readonly atOnce?: boolean;
}

/** The alert as its kind should see it. */
export function asKindSees(alert: Alert): Alert {
  const { awaits, held } = alert.flapping ?? {};
  if (awaits) {
    const { startsAtUs, labels, annotations, dueAtUs } = awaits;
    return { ...alert, state: 'firing', startsAtUs, endsAtUs: 0, labels, annotations, dueAtUs };
  }
  if (held) return { ...alert, state: 'resolved', endsAtUs: held.endsAtUs, dueAtUs: held.dueAtUs };
  return alert;
}

/** Since when an alert that its kind sees as firing has been true. */
export function trueSinceUs(alert: Alert): number {
  return alert.flapping?.awaits?.sinceUs ?? alert.startsAtUs;
}

/** The `seq` of the last event linked to it, including events linked while it awaits. */
export function lastLinkedSeq({ lastSeq, flapping }: Alert): number {
  return lastSeq + (flapping?.awaits?.eventsTotal ?? 0);
}

/** What becomes of an alert when its kind makes `change` of what it sees. */
export function applyFlapping(alert: Alert, change: Change, context: FlappingContext): Change {
  if (change.alert.state === 'firing') {
    return alert.state === 'firing' ? goOn(alert, change, context) : begin(alert, change, context);
  }
  if (asKindSees(alert).state === 'firing') {
    return alert.state === 'firing' ? end(alert, change.alert, context) : neverFired(alert, context.nowUs);
  }
  const { memory, dueAtUs } = change.alert;
  const held = alert.flapping?.held;
  if (!held || !alert.flapping) return change;
  const flapping: FlappingState = { ...alert.flapping, held: { ...held, dueAtUs } };
  return quietly({ ...alert, memory, flapping, dueAtUs: earliest(held.untilUs, dueAtUs) }, context.nowUs);
}

/** What time does to an alert that awaits or is held; undefined if it is the kind's turn. */
export function flappingTick(alert: Alert, context: FlappingContext): Change | undefined {
  const { awaits, held } = alert.flapping ?? {};
  const { nowUs, rule } = context;
  if (held && held.untilUs <= nowUs && isFirst(held.untilUs, held.dueAtUs)) {
    return endHeld(alert, held.by, context);
  }
  if (awaits && isFirst(forOverUs(awaits.sinceUs, rule), awaits.dueAtUs)) {
    return begin(alert, { alert: asKindSees(alert), events: [] }, context);
  }
  return undefined;
}

/** Ends a held alert, as of when it was over. `by` says why, as for `resolve`; undefined if it is not held. */
export function endHeld(alert: Alert, by: string, context: FlappingContext): Change | undefined {
  const { held } = alert.flapping ?? {};
  if (!held) return undefined;
  const annotations = { ...alert.annotations, resolved_by: by };
  const { endsAtUs, dueAtUs, ending } = held;
  return over({ ...alert, annotations, endsAtUs, ending, dueAtUs }, alert.flapping, context);
}

function begin(alert: Alert, { alert: next, events }: Change, context: FlappingContext): Change {
  const { rule, nowUs } = context;
  const { changesUs = [], awaits } = alert.flapping ?? {};
  const { startsAtUs, labels, annotations, dueAtUs, memory } = next;
  // If the start lies in the future of our clock, which may be slow, it has been true since now at the latest.
  const sinceUs = awaits?.sinceUs ?? Math.min(startsAtUs, context.sinceUs ?? startsAtUs, nowUs);
  const eventsTotal = (awaits?.eventsTotal ?? 0) + events.length;
  const firesAtUs = forOverUs(sinceUs, rule);
  if (firesAtUs > nowUs) {
    const flapping = {
      changesUs,
      awaits: { startsAtUs, sinceUs, labels, annotations, eventsTotal, dueAtUs },
    };
    // A resolved alert keeps its labels until it fires again: people may not have been notified of its end yet.
    const own = alert.state === 'pending' ? { labels } : {};
    const waiting = { ...alert, ...own, memory, flapping, dueAtUs: earliest(firesAtUs, dueAtUs) };
    return { ...quietly(waiting, nowUs), events };
  }
  const changes = withChange(changesUs, startsAtUs, rule);
  const isFlapping = rule.flapping !== null && changes.length >= rule.flapping.changes;
  const counts = { eventsTotal, lastSeq: alert.lastSeq + eventsTotal };
  return {
    alert: {
      ...next,
      ...counts,
      annotations: isFlapping ? { ...annotations, flapping: flappingWords(rule) } : annotations,
      flapping: isFlapping ? { changesUs: changes, isFlapping: true } : { changesUs: changes },
    },
    events,
  };
}

function goOn(alert: Alert, { alert: next, events }: Change, { rule }: FlappingContext): Change {
  const { labels, startsAtUs, eventsTotal, lastSeq, flapping } = alert;
  if (!flapping) return { alert: next, events };
  const { held: _over, ...kept } = flapping;
  const annotations: Labels = kept.isFlapping
    ? { ...next.annotations, flapping: flappingWords(rule) }
    : next.annotations;
  const counts = { eventsTotal: eventsTotal + events.length, lastSeq: lastSeq + events.length };
  return { alert: { ...next, labels, startsAtUs, ...counts, annotations, flapping: kept }, events };
}

function end(alert: Alert, next: Alert, context: FlappingContext): Change {
  const { rule, nowUs, atOnce } = context;
  const flapping: FlappingState = alert.flapping ?? { changesUs: [] };
  const calmMs = flapping.isFlapping ? (rule.flapping?.calmMs ?? 0) : 0;
  const untilUs = Math.min(next.endsAtUs, nowUs) + Math.max(rule.keepFiringForMs, calmMs) * 1000;
  if (atOnce || untilUs <= nowUs) return over(next, flapping, context);
  const { endsAtUs, dueAtUs, memory, ending = 'over' } = next;
  const held = { endsAtUs, by: next.annotations.resolved_by ?? '', ending, untilUs, dueAtUs };
  return quietly(
    { ...alert, memory, flapping: { ...flapping, held }, dueAtUs: earliest(untilUs, dueAtUs) },
    nowUs,
  );
}

function over(alert: Alert, flapping: FlappingState | undefined, { rule, nowUs }: FlappingContext): Change {
  const before = flapping?.isFlapping ? [] : (flapping?.changesUs ?? []);
  const changesUs = flapping?.isFlapping ? [] : withChange(before, alert.endsAtUs, rule);
  return quietly({ ...alert, state: 'resolved', flapping: { changesUs } }, nowUs);
}

function neverFired(alert: Alert, nowUs: number): Change {
  const changesUs = alert.flapping?.changesUs ?? [];
  return quietly({ ...alert, memory: null, dueAtUs: null, flapping: { changesUs } }, nowUs);
}

function quietly(alert: Alert, updatedAtUs: number): Change {
  return { alert: { ...alert, updatedAtUs }, events: [] };
}

/** The changes that count after one more. Facts may come late, so the newest instant is not always the last. */
function withChange(changesUs: readonly number[], atUs: number, { flapping }: Rule): readonly number[] {
  if (flapping === null) return [];
  const all = [...changesUs, atUs].toSorted((a, b) => a - b);
  const sinceUs = all.at(-1)! - flapping.withinMs * 1000;
  return all.filter((us) => us >= sinceUs).slice(-flapping.changes);
}

function forOverUs(sinceUs: number, { forMs }: Rule): number {
  return sinceUs + forMs * 1000;
}

function isFirst(us: number, otherUs: number | null): boolean {
  return otherUs === null || us <= otherUs;
}

function earliest(us: number, otherUs: number | null): number {
  return otherUs === null ? us : Math.min(us, otherUs);
}

function flappingWords({ flapping }: Rule): string {
  if (flapping === null) return '';
  const { changes, withinMs, calmMs } = flapping;
  const often = `it changed ${changes} times or more within ${durationWords(withinMs, 'exact')}`;
  return `${often}, so it stays open until it has been calm for ${durationWords(calmMs, 'exact')}`;
}
