/**
 * A Flight ended as failed, or so many of them within a window, in a row, or of the Bird's last ones.
 *
 * Resolves when a Flight of the Bird succeeds that started later than the latest failed one started, for a part of
 * the last ones when a success makes it less than that part; or when it was quiet. Flights overlap: a success that is
 * seen before the failure of a Flight that had started earlier and ran long does not excuse it. The failure is told,
 * and the alert lasts until the next success or the quiet.
 */

import { durationWords } from '../../text/duration-words.ts';
import { dayAndTime } from '../../text/instant-words.ts';
import type { Alert } from '../alert/alert.ts';
import { signature } from '../alert/error-signature.ts';
import type { Event } from '../alert/event.ts';
import type { FlightEnded } from '../alert/fact.ts';
import { hash64 } from '../alert/fingerprint.ts';
import { type Context, type Kind, quietAtUs, subjectPart } from '../alert/kind.ts';
import { annotate, birdName, placeLabels, placeOf, whereabouts } from '../alert/labels.ts';
import { type Change, clear, fire, remember, resolve, waitingEvent } from '../alert/lifecycle.ts';
import { isReached, latestEnds, thresholdWords, weigh } from '../alert/threshold.ts';

interface Memory {
  /** Failures that do not make an alert yet: the newest, as many as can count. */
  readonly waiting: readonly Event[];
  /** When the latest failed Flight of the episode started. */
  readonly failedStartUs: number;
  /** While it fires by a part of the last Flights: how those ended. */
  readonly ends?: readonly FlightEnded[];
}

const NOTHING: Memory = { waiting: [], failedStartUs: 0 };

/** How long failures below the threshold are remembered where nothing else says so. */
const LONGEST_WAIT_MS = 7 * 86_400_000;

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
    const { event, latestEnds: known = [] } = fact;
    const memory = (alert.memory as Memory | null) ?? NOTHING;
    const renews = alert.state === 'firing';
    const ends = [...(memory.ends ?? []), ...known];
    const { counted, isEnough } = weigh(rule, [...memory.waiting, event], ends);
    if (!renews && !isEnough) {
      const forgetMs = isCounted(rule) ? rule.windowMs : (rule.resolveAfterMs ?? LONGEST_WAIT_MS);
      const forgetAtUs = event.observedAtUs + forgetMs * 1000;
      return remember(alert, { ...NOTHING, waiting: counted.map(waitingEvent) }, forgetAtUs, nowUs);
    }
    const events = renews ? [event] : counted;
    const place = placeOf(event);
    const what = `${thresholdWords(rule, birdName(place), ends)} ${whereabouts(place)}`;
    const next: Memory = {
      waiting: [],
      failedStartUs: Math.max(memory.failedStartUs, ...events.map(startOf)),
      ...(rule.ratio && { ends: latestEnds(ends, rule.ratio.ofLast) }),
    };
    return fire(
      alert,
      {
        startsAtUs: events[0]!.occurredAtUs,
        labels,
        annotations: annotate(rule, what, event.message),
        events,
        memory: next,
        dueAtUs: quietAtUs(rule, event.observedAtUs),
      },
      nowUs,
    );
  },

  observe(alert, fact, context) {
    if (fact.fact === 'bird_vanished')
      return clear(alert, fact.readAtUs, 'the Bird is gone', context.nowUs, 'gone');
    if (fact.fact !== 'event' || fact.event.type !== 'flight.succeeded') return undefined;
    return alert.state === 'firing'
      ? recovered(alert, fact.event, context)
      : interrupted(alert, fact.event, context);
  },

  tick(alert, { rule, nowUs }) {
    if (alert.state !== 'firing') return remember(alert, null, null, nowUs);
    return resolve(
      alert,
      alert.dueAtUs ?? nowUs,
      `there was no further failure for ${durationWords(rule.resolveAfterMs ?? 0, 'exact')}`,
      nowUs,
      'quiet',
    );
  },
};

function isCounted({ consecutive, ratio }: Context['rule']): boolean {
  return consecutive === undefined && ratio === undefined;
}

/** A Flight succeeded while the alert fires. */
function recovered(alert: Alert, event: Event, { rule, nowUs }: Context): Change | undefined {
  const memory = (alert.memory as Memory | null) ?? NOTHING;
  if (rule.ratio) {
    const success = { key: event.key, atUs: event.occurredAtUs, failed: false };
    const ends = latestEnds([...(memory.ends ?? []), success], rule.ratio.ofLast);
    if (isReached(rule.ratio, ends)) return remember(alert, { ...memory, ends }, alert.dueAtUs, nowUs);
    return resolve(alert, event.occurredAtUs, successWords(event), nowUs);
  }
  if (startOf(event) <= memory.failedStartUs) return undefined;
  return resolve(alert, event.occurredAtUs, successWords(event), nowUs);
}

function successWords(event: Event): string {
  return `a Flight that started on ${dayAndTime(startOf(event))} succeeded`;
}

/** A Flight succeeded before there were enough failures in a row: those before it no longer count. */
function interrupted(alert: Alert, event: Event, { rule, nowUs }: Context): Change | undefined {
  const memory = alert.memory as Memory | null;
  if (rule.consecutive === undefined || memory === null) return undefined;
  const waiting = memory.waiting.filter((one) => one.occurredAtUs > event.occurredAtUs);
  if (waiting.length === memory.waiting.length) return undefined;
  if (waiting.length === 0) return remember(alert, null, null, nowUs);
  return remember(alert, { ...memory, waiting }, alert.dueAtUs, nowUs);
}

/** When the Flight started; where the service does not say, as near before its end as is known. */
function startOf({ attributes, occurredAtUs }: Event): number {
  if (typeof attributes.started_at_us === 'number') return attributes.started_at_us;
  const seconds = attributes.duration_seconds;
  return occurredAtUs - (typeof seconds === 'number' ? seconds * 1_000_000 : 0);
}
