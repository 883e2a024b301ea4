/**
 * Commits what intake has read. One transaction holds the new events, the alerts they change, the events to forward
 * and the stream's cursor. A crash before the commit repeats the page; a crash after it continues with the next one.
 * Either way no event is lost or repeated.
 */

import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { Forward } from '../config/sections/forward-section.ts';
import type { Action } from '../domain/action/action.ts';
import type { Labels } from '../domain/alert/alert.ts';
import { signature } from '../domain/alert/error-signature.ts';
import { BEFORE_WATCH, type Event, type Feed, NEST_EXCLUDED } from '../domain/alert/event.ts';
import type { Fact, Place } from '../domain/alert/fact.ts';
import { eventLabels, placeLabels, placeOf } from '../domain/alert/labels.ts';
import type { Rule } from '../domain/alert/rule.ts';
import {
  concernsAlerts,
  matchedFacts,
  rulesFor,
  rulesOnEvents,
  wokenKinds,
} from '../domain/evaluate/choose-rule.ts';
import { TRIGGER_FAILED } from '../domain/kinds/bird-trigger-failing.ts';
import { DISCONNECTED, isRetrying } from '../domain/kinds/connection-disconnected.ts';
import { endsAskedFor } from '../domain/kinds/failures/flight-failed.ts';
import { matchesAll } from '../domain/matchers/matcher.ts';
import { LIMITS } from '../limits.ts';
import type { Happening, KeptEvent, Report } from '../report.ts';
import { applyFacts, putActions } from '../store/change-alerts.ts';
import type { FlightRecord } from '../store/event-store.ts';
import { noteErrors } from '../store/read-history.ts';
import type { AuditRecord } from '../store/sql/watched/audits.ts';
import type { QuarantinedEntry } from '../store/sql/watched/feed-streams.ts';
import type { BirdRecord, ListedRecord, NestRecord } from '../store/sql/watched/nests-and-birds.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';

/** What one reading of the service has found. Everything except the region is optional. */
export interface Batch {
  readonly region: string;
  readonly stream?: { readonly stream: number; readonly feed: Feed | 'inventory' };
  readonly events?: readonly EventCandidate[];
  readonly facts?: readonly Fact[];
  readonly flights?: readonly FlightRecord[];
  readonly nests?: readonly NestRecord[];
  readonly birds?: readonly BirdRecord[];
  /** What the inventory noticed, and what nestwatch did. It is always news. */
  readonly noticed?: readonly Event[];
  readonly listed?: readonly ListedRecord[];
  /** What has become of what nestwatch does to the service; `noticed` says so. */
  readonly actions?: readonly Action[];
  readonly quarantined?: readonly QuarantinedEntry[];
  readonly audits?: readonly AuditRecord[];
  /** The cursor that this batch justifies; 0 leaves it unchanged. */
  readonly cursorUs?: number;
}

export interface EventCandidate {
  readonly event: Event;
  /** Whether it happened before nestwatch began to watch the region or the Bird. */
  readonly historic: boolean;
  /** The Bird's status in the inventory, if known. */
  readonly birdStatus?: string | undefined;
}

/** Commits a batch and returns the events that were new. */
export type Commit = (batch: Batch) => Promise<readonly Event[]>;

interface CommitOptions {
  readonly store: Store;
  /** The rules that judge facts. If undefined, events are only kept and alerts do not change. */
  readonly rules: readonly Rule[] | undefined;
  readonly forward: readonly Forward[];
  /** After how long an error counts as back; absent if nobody wants to know how new errors are. */
  readonly backAfterMs?: number | undefined;
  readonly clock: Clock;
  readonly report: Report;
  /** Called after a commit that changed an alert or queued an event to forward. */
  readonly changed: () => void;
}

/** How many of a Bird's latest Flights are searched for the last start before a trigger failure. */
const LATEST_FLIGHTS = 50;

/**
 * The most items that are written, judged or reported without a pause. One answer may contain 20,000 Flights, which
 * are committed together.
 */
const AT_ONCE = 1_000;
/**
 * The most characters of messages processed without a pause. One message may have 32 Ki; ordinary pages stay far
 * below.
 */
const CHARACTERS_AT_ONCE = 1024 * 1024;

export function createCommit(options: CommitOptions): Commit {
  const { store, rules, forward, backAfterMs, clock, report, changed } = options;
  const askedEnds = rules ? endsAskedFor(rules) : 0;
  const askedFor = rulesOnEvents(rules ?? []);
  const woken = wokenKinds(rules ?? []);
  const isWoken =
    woken.length > 0
      ? (labels: Labels) => woken.some((kind) => rulesFor(kind, labels, rules ?? []).length > 0)
      : undefined;
  return async (batch) => {
    const nowUs = clock.nowUs();
    const malformed = fewMalformed(batch, report);
    const outcome = await store.transaction(async (tx) => {
      const fresh = await insertFresh(tx, batch);
      if (batch.actions) await putActions(tx, batch.actions);
      if (batch.listed?.length) await tx.inventory.putListed(batch.listed);
      if (batch.nests?.length) await tx.inventory.putNests(batch.nests);
      if (batch.birds?.length) await tx.inventory.putBirds(batch.birds);
      await inSlices(withEnds(batch.flights ?? [], batch.events ?? []), tx, (some) => tx.flights.put(some));
      if (batch.audits?.length) await tx.audits.put(batch.audits);
      const quarantined =
        batch.stream && malformed.length > 0
          ? await tx.streams.quarantine(batch.stream.stream, malformed, nowUs)
          : 0;
      const isInventory = batch.stream?.feed === 'inventory';
      const facts = [
        ...(await factsOf(tx, batch, fresh, askedEnds, backAfterMs)),
        ...(askedFor ? matchedFacts(newsOf(batch, fresh), askedFor) : []),
        ...(batch.facts ?? []),
        // The inventory is always read completely, so an item in it is malformed for as long as it is listed.
        ...driftOf(batch, isInventory ? (batch.quarantined?.length ?? 0) : quarantined, nowUs),
      ];
      let written = 0;
      const happenings: Happening[] = [];
      const judge = async (some: readonly Fact[]) => {
        const changes = await applyFacts(tx, some, rules ?? [], nowUs);
        written += changes.written;
        happenings.push(...changes.happenings);
      };
      await inSlices(rules ? facts : [], tx, judge, lengthOfFact);
      await wakeJudges(tx, facts, isWoken);
      const queued = await queueForward(tx, fresh, forward);
      if (batch.stream && batch.cursorUs) await tx.streams.advanceCursor(batch.stream.stream, batch.cursorUs);
      return {
        fresh,
        quarantined,
        happenings,
        touched: written > 0 || queued || batch.actions !== undefined,
      };
    });
    await reportBatch(batch, outcome.fresh, outcome.quarantined, report);
    for (const happening of outcome.happenings) report(happening);
    if (outcome.touched) changed();
    return outcome.fresh;
  };
}

/** The malformed entries of one answer that are kept: the last ones, if there are too many. */
function fewMalformed({ region, quarantined = [] }: Batch, report: Report): readonly QuarantinedEntry[] {
  const { most } = LIMITS.malformed_items;
  if (quarantined.length <= most) return quarantined;
  report({ what: 'limit_reached', limit: 'malformed_items', region });
  return quarantined.slice(-most);
}

async function insertFresh(tx: Transaction, batch: Batch): Promise<readonly Event[]> {
  const { region, stream, events: candidates = [], noticed = [] } = batch;
  const fresh: Event[] = [];
  const notice = async (some: readonly Event[]) =>
    fresh.push(...(await tx.events.insertNoticed(region, some)));
  if (noticed.length > 0) await inSlices(noticed, tx, notice, lengthOfEvent);
  if (!stream || candidates.length === 0) return fresh;
  const events = candidates.map((candidate) => candidate.event);
  const insert = async (some: readonly Event[]) =>
    fresh.push(...(await tx.events.insert(stream.stream, some)));
  await inSlices(events, tx, insert, lengthOfEvent);
  return fresh;
}

const EVENT_LOOP = { pause: () => turnOfEventLoop() };

/**
 * Processes the items in slices. If there are many items or their texts are long, other work gets a turn between
 * slices.
 */
async function inSlices<T>(
  items: readonly T[],
  at: { pause(): Promise<unknown> },
  work: (some: readonly T[]) => Promise<unknown>,
  lengthOf: (item: T) => number = () => 0,
): Promise<void> {
  let from = 0;
  let length = 0;
  for (const [index, item] of items.entries()) {
    length += lengthOf(item);
    const end = index + 1;
    if (end < items.length && end - from < AT_ONCE && length < CHARACTERS_AT_ONCE) continue;
    if (from > 0) await at.pause();
    await work(from === 0 && end === items.length ? items : items.slice(from, end));
    from = end;
    length = 0;
  }
}

const lengthOfEvent = ({ message }: Event) => message.length;

const lengthOfFact = (fact: Fact) => ('event' in fact ? fact.event.message.length : 0);

/** What happened since the region and the Bird are watched, and where the configuration watches. */
function newsOf({ events = [] }: Batch, fresh: readonly Event[]): readonly Event[] {
  const past = new Set(events.filter(({ historic }) => historic).map(({ event }) => event));
  return fresh.filter((event) => !past.has(event) && event.attributes[NEST_EXCLUDED] !== true);
}

/**
 * The facts for alerts from the new events. Each new failure also carries how new its error is, and how the last Flights
 * ended, for rules that look at consecutive failures or at a ratio.
 */
async function factsOf(
  tx: Transaction,
  batch: Batch,
  fresh: readonly Event[],
  askedEnds: number,
  backAfterMs: number | undefined,
): Promise<Fact[]> {
  // Those that raise no alert are noted as well: what happened before is not new.
  const novelties = await noteErrors(tx, batch.region, fresh, backAfterMs ?? 0);
  const heard = fresh.filter((event) => concernsAlerts(event) && event.attributes[NEST_EXCLUDED] !== true);
  if (heard.length === 0) return [];
  const kept = new Set(heard);
  const candidates = (batch.events ?? []).filter(({ event }) => kept.has(event));
  const isNewFailure = ({ event, historic }: EventCandidate) => event.type === 'flight.failed' && !historic;
  const latestEnds =
    batch.stream && askedEnds > 0 && candidates.some(isNewFailure)
      ? await tx.flights.latestEnds(batch.stream.stream, askedEnds)
      : undefined;
  const flightsBefore = await startsBefore(
    tx,
    heard.filter(({ type }) => type === TRIGGER_FAILED),
  );
  return candidates.map((candidate) => {
    const { event, historic, birdStatus } = candidate;
    const ends = isNewFailure(candidate) ? latestEnds : undefined;
    const flightBeforeUs = flightsBefore.get(event);
    const novelty = historic || backAfterMs === undefined ? undefined : novelties.get(event);
    return { fact: 'event', event, historic, birdStatus, latestEnds: ends, novelty, flightBeforeUs };
  });
}

/** Lets Birds be judged whose Flights have started or succeeded, if a rule about them wants to know. */
async function wakeJudges(
  tx: Transaction,
  facts: readonly Fact[],
  isWanted: ((labels: Labels) => boolean) | undefined,
): Promise<void> {
  if (!isWanted) return;
  const places = new Map<string, Place>();
  for (const fact of facts) {
    const isLanding = fact.fact === 'event' && fact.event.type === 'flight.succeeded';
    const place = isLanding ? placeOf(fact.event) : fact.fact === 'flight_started' ? fact.place : undefined;
    if (place) places.set(place.birdId, place);
  }
  const woken = [...places.values()].filter((place) => isWanted(placeLabels(place)));
  if (woken.length > 0)
    await tx.overdue.wake(
      woken[0]!.region,
      woken.map(({ birdId }) => birdId),
    );
}

/** For each event: when the last Flight before it started. Only the Bird's latest Flights are searched. */
async function startsBefore(tx: Transaction, events: readonly Event[]): Promise<ReadonlyMap<Event, number>> {
  const found = new Map<Event, number>();
  for (const ofBird of Map.groupBy(events, ({ birdId }) => birdId).values()) {
    const { region, birdId } = ofBird[0]!;
    const starts = (await tx.birds.latestFlights(region, birdId, LATEST_FLIGHTS)).map(
      (one) => one.startedAtUs,
    );
    for (const event of ofBird) {
      const startedAtUs = starts.find((us) => us > 0 && us <= event.occurredAtUs);
      if (startedAtUs !== undefined) found.set(event, startedAtUs);
    }
  }
  return found;
}

/** Adds to each Flight the end that its event states. */
function withEnds(
  flights: readonly FlightRecord[],
  events: readonly EventCandidate[],
): readonly FlightRecord[] {
  if (flights.length === 0) return flights;
  const endsUs = new Map(
    events.map(({ event }) => [String(event.attributes.flight_id ?? ''), event.occurredAtUs]),
  );
  return flights.map((flight) => {
    const endedAtUs = endsUs.get(flight.flightId);
    return flight.open || endedAtUs === undefined ? flight : { ...flight, endedAtUs };
  });
}

function driftOf({ region, stream, quarantined }: Batch, count: number, atUs: number): Fact[] {
  if (!stream || count === 0) return [];
  const reason = quarantined?.at(-1)?.reason ?? '';
  return [{ fact: 'schema_drift', region, feed: stream.feed, count, reason, atUs }];
}

async function queueForward(
  tx: Transaction,
  fresh: readonly Event[],
  forward: readonly Forward[],
): Promise<boolean> {
  if (forward.length === 0 || fresh.length === 0) return false;
  let isAny = false;
  await inSlices(fresh, tx, async (some) => {
    const queue = some.flatMap((event) =>
      receiversOf(event, forward).map((receiver) => ({ receiver, event })),
    );
    if (queue.length === 0) return;
    await tx.forwards.queue(queue);
    isAny = true;
  });
  return isAny;
}

/** Names each receiver once, even if several forward rules lead to it. */
function receiversOf(event: Event, forward: readonly Forward[]): readonly string[] {
  const labels = eventLabels(event);
  const fitting = forward.filter(({ matchers }) => matchesAll(matchers, labels));
  return [...new Set(fitting.map(({ receiver }) => receiver))];
}

/** Reports what was committed. */
async function reportBatch(
  batch: Batch,
  fresh: readonly Event[],
  quarantined: number,
  report: Report,
): Promise<void> {
  const { region, stream } = batch;
  if (!stream && fresh.length === 0) return;
  const past = batch.events?.filter((one) => one.historic) ?? [];
  const historic = new Set(past.map((one) => one.event));
  const reportStart = (fact: Fact) => {
    if (fact.fact !== 'flight_started' || fact.historic) return;
    const { nestId, birdId } = fact.place;
    report({ what: 'flight', region, nestId, birdId, status: 'active', atUs: fact.startedAtUs });
  };
  await inSlices(batch.facts ?? [], EVENT_LOOP, async (some) => some.forEach(reportStart));
  const keptEvent = (event: Event): KeptEvent => ({
    key: event.key,
    type: event.type,
    occurredAtUs: event.occurredAtUs,
    delayMs: Math.max(0, (event.observedAtUs - event.occurredAtUs) / 1000),
    historic: historic.size > 0 && historic.has(event),
  });
  const reportEvent = (event: Event) => {
    if (event.feed === 'flight') {
      report({
        what: 'flight',
        region,
        nestId: event.nestId,
        birdId: event.birdId,
        status: event.type.slice('flight.'.length),
        atUs: event.occurredAtUs,
        eventKey: event.key,
        ...durationOf(event),
        ...(event.type === 'flight.failed' && { cause: signature(event.message) }),
      });
    }
    if (event.type === DISCONNECTED) {
      report({ what: 'connection_lost', region, state: isRetrying(event) ? 'retrying' : 'given_up' });
    }
  };
  const reportEvents = async (some: readonly Event[]) => {
    report({ what: 'events', region, feed: some[0]!.feed, events: some.map(keptEvent) });
    some.forEach(reportEvent);
  };
  if (fresh.length > 0) await inSlices(fresh, EVENT_LOOP, reportEvents, lengthOfEvent);
  if (stream && quarantined > 0) {
    const reason = batch.quarantined?.[0]?.reason ?? '';
    report({ what: 'quarantined', region, feed: stream.feed, count: quarantined, reason });
  }
}

/** The duration of a Flight, if the service states it and it is plausible. */
function durationOf({ attributes, occurredAtUs }: Event): { readonly durationMs?: number } {
  const { duration_seconds: seconds, started_at_us: startedAtUs } = attributes;
  const durationMs =
    typeof seconds === 'number'
      ? seconds * 1000
      : typeof startedAtUs === 'number'
        ? (occurredAtUs - startedAtUs) / 1000
        : -1;
  return durationMs >= 0 && durationMs <= LIMITS.flight_duration.most ? { durationMs } : {};
}

/**
 * Records in an event that is history why it is: its Bird came to be watched later than its region. Nothing else in the
 * store would explain why the event raised no alert. `watchedSinceUs` says since when a Bird (or, for '', the region)
 * is watched.
 */
export function markPast(
  candidate: EventCandidate,
  birdId: string,
  watchedSinceUs: (birdId: string) => number,
): EventCandidate {
  const { event, historic } = candidate;
  const isPast =
    historic && event.occurredAtUs < watchedSinceUs(birdId) && event.occurredAtUs >= watchedSinceUs('');
  if (!isPast) return candidate;
  return { ...candidate, event: { ...event, attributes: { ...event.attributes, [BEFORE_WATCH]: true } } };
}
