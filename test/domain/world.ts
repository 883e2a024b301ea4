/** A small vocabulary for stories about alerts: what happens in a Nest called Marketing, minute by minute. */
import { expect } from 'vitest';
import type { Alert } from '../../src/domain/alert/alert.ts';
import type { Event, Feed } from '../../src/domain/alert/event.ts';
import {
  type Burning,
  type Fact,
  type FactOf,
  type FlightEnded,
  type FlightTail,
  type Place,
  type RuledFact,
  scopeOf,
} from '../../src/domain/alert/fact.ts';
import { type Rule, ruleId } from '../../src/domain/alert/rule.ts';
import {
  type Decision,
  decide,
  type Link,
  rolledBackAlert,
  setAheadAlert,
  tick,
} from '../../src/domain/evaluate/decide.ts';
import { lastLinkedSeq } from '../../src/domain/evaluate/flapping.ts';
import { scopeOfMatch } from '../../src/domain/kinds/event-matched.ts';
import { subjectOfCause } from '../../src/domain/kinds/failures/shared-cause.ts';
import { ALERT_KINDS, type AlertKind, defaultRule, type RuleNamed } from '../../src/domain/kinds/kinds.ts';

const START_US = Date.UTC(2026, 6, 2, 12) * 1000;

/** The instant this many minutes after the story began. */
export function minute(minutes: number): number {
  return START_US + Math.round(minutes * 60_000_000);
}

export const MARKETING: Place = {
  region: 'eu',
  nestId: '682',
  nest: 'Marketing',
  birdId: '148890',
  bird: 'Translate blog',
};

let entries = 0;

interface EventParts {
  readonly feed: Feed;
  readonly type: string;
  readonly at: number;
  readonly seenAt?: number | undefined;
  readonly place?: Place | undefined;
  readonly message?: string | undefined;
  readonly attributes?: Event['attributes'];
  readonly key?: string;
}

function event({ feed, type, at, seenAt = at, place = MARKETING, message = '', ...rest }: EventParts): Event {
  entries += 1;
  return {
    key: rest.key ?? `${place.region}/${feed}/${String(entries).padStart(6, '0')}`,
    ...place,
    feed,
    type,
    occurredAt: new Date(minute(at) / 1000).toISOString(),
    occurredAtUs: minute(at),
    observedAtUs: minute(seenAt),
    message,
    attributes: rest.attributes ?? {},
  };
}

type EventFact = Extract<Fact, { fact: 'event' }>;

interface Seen {
  readonly seenAt?: number;
  readonly place?: Place;
  readonly message?: string;
  readonly attributes?: Event['attributes'];
  readonly historic?: boolean;
  readonly birdStatus?: string;
}

function told(parts: EventParts, { historic = false, birdStatus }: Seen): EventFact {
  return { fact: 'event', event: event(parts), historic, birdStatus };
}

/** A Flight that started at one minute and ended at another. */
export function flight(
  status: 'failed' | 'succeeded' | 'cancelled',
  {
    started,
    at,
    id = `f-${started}`,
    errorType,
    ...seen
  }: { started: number | null; at: number; id?: string; errorType?: string } & Seen,
): EventFact {
  const attributes = {
    flight_id: id,
    status,
    ...(started === null ? {} : { started_at_us: minute(started) }),
    ...(errorType !== undefined && { error_type: errorType }),
  };
  return told({ feed: 'flight', type: `flight.${status}`, at, attributes, ...seen }, seen);
}

export function birdLog(eventType: string, at: number, seen: Seen = {}): EventFact {
  return told({ feed: 'bird_log', type: `bird_log.${eventType}`, at, ...seen }, seen);
}

export function notification(
  eventType: string,
  at: number,
  { entity, ...seen }: Seen & { entity?: { type?: string; id?: string; name?: string } } = {},
): EventFact {
  const attributes = Object.fromEntries(
    Object.entries(entity ?? {}).map(([name, value]) => [`entity_${name}`, value]),
  );
  return told({ feed: 'notification', type: `notification.${eventType}`, at, attributes, ...seen }, seen);
}

/** An event that fits a rule on events. */
/** That many Birds fail with one error, which began a minute apart; the last failure is told. */
export function sharedError(
  at: number,
  birds: number,
  { error = 'Quota # of DeepL exceeded', ...seen }: Seen & { error?: string } = {},
): FactOf<'shared_error'> {
  const places = Array.from({ length: birds }, (_, index) => ({
    ...{ region: 'eu', nestId: String(index % 2), nest: `Nest ${index % 2}` },
    ...{ birdId: String(index), bird: `Bird ${index}` },
  }));
  return {
    ...{ fact: 'shared_error', region: 'eu', scope: `eu/${subjectOfCause(error)}`, error },
    ...{ birds, nests: Math.min(2, birds), isAll: true, said: seen.message ?? error },
    parts: places.map((place, index) => ({ place, startsAtUs: minute(at - index) })),
    events: [event({ feed: 'flight', type: 'flight.failed', at, ...seen })],
  };
}

export function eventMatched(
  type: string,
  at: number,
  {
    forEach = 'bird',
    rule,
    ...seen
  }: Seen & { forEach?: FactOf<'event_matched'>['forEach']; rule?: string } = {},
): RuledFact {
  const entity = { entity_type: 'Flow', entity_id: '148890', entity_name: 'Translate blog' };
  const attributes = { ...entity, initiator: 'ops@example.com', error_type: 'PluginQuota', status: 'active' };
  const made = event({ feed: 'bird_log', type, at, attributes, ...seen });
  const scope = scopeOfMatch(made, forEach);
  return { fact: 'event_matched', event: made, forEach, scope, ...(rule !== undefined && { rule }) };
}

export const NO_BIRD: Place = { ...MARKETING, birdId: '', bird: '' };

export function connectionLost(at: number, message: string, seen: Seen = {}): EventFact {
  const entity = { type: 'Connection', id: '77', name: 'Acme CMS' };
  return notification('ConnectionDisconnected', at, { place: NO_BIRD, message, entity, ...seen });
}

export function birdStatus(status: string, readAt: number, previous?: string): Fact {
  return { fact: 'bird_status', place: MARKETING, status, previous, readAtUs: minute(readAt) };
}

export function birdVanished(readAt: number): Fact {
  return { fact: 'bird_vanished', place: MARKETING, readAtUs: minute(readAt) };
}

export function flightStarted(at: number, historic = false): Fact {
  return { fact: 'flight_started', place: MARKETING, flightId: `f-${at}`, startedAtUs: minute(at), historic };
}

/** A Flight that is still active, as seen at a minute. */
export function inAir(
  started: number,
  at: number,
  { usualMs = null, readAt = at, tail = null }: Partial<InAir> & { readonly readAt?: number } = {},
): Fact {
  const flightId = `f-${started}`;
  return {
    fact: 'flight_in_air',
    place: MARKETING,
    flightId,
    startedAtUs: minute(started),
    usualMs,
    tail,
    readAtUs: minute(readAt),
  };
}

type InAir = Pick<FactOf<'flight_in_air'>, 'usualMs' | 'tail'>;

/** What a Flight wrote last, as read at a minute: a step's name, or the sort of an entry that is not of a step. */
export function wrote(
  started: number,
  { at, step = 'Wait for review', readAt, isWait = true, ...rest }: Wrote,
): FactOf<'flight_wrote'> {
  const tail: FlightTail = {
    ...{ readAtUs: minute(readAt), wroteAtUs: minute(at), sort: 'log', scope: step, step: step && '4' },
    resumedAtUs: 0,
    ...rest,
  };
  return {
    fact: 'flight_wrote',
    place: MARKETING,
    flightId: `f-${started}`,
    startedAtUs: minute(started),
    tail,
    isWait,
  };
}

interface Wrote extends Partial<Omit<FlightTail, 'step'>> {
  readonly at: number;
  readonly readAt: number;
  readonly step?: string;
  readonly isWait?: boolean;
}

export function flightGone(started: number, at: number): Fact {
  return { fact: 'flight_gone', place: MARKETING, flightId: `f-${started}`, atUs: minute(at) };
}

export function birdIdle(
  since: number,
  at: number,
  { usualMs = null, hasFlown = true }: { usualMs?: number | null; hasFlown?: boolean } = {},
): Fact {
  return {
    fact: 'bird_idle',
    place: MARKETING,
    sinceUs: minute(since),
    hasFlown,
    usualMs,
    readAtUs: minute(at),
  };
}

export function schemaDrift(
  at: number,
  count = 1,
  reason = 'createdAt: missing',
  feed: Feed | 'inventory' = 'flight',
): Fact {
  return { fact: 'schema_drift', region: 'eu', feed, count, reason, atUs: minute(at) };
}

interface WatchSaid {
  /** Null if it belongs to no region. */
  readonly region?: string | null;
  readonly since: number;
  readonly isImpaired?: boolean;
  readonly severity?: 'critical' | 'warning';
  readonly endsByItself?: boolean;
  readonly sentences?: readonly string[];
}

/** The fact that something impairs the watch, or no longer does. */
export function watchHealth(
  reason: string,
  { region = null, since, isImpaired = true, severity = 'warning', ...rest }: WatchSaid,
): Fact {
  const said = { title: 'Something is wrong', sentences: ['It is wrong.', 'Mend it.'] };
  const about = { fact: 'watch_health', reason, ...(region !== null && { region }) } as const;
  return { ...about, isImpaired, severity, endsByItself: false, sinceUs: minute(since), ...said, ...rest };
}

/** How Flights ended, one a minute from `from` on: `x` for failed, `.` for succeeded. */
export function ends(pattern: string, from = 0): FlightEnded[] {
  return [...pattern].map((one, index) => ({
    key: `end ${from + index}`,
    atUs: minute(from + index),
    failed: one === 'x',
  }));
}

export function regionHealth(
  health: 'up' | 'down' | 'unauthorized',
  since: number,
  reason = 'it said so',
): Fact {
  return { fact: 'region_health', region: 'eu', health, reason, sinceUs: minute(since) };
}

/** A deadline at a minute that nothing met; a Flight counts if it started in the hour before or later. */
export function deadlineMissed(at: number, change: Partial<FactOf<'deadline_missed'>> = {}): Fact {
  return {
    fact: 'deadline_missed',
    outcome: 'missed',
    place: MARKETING,
    deadlineUs: minute(at),
    fromUs: minute(at - 60),
    missed: 1,
    wasUnread: false,
    how: { what: 'not_started', usuallyAtUs: null },
    readAtUs: minute(at + 1),
    ...change,
  };
}

/** Six of 20 Flights of a Nest failed within an hour, where two in a hundred may. */
export function objectiveMeasured(at: number, burn: Partial<Burning> | null = {}): Fact {
  const burning: Burning = {
    level: 'critical',
    failed: 6,
    flights: 20,
    missed: 0,
    windowUs: 3_600_000_000,
    ...burn,
  };
  return {
    ...{ fact: 'objective_measured', region: 'eu', nestId: '682', nest: 'Marketing', objective: 'customers' },
    countsDeadlines: false,
    ...{ overMs: 28 * 86_400_000, allowed: 40, used: 31, usedUpAtUs: minute(at + 90), atUs: minute(at) },
    ...(burn && { burning }),
  };
}

/** Three Flights of which the last landed at a minute took eight minutes; before, they took one. */
export function flightsSlow(at: number, change: Partial<FactOf<'flights_slow'>> = {}): Fact {
  return {
    fact: 'flights_slow',
    place: MARKETING,
    ...{ flights: 3, tookMs: 480_000, shortestMs: 470_000, longestMs: 490_000 },
    ...{ usualMs: 60_000, limitMs: 180_000 },
    ...{
      usualUs: minute(at - 38),
      sinceUs: minute(at - 28),
      startedAtUs: minute(at - 8),
      landedAtUs: minute(at),
    },
    ...change,
  };
}

/** What a rule declares of the Bird differs. */
export function birdDrift(differs: string, change: Partial<FactOf<'bird_drift'>> = {}): Fact {
  return { fact: 'bird_drift', place: MARKETING, differs, told: `${differs}.`, ...change };
}

/** A Nest has too few of the active members that a rule asks for. */
export function nestUnowned(...active: string[]): Fact {
  const place = { ...MARKETING, birdId: '', bird: '' };
  return { fact: 'nest_unowned', place, active, told: 'Marketing has no active member.' };
}

/** The Flights of the hour before a minute, at which it is over. */
export function flightsCounted(at: number, change: Partial<FactOf<'flights_counted'>['counted']> = {}): Fact {
  return {
    fact: 'flights_counted',
    place: MARKETING,
    counted: {
      period: { fromUs: minute(at - 60), untilUs: minute(at) },
      ...{ isOver: true, count: 3, verdict: 'fewer', isRunaway: false },
      usual: { isFixed: false, least: 18, most: 22 },
      ...change,
    },
  };
}

export function rule<Name extends AlertKind>(
  kind: Name,
  change: Partial<RuleNamed<Name>> = {},
): RuleNamed<Name> {
  const whole = { ...defaultRule(kind), ...change };
  return { ...whole, id: change.id ?? ruleId(kind, whole.match) };
}

/** The id of each kind's default rule, which is the part of an alert's id after the kind's name. */
export const OF_DEFAULT = Object.fromEntries(ALERT_KINDS.map((kind) => [kind, ruleId(kind, [])])) as Readonly<
  Record<AlertKind, string>
>;

/** The state of nestwatch during a story. After every step it checks what must be true of any decision. */
export interface Watch {
  /** Tells facts at a minute; several in one call form one batch. */
  tell(at: number, ...facts: RuledFact[]): Decision;
  /** Lets time pass; alerts that become due meanwhile are processed, as in the daemon. */
  pass(until: number): void;
  /** Sets our clock back by this many minutes, to a minute. */
  setBack(by: number, to: number): void;
  /** Sets our clock ahead by this many minutes. */
  setAhead(by: number): void;
  alerts(): Alert[];
  /** The only alert of a kind. */
  the(alertname: AlertKind): Alert;
  firing(): string[];
  /** Without those of an alert that does not fire yet. */
  links(): readonly Link[];
  /** Deletes an alert with its links, as alerting does with one that is settled. */
  remove(id: string): void;
}

export function watch(rules: readonly Rule[] = []): Watch {
  // Also those that need to be asked for.
  const all = [...rules, ...ALERT_KINDS.map((kind) => defaultRule(kind))];
  const stored = new Map<string, Alert>();
  const links: Link[] = [];
  const ofAlert = (id: string, lastSeq = Number.POSITIVE_INFINITY) =>
    links.filter((one) => one.alertId === id && one.seq <= lastSeq);

  function keep(decision: Decision): Decision {
    expect(new Set(decision.alerts.map((one) => one.id)).size).toBe(decision.alerts.length);
    for (const link of decision.links) {
      // Replaces what was linked to an alert that was over before it fired.
      const place = links.findIndex(({ alertId, seq }) => alertId === link.alertId && seq === link.seq);
      if (place >= 0) expect(link.seq).toBeGreaterThan(stored.get(link.alertId)?.lastSeq ?? 0);
      else expect(link.seq).toBe(ofAlert(link.alertId).length + 1);
      links.splice(place >= 0 ? place : links.length, 1, link);
    }
    for (const alert of decision.alerts) {
      const before = stored.get(alert.id);
      const joined = decision.links.filter(({ alertId }) => alertId === alert.id).length;
      // One batch may end an episode and begin another, even at the same instant; the new one counts its events from
      // 0.
      const goesOn =
        before?.state === 'firing' &&
        alert.state === 'firing' &&
        before.startsAtUs === alert.startsAtUs &&
        before.eventsTotal + joined === alert.eventsTotal;
      if (goesOn) {
        expect(alert.labels).toEqual(before.labels);
      }
      expect(ofAlert(alert.id, alert.lastSeq)).toHaveLength(alert.lastSeq);
      expect(ofAlert(alert.id).length).toBeGreaterThanOrEqual(lastLinkedSeq(alert));
      expect(alert.endsAtUs === 0 || alert.endsAtUs >= alert.startsAtUs).toBe(true);
      expect(JSON.parse(JSON.stringify(alert))).toEqual(alert);
      stored.set(alert.id, JSON.parse(JSON.stringify(alert)) as Alert);
    }
    return decision;
  }

  return {
    tell(at, ...facts) {
      const scopes = new Set(facts.map(scopeOf));
      const known = [...stored.values()].filter((one) => scopes.has(one.scope));
      return keep(decide(facts, known, all, minute(at)));
    },
    pass(until) {
      for (;;) {
        const waiting = [...stored.values()].filter((one) => one.dueAtUs !== null);
        const nowUs = Math.min(...waiting.map((one) => one.dueAtUs!));
        if (waiting.length === 0 || nowUs > minute(until)) return;
        const due = waiting.filter((one) => one.dueAtUs === nowUs);
        expect(keep(tick(due, all, nowUs)).alerts.length).toBeGreaterThan(0);
      }
    },
    setBack(by, to) {
      for (const alert of stored.values()) {
        stored.set(alert.id, rolledBackAlert(alert, Math.round(by * 60_000_000), minute(to)));
      }
    },
    setAhead(by) {
      for (const alert of stored.values())
        stored.set(alert.id, setAheadAlert(alert, Math.round(by * 60_000_000)));
    },
    alerts: () => [...stored.values()],
    the(alertname) {
      const found = [...stored.values()].filter((one) => one.alertname === alertname);
      expect(found.map((one) => one.id)).toHaveLength(1);
      return found[0]!;
    },
    firing: () =>
      [...stored.values()]
        .filter((one) => one.state === 'firing')
        .map((one) => `${one.alertname} ${one.labels.severity}`)
        .toSorted(),
    links: () => links.filter(({ alertId, seq }) => seq <= (stored.get(alertId)?.lastSeq ?? 0)),
    remove(id) {
      stored.delete(id);
      for (const link of ofAlert(id)) links.splice(links.indexOf(link), 1);
    },
  };
}

type Told = readonly [at: number, ...facts: RuledFact[]];

/** A story in which this was told, each at its minute. */
export const storyOf = (...told: readonly Told[]) => storyUnder([], ...told);

/** A story with these rules, in which this was told. */
export function storyUnder(rules: readonly Rule[], ...told: readonly Told[]): Watch {
  const story = watch(rules);
  for (const [at, ...facts] of told) story.tell(at, ...facts);
  return story;
}
