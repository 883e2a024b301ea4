/**
 * A Bird's trigger fails repeatedly: EventErrors in its log, in a row. After five the service deactivates the Bird,
 * so this alert is an early warning.
 *
 * A row ends when a Flight started, the Bird was published or activated, or it was deactivated (BirdDeactivated takes
 * over). Only EventErrors after that count. The alert resolves when no EventError of the row is left, or after
 * `resolve_after`. EventErrors that stay below the threshold are forgotten after the same time.
 */

import { dayAndTime } from '../../text/instant-words.ts';
import { type Alert, type Change, clear, type Ending, fire, remember, waitingEvent } from '../alert/alert.ts';
import { signature } from '../alert/error-signature.ts';
import type { Event } from '../alert/event.ts';
import type { FactOf } from '../alert/fact.ts';
import { annotate, birdName, placeLabels, whereabouts } from '../alert/labels.ts';
import { lasting, type Parameters, resolvedAfter } from '../alert/rule.ts';
import { DEACTIVATIONS, isByService, isDeactivation } from './bird-deactivated.ts';
import {
  type Context,
  defineKind,
  endQuiet,
  endVanished,
  PLACE_LABELS,
  quietAtUs,
  subjectPart,
} from './kind.ts';

interface Memory {
  /** When the EventErrors of the row occurred, oldest first; only the newest if there are many. */
  readonly errorsUs: readonly number[];
  /** EventErrors that belong to no episode yet. */
  readonly waiting: readonly Event[];
  /** When the newest was observed. */
  readonly seenUs: number;
  /** When the previous row ended; 0 if unknown. */
  readonly endedUs: number;
}

const NOTHING: Memory = { errorsUs: [], waiting: [], seenUs: 0, endedUs: 0 };

/** The service deactivates a Bird whose trigger failed this often in a row. */
const DEACTIVATED_AFTER = 5;
/** Events that end a row, and what they say was done to the Bird. */
const RESTARTS: ReadonlyMap<string, string> = new Map([
  ['bird_log.Published', 'published'],
  ['bird_log.Activated', 'activated'],
]);
/** For these events, the kind needs to know when the Bird's previous Flight started. */
export const TRIGGER_FAILED = 'bird_log.EventError';
/** The largest threshold that a rule can set. */
const MAX_REMEMBERED = 100;

const PARAMETERS = {
  threshold: {
    type: 'count',
    least: 1,
    most: MAX_REMEMBERED,
    default: 2,
    description: 'Failed triggers in a row; at 5 the service deactivates the Bird.',
  },
  ...lasting(),
  ...resolvedAfter(7_200_000),
} as const satisfies Parameters;

export const birdTriggerFailing = defineKind({
  name: 'BirdTriggerFailing',
  fires: "the Bird's trigger failed `threshold` times in a row; at 5 the service deactivates the Bird",
  resolves: 'a Flight starts, or there was no new failure for `resolve_after`',
  words: {
    firing: 'Trigger failing',
    still: 'Trigger still failing',
    over: 'Trigger no longer failing',
    quiet: 'No new trigger failures',
    superseded: 'Deactivated after trigger failures',
    events: 'failure',
  },
  runbook: {
    look: 'the message, most often a connection that expired or a system that does not answer.',
    act: 'fix it before the fifth failure; the alert shows the count.',
  },
  parameters: PARAMETERS,
  severities: ['warning'],
  labels: [...PLACE_LABELS, 'error'],
  supersededBy: 'BirdDeactivated',
  isResolvableByHand: () => true,
  counting: {
    asksForSeveral: ({ threshold }) => threshold > 1,
    waiting: ({ memory }) => (memory as Memory | null)?.waiting ?? [],
  },
  remembers: { errorsUs: 'numbers', waiting: 'events', seenUs: 'instant', endedUs: 'number' },

  raisedBy: ['event'],
  observes: ['flight_started', 'bird_vanished', 'bird_status', 'event'],
  eventTypes: [TRIGGER_FAILED, ...RESTARTS.keys(), ...DEACTIVATIONS],

  topic({ event }) {
    if (event.type !== TRIGGER_FAILED) return undefined;
    return {
      subject: `bird/${subjectPart(event.birdId)}`,
      labels: { ...placeLabels(event), error: signature(event.message) },
    };
  },

  raise(alert, fact, context) {
    const { event, historic, flightBeforeUs = 0 } = fact;
    const { rule, labels, nowUs } = context;
    // The Flight that ends a row may have been seen before the row's EventErrors.
    const memory = since((alert.memory as Memory | null) ?? NOTHING, flightBeforeUs);
    const quietUs = quietAtUs(rule, historic ? event.occurredAtUs : event.observedAtUs);
    const isPast = historic && quietUs !== null && quietUs <= nowUs;
    if (isPast || event.occurredAtUs <= memory.endedUs) return undefined;
    const errorsUs = [...memory.errorsUs, event.occurredAtUs]
      .toSorted((a, b) => a - b)
      .slice(-MAX_REMEMBERED);
    // Historic EventErrors are counted but do not join the alert: nobody is notified of them.
    const waiting = [...memory.waiting, ...(historic ? [] : [event])];
    const next: Memory = {
      ...memory,
      errorsUs,
      seenUs: Math.max(memory.seenUs, event.observedAtUs),
      waiting: [],
    };
    const dueAtUs = latest(alert.dueAtUs, quietUs);
    if (alert.state !== 'firing' && errorsUs.length < rule.threshold) {
      const kept = waiting.slice(-MAX_REMEMBERED).map(waitingEvent);
      return remember(alert, { ...next, waiting: kept }, dueAtUs, nowUs);
    }
    return fire(
      alert,
      {
        startsAtUs: errorsUs[0]!,
        labels,
        annotations: annotate({ rule, labels }, summary(event, errorsUs.length), event.message),
        events: waiting,
        memory: next,
        dueAtUs,
      },
      nowUs,
    );
  },

  observe(alert, fact, context) {
    switch (fact.fact) {
      case 'flight_started':
        return endRow(
          alert,
          fact.startedAtUs,
          () => `a Flight started on ${dayAndTime(fact.startedAtUs)}`,
          context,
        );
      case 'bird_vanished':
        return endVanished(alert, fact, context.nowUs);
      case 'bird_status':
        return seenInactive(alert, fact, context);
      case 'event':
        return endOfRow(alert, fact.event, context);
    }
  },

  tick(alert, context) {
    if (alert.state !== 'firing') return remember(alert, null, null, context.nowUs);
    return endQuiet(alert, 'the trigger did not fail', context);
  },
});

/** What is left of the row after another one began at an instant. */
function since(memory: Memory, endedUs: number): Memory {
  if (endedUs <= memory.endedUs) return memory;
  const errorsUs = memory.errorsUs.filter((us) => us > endedUs);
  const waiting = memory.waiting.filter(({ occurredAtUs }) => occurredAtUs > endedUs);
  return { ...memory, errorsUs, waiting, endedUs };
}

function endOfRow(alert: Alert, event: Event, context: Context): Change | undefined {
  if (isDeactivation(event)) {
    const by = () => (isByService(event) ? 'the service deactivated the Bird' : 'the Bird was switched off');
    return endRow(alert, event.occurredAtUs, by, context, 'superseded');
  }
  const how = RESTARTS.get(event.type);
  if (how === undefined) return undefined;
  const by = () => `the Bird was ${how} on ${dayAndTime(event.occurredAtUs)}`;
  return endRow(alert, event.occurredAtUs, by, context);
}

/** Removes the EventErrors up to an instant from the row; `by` is called only if that ends it. */
function endRow(
  alert: Alert,
  atUs: number,
  by: () => string,
  { nowUs }: Context,
  ending: Ending = 'over',
): Change | undefined {
  const memory = alert.memory as Memory | null;
  if (memory === null || atUs <= memory.endedUs) return undefined;
  const left = since(memory, atUs);
  if (left.errorsUs.length === memory.errorsUs.length) return undefined;
  if (left.errorsUs.length === 0) return clear(alert, atUs, by(), nowUs, ending);
  return remember(alert, left, alert.dueAtUs, nowUs);
}

/** Readings are dated by our clock, so they are compared with when the EventErrors were observed. */
function seenInactive(
  alert: Alert,
  { status, readAtUs }: FactOf<'bird_status'>,
  { nowUs }: Context,
): Change | undefined {
  const memory = alert.memory as Memory | null;
  if (memory === null || status === 'active' || readAtUs <= memory.seenUs) return undefined;
  const by = `the Bird is no longer active: it is ${status}`;
  return clear(alert, readAtUs, by, nowUs, 'superseded');
}

function latest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? b : Math.max(a, b);
}

function summary(event: Event, inRow: number): string {
  const times = inRow === 1 ? 'once' : `${inRow} times in a row`;
  const left =
    inRow < DEACTIVATED_AFTER ? `${inRow} of ${DEACTIVATED_AFTER} before the service deactivates it` : '';
  return `The trigger of ${birdName(event)} ${whereabouts(event)} failed ${times}${left && ` (${left})`}`;
}
