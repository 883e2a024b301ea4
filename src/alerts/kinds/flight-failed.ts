/**
 * A Flight ended as failed, or so many of them within a window.
 *
 * Resolves when a Flight of the Bird succeeds that started later than the latest failed one started; or when it was
 * quiet. Flights overlap: a success that is seen before the failure of a Flight that had started earlier and ran
 * long does not excuse it. The failure is told, and the alert lasts until the next success or the quiet.
 */
import { clear, fire, remember, resolve } from '../episode.ts';
import type { Event } from '../event.ts';
import { hash64 } from '../fingerprint.ts';
import { type Kind, quietAtUs, subjectPart } from '../kind.ts';
import {
  annotate,
  birdName,
  duration,
  MAX_DESCRIPTION_LENGTH,
  placeLabels,
  placeOf,
  whereabouts,
} from '../labels.ts';
import { cap } from '../plain-text.ts';
import type { Rule } from '../rule.ts';
import { signature } from '../signature.ts';

interface Memory {
  /** Failures that do not make an alert yet: the newest, fewer than the threshold. */
  readonly waiting: readonly Event[];
  /** When the latest failed Flight of the episode started. */
  readonly failedStartUs: number;
}

const NOTHING: Memory = { waiting: [], failedStartUs: 0 };

export const flightFailed: Kind = {
  alertname: 'FlightFailed',

  topic(fact) {
    if (fact.fact !== 'event' || fact.event.type !== 'flight.failed' || fact.historic) return undefined;
    const { event } = fact;
    return {
      subject: `bird/${subjectPart(event.birdId)}`,
      labels: { ...placeLabels(event), error: signature(event.message) },
      severity: 'warning',
    };
  },

  narrow(topic, fact, rule) {
    if (fact.fact !== 'event' || rule.forEach === 'bird') return topic;
    if (rule.forEach === 'error') {
      return { ...topic, subject: `${topic.subject}/error/${hash64([topic.labels.error ?? ''])}` };
    }
    const flightId = String(fact.event.attributes.flight_id ?? '');
    return {
      ...topic,
      subject: `${topic.subject}/flight/${subjectPart(flightId)}`,
      // Without it the alerts of two Flights would have the same labels, which receivers take for one alert.
      labels: { ...topic.labels, flight_id: flightId },
    };
  },

  raise(alert, fact, { rule, labels, nowUs }) {
    if (fact.fact !== 'event') return undefined;
    const memory = (alert.memory as Memory | null) ?? NOTHING;
    const renews = alert.state === 'firing';
    const counted = renews ? [fact.event] : withinWindow([...memory.waiting, fact.event], rule);
    if (!renews && counted.length < rule.threshold) {
      const forgetAtUs = fact.event.observedAtUs + rule.windowMs * 1000;
      return remember(alert, { ...NOTHING, waiting: counted.map(shortened) }, forgetAtUs, nowUs);
    }
    const startsUs = counted.map(startOf);
    return fire(
      alert,
      {
        startsAtUs: counted[0]!.occurredAtUs,
        labels,
        annotations: annotate(rule, summary(fact.event, rule), fact.event.message),
        events: counted,
        memory: { waiting: [], failedStartUs: Math.max(memory.failedStartUs, ...startsUs) } satisfies Memory,
        dueAtUs: quietAtUs(rule, fact.event.observedAtUs),
      },
      nowUs,
    );
  },

  observe(alert, fact, { nowUs }) {
    if (fact.fact === 'bird_vanished') return clear(alert, fact.readAtUs, 'the Bird is gone', nowUs);
    if (alert.state !== 'firing' || fact.fact !== 'event' || fact.event.type !== 'flight.succeeded')
      return undefined;
    const memory = (alert.memory as Memory | null) ?? NOTHING;
    if (startOf(fact.event) <= memory.failedStartUs) return undefined;
    return resolve(alert, fact.event.occurredAtUs, fact.event.key, nowUs);
  },

  tick(alert, { rule, nowUs }) {
    if (alert.state !== 'firing') return remember(alert, null, null, nowUs);
    return resolve(
      alert,
      alert.dueAtUs ?? nowUs,
      `no further failure for ${duration(rule.resolveAfterMs ?? 0)}`,
      nowUs,
    );
  },
};

/** The newest failures, as many as the threshold, that occurred within a window of the newest; oldest first. */
function withinWindow(events: readonly Event[], { windowMs, threshold }: Rule): readonly Event[] {
  const sorted = events.toSorted((a, b) => a.occurredAtUs - b.occurredAtUs);
  const sinceUs = sorted.at(-1)!.occurredAtUs - windowMs * 1000;
  return sorted.filter((event) => event.occurredAtUs >= sinceUs).slice(-threshold);
}

/** When the Flight started; where the service does not say, as near before its end as is known. */
function startOf({ attributes, occurredAtUs }: Event): number {
  if (typeof attributes.started_at_us === 'number') return attributes.started_at_us;
  const seconds = attributes.duration_seconds;
  return occurredAtUs - (typeof seconds === 'number' ? seconds * 1_000_000 : 0);
}

/** What waits in memory needs no whole stack trace: the event itself is in the store. */
function shortened(event: Event): Event {
  return { ...event, message: cap(event.message, MAX_DESCRIPTION_LENGTH) };
}

function summary(event: Event, { threshold, windowMs }: Rule): string {
  const place = placeOf(event);
  const what = `${birdName(place)} failed`;
  if (threshold === 1) return `Flight of ${what} ${whereabouts(place)}`;
  return `${threshold} or more Flights of ${what} within ${duration(windowMs)} ${whereabouts(place)}`;
}
