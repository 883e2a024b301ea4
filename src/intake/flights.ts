/**
 * Watches the Flights of one Bird to their end. The service's list looks at start dates, so a Flight that fails
 * days after it started is in no recent list: what is known to be active is kept as an open set, in the store.
 *
 * A Flight is: unknown → open (seen active) → ended (its event is committed) → open again (seen active after its
 * end; a later end is `#2`). A failed Flight whose message has not come yet stays open for one more poll, so that
 * the event can give the reason; it is told without one rather than late.
 *
 * One poll reads the Flights that started since `newest − overlap` (further back when open ones started a little
 * earlier). Open ones that the answer lacks are asked for: one or two by `getFlight`, more by `Status=active` and
 * `getFlight` for those that left it. All of it is committed in one transaction.
 */
import type { Event } from '../alerts/event.ts';
import type { Fact } from '../alerts/fact.ts';
import type { Clock, Random } from '../clock.ts';
import { NestwatchError } from '../errors.ts';
import { formatInstant, type Instant } from '../instant.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Flight, FlightLogEntry, Parsed } from '../service/resources.ts';
import type { FlightRecord, QuarantinedEntry, Store, Transaction } from '../store/store.ts';
import type { Commit, EventCandidate } from './commit.ts';
import { flightEvent, type Names } from './entry-event.ts';
import { createFlightReview, type FlightScope } from './flight-review.ts';
import { MOST_OVERLAP_US } from './lateness.ts';
import { cursorOf } from './sweep.ts';

/** Statuses that end a Flight. An unknown one is told as an event and the Flight is watched on. */
const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

/** Open Flights that started at most this long before the window are reached by widening it. */
const WIDEN_US = 15 * 60 * 1_000_000;

/** Shorter answers are taken as whole. */
const SUSPICIOUS_ROWS = 20;

/** Flights asked for one by one before `Status=active` is cheaper. */
const SINGLE_READS = 2;

/** Of a Flight's log, whose end tells of the failure. */
const LOG_ENTRIES = 50;

const ANCHOR_MARGIN_US = 1_100_000;

export interface FlightWatchOptions {
  readonly region: string;
  readonly birdId: string;
  /** The Nest the Bird is in now; it may move. */
  readonly nestId: () => string;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly names: Names;
  readonly birdStatus: () => string | undefined;
  readonly retentionMs: number;
  /** No larger page is asked for. */
  readonly pageSize: () => number;
  readonly overlapUs: () => number;
  /** Told how late a Flight was that came behind the cursor. */
  readonly late: (latenessUs: number) => void;
  readonly firstFromUs: () => number;
  readonly watchedSinceUs: () => number;
  /** The longest list of Flights that the region ever answered, shared by its Birds: caps show there. */
  readonly longestAnswer: { rows: number };
}

export interface FlightWatch {
  /** One poll. `again` asks for the next one soon: a message is awaited. */
  poll(): Promise<{ again: boolean; fresh: readonly Event[]; requests: number }>;
  cursorUs(): number;
  /** Flights that started up to here are known; 0 before that was checked. */
  verifiedUs(): number;
  openCount(): number;
  /** True once a poll has found that no Flight of the Bird is in the air. */
  hasLanded(): boolean;
}

interface Opened {
  readonly stream: number;
  /** Open Flights, and ended ones of the window that polls read again. */
  readonly known: Map<string, FlightRecord>;
}

export function createFlightWatch(options: FlightWatchOptions): FlightWatch {
  const { region, birdId, client, store, commit, clock, report, names, longestAnswer } = options;
  let opened: Opened | undefined;
  let cursorUs = 0;
  let polled = false;
  let openFlights = 0;
  /** Failed Flights without a message: one more poll is given to each. */
  const awaitingMessage = new Set<string>();
  const review = createFlightReview(options);
  let lastPolledUs = 0;

  async function open(): Promise<Opened> {
    opened ??= await store.transaction(async (tx) => {
      const row = await tx.openStream(region, 'flight', birdId);
      const known = new Map<string, FlightRecord>();
      const recent = row.cursorUs > 0 ? await tx.flightsSince(row.stream, row.cursorUs - 2 * WIDEN_US) : [];
      for (const record of [...recent, ...(await tx.openFlights(row.stream))]) {
        known.set(record.flightId, record);
      }
      cursorUs = row.cursorUs;
      return { stream: row.stream, known };
    });
    return opened;
  }

  /**
   * Reads the Flights of a window of start dates. The list has no paging and its cap is unknown: an answer as long
   * as the longest ever seen may be cut, and one too large is not received at all; both are read again in halves.
   */
  async function readWindow(window: Window, rows: Rows): Promise<void> {
    const startsUs: number[] = [];
    rows.requests += 1;
    try {
      const answer = await client.searchFlights(options.nestId(), birdId, window);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      collect(answer.value, rows, startsUs);
      if (startsUs.length < Math.max(SUSPICIOUS_ROWS, longestAnswer.rows)) return;
      longestAnswer.rows = startsUs.length;
    } catch (error) {
      if (!(error instanceof NestwatchError && error.code === 'too_large')) throw error;
    }
    const endUs = window.maxStartUs ?? startsUs.reduce((a, b) => Math.max(a, b), clock.nowUs());
    if (endUs - window.minStartUs < 4 * ANCHOR_MARGIN_US) return;
    const middleUs = Math.floor((window.minStartUs + endUs) / 2);
    await readWindow({ ...window, maxStartUs: middleUs }, rows);
    await readWindow({ ...window, minStartUs: middleUs - ANCHOR_MARGIN_US }, rows);
  }

  /**
   * Finds the open Flights that the list lacked, and at the first poll and in reviews those that started before its
   * window.
   */
  async function readMissing(
    known: ReadonlyMap<string, FlightRecord>,
    { wholeFromUs }: FlightScope,
    rows: Rows,
  ): Promise<FlightRecord[]> {
    const missing = () => [...known.values()].filter((one) => one.open && !rows.flights.has(one.flightId));
    if (wholeFromUs !== undefined) await readWindow({ minStartUs: wholeFromUs, status: 'failed' }, rows);
    const isFirst = !polled && cursorUs === 0;
    if (isFirst || wholeFromUs !== undefined || missing().length > SINGLE_READS) {
      rows.requests += 1;
      const active = await client.searchFlights(options.nestId(), birdId, { status: 'active' });
      collect(active.value, rows, []);
    }
    const vanished: FlightRecord[] = [];
    for (const record of missing()) {
      rows.requests += 1;
      try {
        const answer = await client.getFlight(options.nestId(), birdId, record.flightId);
        rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
        collect([answer.value], rows, []);
      } catch (error) {
        if (!(error instanceof NestwatchError && error.code === 'not_found')) throw error;
        vanished.push({ ...record, open: false });
      }
    }
    return vanished;
  }

  /** The failing step and the exact end, when the pace has room for one more request. */
  async function readFailure(flight: Flight, rows: Rows): Promise<FailureLog> {
    if (!client.slack()) return {};
    rows.requests += 1;
    try {
      const pageSize = Math.min(LOG_ENTRIES, options.pageSize());
      const query = { page: 0, pageSize, ascending: false };
      const answer = await client.getFlightLogs(options.nestId(), birdId, flight.id, query);
      const entries = answer.value.items.flatMap((item) => (item.ok ? [item.entry] : []));
      entries.sort((a, b) => b.createdAt.us - a.createdAt.us);
      const failure = entries.find((one) => Number(one.eventType) === 5 && !one.isSkipped && !one.isRetried);
      const end = entries.find((one) => Number(one.eventType) === 2 || Number(one.eventType) === 3);
      return { failure, endedAt: (end ?? failure)?.createdAt };
    } catch (error) {
      // The log only adds to what the Flight itself says: its trouble must not hold the event back.
      if (error instanceof NestwatchError) return {};
      throw error;
    }
  }

  return {
    cursorUs: () => cursorUs,
    verifiedUs: () => review.verifiedUs(),
    openCount: () => openFlights,
    hasLanded: () => polled && openFlights === 0,
    async poll() {
      const { stream, known } = await open();
      const pollFromUs = windowStart(cursorUs, options, known);
      const scope = review.scope(pollFromUs);
      const rows: Rows = { flights: new Map(), quarantined: [], serverTimeUs: null, requests: 0 };
      await readWindow({ minStartUs: scope.fromUs }, rows);
      const changes = await readMissing(known, scope, rows);
      const observedAtUs = clock.nowUs();
      const serviceNowUs = (rows.serverTimeUs ?? observedAtUs) + 1_000_000;

      const before = await knownOf(store, stream, known, rows.flights);
      const candidates: EventCandidate[] = [];
      const facts: Fact[] = [];
      const canBeLate = lastPolledUs > 0 && serviceNowUs - lastPolledUs < MOST_OVERLAP_US;
      let duplicates = 0;
      let again = false;
      for (const flight of rows.flights.values()) {
        const record = before.get(flight.id);
        const ended = ENDED.has(flight.status);
        const startedAtUs = flight.startedAt?.us ?? 0;
        if (!record && startedAtUs > 0) {
          facts.push({
            fact: 'flight_started',
            place: placeOf(region, options.nestId(), birdId, names),
            flightId: flight.id,
            startedAtUs,
            historic: startedAtUs < options.watchedSinceUs(),
          });
          // Of what only a review met it is not known how late it was, but that polls do not look that far back.
          const lateUs = startedAtUs < pollFromUs ? options.overlapUs() : serviceNowUs - startedAtUs;
          if (canBeLate && startedAtUs < cursorUs) options.late(lateUs);
        }
        if (record && record.status === flight.status && record.open === !ended) {
          duplicates += 1;
          continue;
        }
        const next: FlightRecord = {
          stream,
          flightId: flight.id,
          startedAtUs: record?.startedAtUs ?? startedAtUs,
          status: flight.status,
          open: !ended,
          ends: (record?.ends ?? 0) + (ended ? 1 : 0),
        };
        if (flight.status === 'active' || flight.status === '') {
          changes.push(next);
          continue;
        }
        // When a status not known today began is not known either: the start keeps its event's instant the same.
        const given = ended ? endOf(flight, serviceNowUs) : flight.startedAt;
        const seenUs = rows.serverTimeUs ?? observedAtUs;
        const plainEnd = given ?? { us: seenUs, text: formatInstant(seenUs) };
        const isBefore = (us: number) => !record && us < options.watchedSinceUs();
        // An end of which the service does not say when, of a Flight never met before: its start must do.
        const byStart = !given && !record;
        let historic = isBefore(byStart ? startedAtUs : plainEnd.us);
        const asksLog = flight.status === 'failed' && (!historic || byStart);
        const log = asksLog ? await readFailure(flight, rows) : {};
        if (byStart && log.endedAt) historic = isBefore(log.endedAt.us);
        const reason = flight.errorMessages || log.failure?.message;
        if (flight.status === 'failed' && !historic && !reason && !awaitingMessage.has(flight.id)) {
          awaitingMessage.add(flight.id);
          again = true;
          changes.push({ ...next, status: 'active', open: true, ends: record?.ends ?? 0 });
          continue;
        }
        changes.push(next);
        candidates.push({
          event: flightEvent(
            region,
            { nestId: options.nestId(), birdId },
            {
              flight,
              ends: Math.max(1, next.ends),
              occurredAt: log.endedAt && log.endedAt.us <= serviceNowUs ? log.endedAt : plainEnd,
              failure: log.failure,
            },
            names,
            observedAtUs,
          ),
          historic,
          birdStatus: options.birdStatus(),
        });
      }

      const startsUs = [...rows.flights.values()].map((flight) => flight.startedAt?.us ?? 0);
      const reachedUs = Math.max(cursorUs, cursorOf(startsUs, serviceNowUs));
      let fresh: readonly Event[] = [];
      const changed = changes.length + candidates.length + facts.length + rows.quarantined.length > 0;
      if (changed || reachedUs > cursorUs) {
        fresh = await commit({
          region,
          stream: { stream, feed: 'flight' },
          events: candidates,
          facts,
          flights: changes,
          quarantined: rows.quarantined,
          cursorUs: reachedUs,
        });
      }
      const isMissed = ({ attributes }: Event) =>
        cursorUs > 0 &&
        !before.get(String(attributes.flight_id))?.open &&
        Number(attributes.started_at_us) < pollFromUs;
      const recovered = fresh.filter(isMissed).length;
      cursorUs = reachedUs;
      lastPolledUs = serviceNowUs;
      review.done(scope, serviceNowUs);
      if (recovered > 0) report({ what: 'recovered', region, feed: 'flight', count: recovered });
      for (const record of changes) {
        known.set(record.flightId, record);
        if (!record.open) awaitingMessage.delete(record.flightId);
      }
      for (const [flightId, record] of known) {
        if (!record.open && record.startedAtUs < cursorUs - 2 * WIDEN_US) known.delete(flightId);
      }
      const openNow = [...known.values()].filter((record) => record.open).length;
      if (openNow !== openFlights || !polled) {
        report({ what: 'flights_active', region, nestId: options.nestId(), birdId, count: openNow });
      }
      openFlights = openNow;
      polled = true;
      if (duplicates > 0) report({ what: 'duplicates', region, feed: 'flight', count: duplicates });
      return { again, fresh, requests: rows.requests };
    },
  };
}

/** What the requests of one poll brought together; a later reading of a Flight replaces an earlier one. */
interface Rows {
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  requests: number;
}

interface Window {
  readonly minStartUs: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

interface FailureLog {
  readonly failure?: FlightLogEntry | undefined;
  readonly endedAt?: Instant | undefined;
}

function windowStart(
  cursorUs: number,
  options: FlightWatchOptions,
  known: ReadonlyMap<string, FlightRecord>,
): number {
  if (cursorUs === 0) return options.firstFromUs();
  const sinceUs = cursorUs - options.overlapUs();
  let startUs = sinceUs;
  for (const record of known.values()) {
    if (record.open && record.startedAtUs > sinceUs - WIDEN_US) {
      startUs = Math.min(startUs, record.startedAtUs - ANCHOR_MARGIN_US);
    }
  }
  // What started before the first reading's beginning and was not in the air then is nobody's news.
  return Math.max(startUs, options.firstFromUs());
}

function collect(items: readonly Parsed<Flight>[], rows: Rows, startsUs: number[]): void {
  for (const item of items) {
    if (!item.ok) {
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      continue;
    }
    rows.flights.set(item.entry.id, item.entry);
    startsUs.push(item.entry.startedAt?.us ?? 0);
  }
}

/** What is known of these Flights: from memory, and from the store for those that memory no longer holds. */
async function knownOf(
  store: Store,
  stream: number,
  known: ReadonlyMap<string, FlightRecord>,
  rows: ReadonlyMap<string, Flight>,
): Promise<Map<string, FlightRecord>> {
  const found = new Map<string, FlightRecord>();
  const unknown: { flightId: string; startedAtUs: number }[] = [];
  for (const flight of rows.values()) {
    const record = known.get(flight.id);
    if (record) found.set(flight.id, record);
    else unknown.push({ flightId: flight.id, startedAtUs: flight.startedAt?.us ?? 0 });
  }
  if (unknown.length > 0) {
    const stored = await store.transaction((tx: Transaction) => tx.findFlights(stream, unknown));
    for (const record of stored) found.set(record.flightId, record);
  }
  return found;
}

/**
 * When the Flight ended: start + duration, in seconds as far as is known. Undefined where that is missing, or lies
 * ahead of the service's present (another unit).
 */
function endOf({ startedAt, durationSeconds }: Flight, serviceNowUs: number): Instant | undefined {
  if (!startedAt || durationSeconds === null || durationSeconds < 0) return undefined;
  const us = startedAt.us + Math.round(durationSeconds * 1_000_000);
  return us <= serviceNowUs ? { us, text: formatInstant(us) } : undefined;
}

function placeOf(region: string, nestId: string, birdId: string, names: Names) {
  return { region, nestId, nest: names.nest(nestId), birdId, bird: names.bird(birdId) };
}
