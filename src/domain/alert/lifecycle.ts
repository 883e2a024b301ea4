/**
 * Defines the states of an alert and the transitions between them, which are the same for every kind.
 *
 * `pending` —fire→ `firing` —resolve→ `resolved` —fire→ `firing` (the next episode) …
 *
 * While an alert fires, `fire` renews it: it adds events and replaces annotations, but labels stay. What a kind
 * remembers before an alert fires (again), such as a count below its threshold, is in `memory` of a pending or
 * resolved alert; null means nothing is remembered. Events join an alert only as part of an episode, so `lastSeq`
 * never changes without news. Events of an alert that is still waiting for its `for` are linked beyond `lastSeq`
 * (`flapping.ts`).
 */

import { cap } from '../../text/plain-text.ts';
import type { Alert, Ending, Labels } from './alert.ts';
import type { Event } from './event.ts';

/**
 * An alert's next state, and the events that join it: the last ones up to its `lastSeq`, or, while it waits, the ones
 * beyond.
 */
export interface Change {
  readonly alert: Alert;
  readonly events: readonly Event[];
}

interface Firing {
  /** When the state began; used only for a new episode. */
  readonly startsAtUs: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly events: readonly Event[];
  readonly memory: unknown;
  readonly dueAtUs: number | null;
}

/** Begins an episode, or renews the current one. */
export function fire(alert: Alert, firing: Firing, nowUs: number): Change {
  const { events, annotations, memory, dueAtUs } = firing;
  const renewed = alert.state === 'firing';
  return {
    alert: {
      ...alert,
      state: 'firing',
      labels: renewed ? alert.labels : firing.labels,
      annotations,
      startsAtUs: renewed ? alert.startsAtUs : firing.startsAtUs,
      endsAtUs: 0,
      updatedAtUs: nowUs,
      eventsTotal: (renewed ? alert.eventsTotal : 0) + events.length,
      lastSeq: alert.lastSeq + events.length,
      memory,
      dueAtUs,
    },
    events,
  };
}

/** Changes what an alert remembers, and nothing that people see. */
export function remember(alert: Alert, memory: unknown, dueAtUs: number | null, nowUs: number): Change {
  return { alert: { ...alert, memory, dueAtUs, updatedAtUs: nowUs }, events: [] };
}

/** Ends the episode. `by` says for people what ended it: a clause that begins in lower case. */
export function resolve(
  alert: Alert,
  endsAtUs: number,
  by: string,
  nowUs: number,
  ending: Ending = 'over',
): Change {
  return {
    alert: {
      ...alert,
      state: 'resolved',
      annotations: { ...alert.annotations, resolved_by: by },
      endsAtUs: Math.max(endsAtUs, alert.startsAtUs),
      ending,
      updatedAtUs: nowUs,
      memory: null,
      dueAtUs: null,
    },
    events: [],
  };
}

/** Ends the current episode, if any, and clears what was remembered; undefined if there was neither. */
export function clear(
  alert: Alert,
  endsAtUs: number,
  by: string,
  nowUs: number,
  ending: Ending = 'over',
): Change | undefined {
  if (alert.state === 'firing') return resolve(alert, endsAtUs, by, nowUs, ending);
  return alert.memory === null ? undefined : remember(alert, null, null, nowUs);
}

/** True if an alert need not be kept for its own sake: it does not fire and remembers nothing. */
export function isForgettable(alert: Alert): boolean {
  return alert.state !== 'firing' && alert.memory === null && alert.flapping?.awaits === undefined;
}

const MAX_WAITING_MESSAGE = 2000;

/** An event waiting in an alert does not need its whole stack trace: the store has the full event. */
export function waitingEvent(event: Event): Event {
  return { ...event, message: cap(event.message, MAX_WAITING_MESSAGE) };
}
