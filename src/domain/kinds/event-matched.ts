/**
 * An event that a rule asks for, whatever it is: a publish in production, a cancelled Flight, a stranger in a Nest. It is
 * a moment and no state, so nobody is told when it is over.
 */
import { durationWords, howMany } from '../../text/instant-words.ts';
import { plainText, regionName } from '../../text/plain-text.ts';
import { boundedKey, fire, remember, waitingEvent } from '../alert/alert.ts';
import { type Event, isOwnFeed } from '../alert/event.ts';
import { birdOf, birdScope, type FactOf } from '../alert/fact.ts';
import {
  annotate,
  birdName,
  EVENT_LABELS,
  entityLabels,
  eventTitle,
  labelsOfEvent,
  MATCHED_ONLY,
  placeOf,
  whereabouts,
} from '../alert/labels.ts';
import { type Parameters, type RuleOf, resolvedAfter } from '../alert/rule.ts';
import { defineKind, endQuiet, quietAtUs, subjectPart } from './kind.ts';

/** Of a type that is not known: the service may name any. */
const TYPE_CODE_POINTS = 80;

const PARAMETERS = {
  title: {
    type: 'text',
    description: 'What messages call it, such as `Changed in production`; by default what happened.',
  },
  forEach: {
    type: 'choice',
    of: ['bird', 'nest', 'region', 'initiator'],
    default: 'bird',
    description:
      'What has an alert of its own, and for what `threshold` counts. An event of no Bird counts for what it names, or for its Nest.',
  },
  threshold: {
    type: 'count',
    least: 1,
    most: 100,
    default: 1,
    description: 'Events within `window`.',
  },
  windowMs: {
    type: 'duration',
    leastMs: 1000,
    default: 600_000,
    description: 'The time within which `threshold` counts.',
  },
  ...resolvedAfter(3_600_000),
} as const satisfies Parameters;

export type EventRule = RuleOf<typeof PARAMETERS>;

/** What it remembers below the threshold. */
interface Memory {
  readonly waiting: readonly Event[];
}

export const eventMatched = defineKind({
  name: 'EventMatched',
  fires: 'a rule asks for it, and `threshold` events within `window` fit its matchers',
  resolves:
    'there was no new one for `resolve_after`; nobody is told, except where `send_resolved: true` is written',
  isOnRequest: true,
  words: { firing: 'Event', still: 'Event', over: 'Event over', events: 'event', isMoment: true },
  runbook: {
    look: 'what happened, and by whom: the event is on the page of the alert.',
    act: 'whatever the person who wrote the rule intended. The label `rule` names it.',
  },
  parameters: PARAMETERS,
  mistakes(given) {
    const match = given('match');
    if (match !== undefined && !(Array.isArray(match) && match.length === 0)) return [];
    const message = 'kind EventMatched needs at least one matcher, or it would report every event';
    return [{ key: 'match', isOfKey: false, message }];
  },
  severities: ['info'],
  labels: EVENT_LABELS,
  matchedOnly: MATCHED_ONLY,
  isResolvableByHand: () => true,
  remembers: { waiting: 'events' },
  counting: {
    asksForSeveral: ({ threshold }) => threshold > 1,
    waiting: ({ memory }) => (memory as Memory | null)?.waiting ?? [],
  },

  raisedBy: ['event_matched'],
  observes: [],

  topic: ({ event, forEach }) => ({
    subject: subjectOf(event, forEach),
    labels: labelsFor(event, forEach),
    isMatched: true,
  }),

  raise(alert, { event, forEach, others = 0 }, { rule, labels, nowUs }) {
    const renews = alert.state === 'firing';
    const waiting = [...((alert.memory as Memory | null)?.waiting ?? []), event].toSorted(
      (a, b) => a.occurredAtUs - b.occurredAtUs,
    );
    const sinceUs = waiting.at(-1)!.occurredAtUs - rule.windowMs * 1000;
    const counted = waiting.filter(({ occurredAtUs }) => occurredAtUs >= sinceUs).slice(-rule.threshold);
    if (!renews && counted.length < rule.threshold) {
      const forgetAtUs = event.observedAtUs + rule.windowMs * 1000;
      return remember(alert, { waiting: counted.map(waitingEvent) }, forgetAtUs, nowUs);
    }
    const isOwn = isOwnFeed(event.feed);
    const what = eventTitle(event.type) ?? plainText(event.type.replace(/^[a-z_]+\./, ''), TYPE_CODE_POINTS);
    const one = summary(event, forEach, what, rule);
    const said = others > 0 ? `${one}, and ${howMany(others, 'other event')} like it` : one;
    const firing = {
      startsAtUs: counted[0]!.occurredAtUs,
      labels,
      annotations: {
        title: rule.title ?? what,
        ...annotate({ rule, labels }, said, isOwn ? '' : event.message),
      },
      events: renews ? [event] : counted,
      memory: null,
      dueAtUs: quietAtUs(rule, event.observedAtUs),
    };
    return fire(alert, firing, nowUs);
  },

  tick(alert, context) {
    if (alert.state !== 'firing') return remember(alert, null, null, context.nowUs);
    return endQuiet(alert, 'it did not happen again', context);
  },
});

type ForEach = FactOf<'event_matched'>['forEach'];

/** The scope of the alert that an event belongs to: all events of the same subject share it. */
export function scopeOfMatch(event: Event, forEach: ForEach): string {
  const { region } = event;
  const birdId = birdOf(event);
  if (forEach === 'bird' && birdId) return birdScope(region, birdId);
  return forEach === 'region' ? region : boundedKey(`${region}/${subjectOf(event, forEach)}`);
}

function subjectOf(event: Event, forEach: ForEach): string {
  const { nestId, attributes } = event;
  const nest = nestId ? `nest/${subjectPart(nestId)}` : 'region';
  switch (forEach) {
    case 'bird': {
      const birdId = birdOf(event);
      const { entity_type: type, entity_id: id, entity_name: name } = entityLabels(event);
      if (birdId) return `bird/${subjectPart(birdId)}`;
      return id || name ? ['entity', type, id || name].map(subjectPart).join('/') : nest;
    }
    case 'nest':
      return nest;
    case 'region':
      return 'region';
    case 'initiator':
      return `initiator/${subjectPart(attributes.initiator)}`;
  }
}

const SHARED: Readonly<Record<ForEach, readonly string[]>> = {
  bird: EVENT_LABELS,
  nest: ['region', 'nest', 'nest_id', 'type'],
  region: ['region', 'type'],
  initiator: ['region', 'initiator', 'type'],
};

/** Only what is the same for all events of the alert, and the type of the first. */
function labelsFor(event: Event, forEach: ForEach) {
  const shared = SHARED[forEach];
  return Object.fromEntries(Object.entries(labelsOfEvent(event)).filter(([name]) => shared.includes(name)));
}

/** `Bird published: Translate blog in Marketing (EU), by editor@example.com` */
function summary(event: Event, forEach: ForEach, what: string, { threshold, windowMs }: EventRule): string {
  const place = placeOf(event);
  const initiator = String(event.attributes.initiator ?? '');
  const by = initiator && `, by ${initiator}`;
  if (threshold > 1) {
    const where = {
      bird: `of ${birdName(place)} ${whereabouts(place)}`,
      nest: whereabouts(place),
      region: `in ${regionName(place.region)}`,
      initiator: by.slice(2),
    };
    return `${threshold} or more events ${where[forEach]} within ${durationWords(windowMs, 'exact')}, the last: ${what}`;
  }
  if (isOwnFeed(event.feed)) return event.message;
  const about = place.birdId ? birdName(place) : entityLabels(event).entity_name;
  return `${what}: ${about ? `${about} ` : ''}${whereabouts(place)}${by}`;
}
