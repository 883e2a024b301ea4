/**
 * The states of an alert and the ways between them, the same for every kind.
 *
 * `pending` —fire→ `firing` —resolve→ `resolved` —fire→ `firing` (the next episode) …
 *
 * While firing, `fire` renews: it adds events and new annotations, the labels stay. What a kind remembers before an
 * alert fires (again), a count below its threshold, say, is kept in `memory` of a pending or resolved alert; null
 * says that nothing is remembered. Events are joined to an alert only as part of an episode, so `lastSeq` never
 * moves without news; those of an alert that awaits its time are linked behind it (`flapping.ts`).
 */

import { cap } from '../../text/plain-text.ts';
import type { Alert, Ending, Labels } from './alert.ts';
import type { Event } from './event.ts';

/**
 * An alert's next state, and the events that it takes up: the last ones up to its `lastSeq`, or of those behind it that
 * wait with the alert.
 */
export interface Change {
  readonly alert: Alert;
  readonly events: readonly Event[];
}

interface Firing {
  /** When the state began; counts for a new episode only. */
  readonly startsAtUs: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly events: readonly Event[];
  readonly memory: unknown;
  readonly dueAtUs: number | null;
}

/** Begins an episode, or renews the one that lasts. */
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

/** Ends the episode. `by` says what ended it, for people: a clause that begins with a small letter. */
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

/** Ends the episode where there is one, and forgets what was remembered; undefined where there was neither. */
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

/** True when an alert need not be kept for its own sake: it does not fire, and nothing is remembered. */
export function isForgettable(alert: Alert): boolean {
  return alert.state !== 'firing' && alert.memory === null && alert.flapping?.awaits === undefined;
}

const MAX_WAITING_MESSAGE = 2000;

/** What waits in an alert needs no whole stack trace: the event itself is in the store. */
export function waitingEvent(event: Event): Event {
  return { ...event, message: cap(event.message, MAX_WAITING_MESSAGE) };
}
