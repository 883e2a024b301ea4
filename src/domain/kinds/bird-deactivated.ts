/**
 * A Bird stopped being active: the service says so in a notification or the Bird's log, or the inventory saw it.
 *
 * All facts about one deactivation belong to one alert. What the service did itself is critical. `Deactivated` with an
 * initiator was done by a person, and a Bird that was only seen to leave `active`, or `FlowSuspended`, may have been: both
 * are a warning. `Suspended` in
 * the Bird's log is always a person's action: it fires nothing by itself (the change of status does), but explains an
 * alert that fires.
 *
 * An alert that ended because the Bird was no longer watched fires again, with its severity, if the Bird is still off
 * when it is watched again.
 *
 * Resolves when the Bird is seen active again: by a reading that began after the newest of these facts was observed,
 * once a reading has seen it inactive. The service's messages may come before the status changes, and the
 * specification does not say which status follows. So a Bird that was never seen inactive counts as active only after
 * a reading that began `SETTLED_US` later. Also resolves when its log has a later activation, or when the Bird is
 * gone.
 */

import { dayAndTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { type Alert, type Change, fire, remember, resolve } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import { birdOf, type FactOf, type SwitchedOff } from '../alert/fact.ts';
import { annotate, birdName, placeOf, whereabouts } from '../alert/labels.ts';
import { lasting } from '../alert/rule.ts';
import { birdTopic, type Context, defineKind, endVanished, PLACE_LABELS } from './kind.ts';

interface Memory {
  /** When the newest fact of the episode was observed, by our clock. */
  readonly seenUs: number;
  /** When it occurred, by the service's clock. */
  readonly occurredUs: number;
  /** Whether a reading has seen the Bird inactive since the episode began. */
  readonly wasInactive: boolean;
}

/** After this long, the status that is read is the one that followed the deactivation. */
const SETTLED_US = 10 * 60 * 1_000_000;

/** The mail address of a person. */
const MAX_INITIATOR_LENGTH = 120;

const SEVERITY: ReadonlyMap<string, 'warning' | 'critical'> = new Map([
  ['notification.FlowDeactivated', 'critical'],
  ['notification.FlowSuspended', 'warning'],
  ['bird_log.Deactivated', 'critical'],
]);

/** Types of events that may say that a Bird was deactivated. */
export const DEACTIVATIONS: readonly string[] = [...SEVERITY.keys()];

/** True for an event that says that a Bird was deactivated and identifies the Bird. */
export function isDeactivation(event: Event): boolean {
  return SEVERITY.has(event.type) && birdOf(event) !== '';
}

/** True for a deactivation that the service did itself, as far as it says who did it. */
export function isByService(event: Event): boolean {
  return SEVERITY.get(event.type) === 'critical' && initiatorOf(event) === '';
}

function initiatorOf({ attributes }: Event): string {
  return plainText(String(attributes.initiator ?? ''), MAX_INITIATOR_LENGTH).trim();
}

function byWords(event: Event): string {
  const initiator = initiatorOf(event);
  return initiator === '' ? '' : ` by ${initiator}`;
}

/** The types of the Bird's log that switch it on and off. */
export const SWITCHES: readonly string[] = [
  'bird_log.Suspended',
  'bird_log.Deactivated',
  'bird_log.Activated',
];

/** What the newest of these events says; undefined if that it is on. */
export function switchedOffBy(event: Event | undefined): SwitchedOff | undefined {
  if (!event || event.type === 'bird_log.Activated') return undefined;
  const status = event.type === 'bird_log.Deactivated' ? 'deactivated' : 'suspended';
  return { status, atUs: event.occurredAtUs, by: initiatorOf(event) };
}

export const birdDeactivated = defineKind({
  name: 'BirdDeactivated',
  fires: 'the service or a person deactivated or suspended the Bird',
  resolves: 'the Bird is seen `active` again',
  words: {
    firing: 'Bird deactivated',
    still: 'Bird still deactivated',
    over: 'Bird active again',
    superseded: 'Deactivated by the service',
    // The service reports one deactivation in more than one place, so the number of events means nothing.
    events: null,
  },
  runbook: {
    look: "the Bird's log says who or what did it; an earlier `BirdTriggerFailing` names the failing trigger.",
    act: 'fix the trigger and activate the Bird. If it was intended, acknowledge the alert or silence the Bird.',
  },
  parameters: lasting(),
  severities: ['warning', 'critical'],
  labels: PLACE_LABELS,
  isResolvableByHand: () => true,
  remembers: { seenUs: 'instant', occurredUs: 'number', wasInactive: 'flag' },

  raisedBy: ['event', 'bird_status'],
  observes: ['event', 'bird_status', 'bird_vanished'],
  eventTypes: [...DEACTIVATIONS, 'bird_log.Activated', 'bird_log.Suspended'],

  topic(fact) {
    if (fact.fact === 'event') {
      if (!isDeactivation(fact.event)) return undefined;
      // History counts only if the state is still the same.
      if (fact.historic && (fact.birdStatus === undefined || fact.birdStatus === 'active')) return undefined;
      return {
        ...birdTopic(placeOf(fact.event)),
        severity: isByService(fact.event) ? 'critical' : 'warning',
      };
    }
    const { place, status, previous, endedUnwatched } = fact;
    if (status === 'active' || (previous !== 'active' && endedUnwatched === undefined)) return undefined;
    return { ...birdTopic(place), severity: endedUnwatched === 'critical' ? 'critical' : 'warning' };
  },

  raise(alert, fact, context) {
    return fact.fact === 'event' ? reported(alert, fact, context) : leftActive(alert, fact, context);
  },

  observe(alert, fact, context) {
    const { nowUs } = context;
    if (fact.fact === 'bird_vanished') return endVanished(alert, fact, nowUs);
    if (alert.state !== 'firing') return undefined;
    const memory = memoryOf(alert);
    if (fact.fact === 'bird_status') {
      if (fact.status !== 'active') {
        if (memory.wasInactive) return undefined;
        return remember(alert, { ...memory, wasInactive: true }, null, nowUs);
      }
      const settledUs = memory.seenUs + (memory.wasInactive ? 0 : SETTLED_US);
      if (fact.readAtUs <= settledUs) return undefined;
      return resolve(alert, fact.readAtUs, 'the Bird was seen active again', nowUs);
    }
    const { type, occurredAtUs } = fact.event;
    if (type === 'bird_log.Activated' && occurredAtUs > memory.occurredUs) {
      const by = `the Bird was activated${byWords(fact.event)} on ${dayAndTime(occurredAtUs)}`;
      return resolve(alert, occurredAtUs, by, nowUs);
    }
    return type === 'bird_log.Suspended' && !fact.historic ? reported(alert, fact, context) : undefined;
  },
});

/** An event says that the Bird was deactivated, for the first time or again. */
function reported(alert: Alert, fact: FactOf<'event'>, { rule, labels, nowUs }: Context): Change {
  const { event } = fact;
  const place = placeOf(event);
  const by = byWords(event);
  const done = event.type === 'bird_log.Deactivated' ? 'deactivated' : 'suspended';
  const summary = isByService(event)
    ? `The service deactivated ${birdName(place)} ${whereabouts(place)}`
    : `${birdName(place)} ${whereabouts(place)} was ${done}${by}`;
  const message = event.message || alert.annotations.description || '';
  const renewed = alert.state === 'firing';
  return fire(
    alert,
    {
      startsAtUs: event.occurredAtUs,
      labels,
      annotations: annotate(
        { rule, labels },
        (!by && renewed && alert.annotations.summary) || summary,
        message,
      ),
      events: fact.historic ? [] : [event],
      memory: newest(alert, {
        seenUs: event.observedAtUs,
        occurredUs: event.occurredAtUs,
        // Historic facts raise an alert only for a Bird that was seen inactive. What is told late, of a Bird that was
        // active again since, needs no time to show in its status.
        wasInactive: fact.historic || (alert.state === 'resolved' && event.occurredAtUs <= alert.endsAtUs),
      }),
      dueAtUs: null,
    },
    nowUs,
  );
}

/** The inventory saw the Bird leave `active`, or that it is still off. An alert that already fires only needs the instant. */
function leftActive(
  alert: Alert,
  { place, status, previous, readAtUs }: FactOf<'bird_status'>,
  { rule, labels, nowUs }: Context,
): Change {
  const change = previous === 'active' ? 'no longer' : 'still not';
  const summary = `${birdName(place)} ${whereabouts(place)} is ${change} active: it is ${status}`;
  return fire(
    alert,
    {
      startsAtUs: readAtUs,
      labels,
      annotations: alert.state === 'firing' ? alert.annotations : annotate({ rule, labels }, summary, ''),
      events: [],
      memory: newest(alert, {
        seenUs: readAtUs,
        occurredUs: alert.state === 'firing' ? 0 : readAtUs,
        wasInactive: true,
      }),
      dueAtUs: null,
    },
    nowUs,
  );
}

/** The memory of a firing alert. If it has none, the Bird counts as seen inactive when the alert was last updated. */
function memoryOf({ memory, startsAtUs, updatedAtUs }: Alert): Memory {
  return (memory as Memory | null) ?? { seenUs: updatedAtUs, occurredUs: startsAtUs, wasInactive: true };
}

function newest(alert: Alert, fact: Memory): Memory {
  const memory = alert.state === 'firing' ? memoryOf(alert) : fact;
  return {
    seenUs: Math.max(memory.seenUs, fact.seenUs),
    occurredUs: Math.max(memory.occurredUs, fact.occurredUs),
    wasInactive: memory.wasInactive || fact.wasInactive,
  };
}
