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
 * `getFlight` for those that left it. All of it is committed in one transaction. A backlog that takes several answers
 * to read is read from its oldest end, as much of it in one poll as memory should hold.
 */
import type { Event } from '../alerts/event.ts';
import type { Fact } from '../alerts/fact.ts';
import type { Clock, Random } from '../clock.ts';
import { formatInstant, type Instant } from '../instant.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Flight } from '../service/resources.ts';
import type { FlightRecord } from '../store/record.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { Commit, EventCandidate } from './commit.ts';
import { flightEvent, type Names } from './entry-event.ts';
import { createFlightReader, type FlightRows, noRows } from './flight-reading.ts';
import { createFlightReview, type FlightScope } from './flight-review.ts';
import { MOST_OVERLAP_US } from './lateness.ts';
import { ANCHOR_MARGIN_US, cursorOf } from './sweep.ts';

/** Statuses that end a Flight. An unknown one is told as an event and the Flight is watched on. */
const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

/** Open Flights that started at most this long before the window are reached by widening it. */
const WIDEN_US = 15 * 60 * 1_000_000;

export interface FlightWatchOptions {
  readonly region: string;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly names: Names;
  /** The Bird's status in the inventory. */
  readonly status: (birdId: string) => string | undefined;
  readonly retentionMs: number;
  /** No larger page is asked for. */
  readonly pageSize: () => number;
  readonly overlapUs: () => number;
  /** Told how late a Flight was that came behind the cursor. */
  readonly late: (latenessUs: number) => void;
  readonly firstFromUs: () => number;
  readonly watchedSinceUs: () => number;
}

export interface FlightWatch {
  /** One poll. `again` asks for the next one soon: a message is awaited; `more` at once: a backlog is read on. */
  poll(): Promise<{ again: boolean; more: boolean; fresh: readonly Event[]; requests: number }>;
  cursorUs(): number;
  /** Flights that started up to here are known; 0 before that was checked. */
  verifiedUs(): number;
  openCount(): number;
  /** True once a poll has found that no Flight of the Bird is in the air. */
  hasLanded(): boolean;
}

/** What a poll has found out, to be committed as one. */
interface Findings {
  readonly changes: FlightRecord[];
  readonly candidates: EventCandidate[];
  readonly facts: Fact[];
  duplicates: number;
  again: boolean;
}

/** What one poll goes by. */
interface Poll {
  readonly stream: number;
  readonly fromUs: number;
  readonly scope: FlightScope;
  readonly rows: FlightRows;
  /** Of the Flights in the rows, as they were known before. */
  readonly before: ReadonlyMap<string, FlightRecord>;
  readonly observedAtUs: number;
  readonly serviceNowUs: number;
  /** Records of open Flights that are there no more. */
  readonly vanished: readonly FlightRecord[];
}

/** For all Birds of which no Flight is known. */
const NO_FLIGHTS: ReadonlyMap<string, FlightRecord> = new Map();

/** Creates the watches of a region's Birds. There may be tens of thousands, so each holds only what is its own. */
export function createFlightWatches(options: FlightWatchOptions): (birdId: string) => FlightWatch {
  const { region, store, commit, clock, report, names } = options;
  const reader = createFlightReader({ ...options, nestOf: names.nestOf });

  class OneFlightWatch implements FlightWatch {
    readonly #birdId: string;
    /** 0 before it was opened. */
    #stream = 0;
    /** Open Flights, and ended ones of the window that polls read again. */
    #known: Map<string, FlightRecord> | undefined;
    /** Failed Flights without a message: one more poll is given to each. */
    #awaitingMessage: Set<string> | undefined;
    #cursorUs = 0;
    #polled = false;
    #openFlights = 0;
    #lastPolledUs = 0;
    readonly #review = createFlightReview(options);

    constructor(birdId: string) {
      this.#birdId = birdId;
    }

    cursorUs(): number {
      return this.#cursorUs;
    }

    verifiedUs(): number {
      return this.#review.verifiedUs();
    }

    openCount(): number {
      return this.#openFlights;
    }

    hasLanded(): boolean {
      return this.#polled && this.#openFlights === 0;
    }

    async poll() {
      const poll = await this.#read();
      const { rows, scope, serviceNowUs } = poll;
      const found: Findings = {
        changes: [...poll.vanished],
        candidates: [],
        facts: [],
        duplicates: 0,
        again: false,
      };
      for (const flight of rows.flights.values()) await this.#consider(flight, poll, found);

      const more = rows.readToUs < Number.POSITIVE_INFINITY;
      // Open ones that were asked for by themselves may have started in what is still to be read.
      const startsUs = [...rows.flights.values()]
        .map((flight) => flight.startedAt?.us ?? 0)
        .filter((us) => us <= rows.readToUs);
      const reachedUs = Math.max(this.#cursorUs, cursorOf(startsUs, serviceNowUs));
      const fresh = await this.#commit(poll, found, reachedUs);
      const recovered = fresh.filter((event) => this.#isMissed(event, poll)).length;
      this.#cursorUs = reachedUs;
      this.#lastPolledUs = serviceNowUs;
      if (!more) this.#review.done(scope, serviceNowUs);
      this.#keep(found);
      if (recovered > 0) report({ what: 'recovered', region, feed: 'flight', count: recovered });
      if (found.duplicates > 0)
        report({ what: 'duplicates', region, feed: 'flight', count: found.duplicates });
      return { again: found.again, more, fresh, requests: rows.requests };
    }

    async #open(): Promise<number> {
      if (this.#stream > 0) return this.#stream;
      const { row, records } = await store.transaction(async (tx) => {
        const row = await tx.openStream(region, 'flight', this.#birdId);
        const recent = row.cursorUs > 0 ? await tx.flightsSince(row.stream, row.cursorUs - 2 * WIDEN_US) : [];
        return { row, records: [...recent, ...(await tx.openFlights(row.stream))] };
      });
      if (records.length > 0) this.#known = new Map(records.map((record) => [record.flightId, record]));
      this.#cursorUs = row.cursorUs;
      this.#stream = row.stream;
      return row.stream;
    }

    async #read(): Promise<Poll> {
      const stream = await this.#open();
      const fromUs = this.#windowStart();
      const scope = this.#review.scope(fromUs);
      const { wholeFromUs } = scope;
      const rows = noRows();
      await reader.readWindow(this.#birdId, { minStartUs: scope.fromUs }, rows, this.#cursorUs);
      if (wholeFromUs !== undefined) {
        await reader.readWindow(this.#birdId, { minStartUs: wholeFromUs, status: 'failed' }, rows);
      }
      // Those that started before the window are found at the first poll, and in reviews.
      const isFirst = !this.#polled && this.#cursorUs === 0;
      const wantsActive = isFirst || wholeFromUs !== undefined;
      const known = this.#known ?? NO_FLIGHTS;
      const vanished = await reader.readMissing(this.#birdId, known, wantsActive, rows);
      const observedAtUs = clock.nowUs();
      const serviceNowUs = (rows.serverTimeUs ?? observedAtUs) + 1_000_000;
      const before = await knownOf(store, stream, known, rows.flights);
      return { stream, fromUs, scope, rows, before, observedAtUs, serviceNowUs, vanished };
    }

    #windowStart(): number {
      if (this.#cursorUs === 0) return options.firstFromUs();
      const sinceUs = this.#cursorUs - options.overlapUs();
      let startUs = sinceUs;
      for (const record of (this.#known ?? NO_FLIGHTS).values()) {
        if (record.open && record.startedAtUs > sinceUs - WIDEN_US) {
          startUs = Math.min(startUs, record.startedAtUs - ANCHOR_MARGIN_US);
        }
      }
      // What started before the first reading's beginning and was not in the air then is nobody's news.
      return Math.max(startUs, options.firstFromUs());
    }

    /** What is new about a Flight. */
    async #consider(flight: Flight, poll: Poll, found: Findings): Promise<void> {
      const record = poll.before.get(flight.id);
      const ended = ENDED.has(flight.status);
      const startedAtUs = flight.startedAt?.us ?? 0;
      if (!record && ended && this.#isHistory(flight, poll)) return;
      if (!record && startedAtUs > 0) this.#tellStart(flight.id, startedAtUs, poll, found);
      if (record && record.status === flight.status && record.open === !ended) {
        found.duplicates += 1;
        return;
      }
      const next: FlightRecord = {
        stream: poll.stream,
        flightId: flight.id,
        startedAtUs: record?.startedAtUs ?? startedAtUs,
        status: flight.status,
        open: !ended,
        ends: (record?.ends ?? 0) + (ended ? 1 : 0),
      };
      if (flight.status === 'active' || flight.status === '') found.changes.push(next);
      else await this.#tellStatus(flight, record, next, poll, found);
    }

    /** It started before what a first start reads, and was over by then as far as is known. */
    #isHistory(flight: Flight, { serviceNowUs }: Poll): boolean {
      const startedAtUs = flight.startedAt?.us ?? 0;
      if (startedAtUs === 0 || startedAtUs >= options.firstFromUs()) return false;
      return (endOf(flight, serviceNowUs)?.us ?? startedAtUs) < options.watchedSinceUs();
    }

    #tellStart(flightId: string, startedAtUs: number, poll: Poll, { facts }: Findings): void {
      const nestId = names.nestOf(this.#birdId);
      facts.push({
        fact: 'flight_started',
        place: {
          region,
          nestId,
          nest: names.nest(nestId),
          birdId: this.#birdId,
          bird: names.bird(this.#birdId),
        },
        flightId,
        startedAtUs,
        historic: startedAtUs < options.watchedSinceUs(),
      });
      const isWatched = this.#lastPolledUs > 0 && poll.serviceNowUs - this.#lastPolledUs < MOST_OVERLAP_US;
      if (!isWatched || startedAtUs >= this.#cursorUs) return;
      // Of what only a review met it is not known how late it was, but that polls do not look that far back.
      options.late(startedAtUs < poll.fromUs ? options.overlapUs() : poll.serviceNowUs - startedAtUs);
    }

    /** Makes an event of a Flight's end, or of a status not known today. */
    async #tellStatus(
      flight: Flight,
      record: FlightRecord | undefined,
      next: FlightRecord,
      { rows, observedAtUs, serviceNowUs }: Poll,
      found: Findings,
    ): Promise<void> {
      // When a status not known today began is not known either: the start keeps its event's instant the same.
      const given = next.open ? flight.startedAt : endOf(flight, serviceNowUs);
      const seenUs = rows.serverTimeUs ?? observedAtUs;
      const plainEnd = given ?? { us: seenUs, text: formatInstant(seenUs) };
      const isBefore = (us: number) => !record && us < options.watchedSinceUs();
      // An end of which the service does not say when, of a Flight never met before: its start must do.
      const byStart = !given && !record;
      let historic = isBefore(byStart ? next.startedAtUs : plainEnd.us);
      const asksLog = flight.status === 'failed' && (!historic || byStart);
      const log = asksLog ? await reader.readFailure(this.#birdId, flight.id, rows) : {};
      if (byStart && log.endedAt) historic = isBefore(log.endedAt.us);
      const reason = flight.errorMessages || log.failure?.message;
      if (flight.status === 'failed' && !historic && !reason && !this.#awaitingMessage?.has(flight.id)) {
        this.#awaitingMessage ??= new Set();
        this.#awaitingMessage.add(flight.id);
        found.again = true;
        found.changes.push({ ...next, status: 'active', open: true, ends: record?.ends ?? 0 });
        return;
      }
      found.changes.push(next);
      const place = { nestId: names.nestOf(this.#birdId), birdId: this.#birdId };
      const occurredAt = log.endedAt && log.endedAt.us <= serviceNowUs ? log.endedAt : plainEnd;
      const end = { flight, ends: Math.max(1, next.ends), occurredAt, failure: log.failure };
      const event = flightEvent(region, place, end, names, observedAtUs);
      found.candidates.push({ event, historic, birdStatus: options.status(this.#birdId) });
    }

    async #commit(
      { stream, rows }: Poll,
      { changes, candidates, facts }: Findings,
      reachedUs: number,
    ): Promise<readonly Event[]> {
      const { quarantined } = rows;
      const isChanged = changes.length + candidates.length + facts.length + quarantined.length > 0;
      if (!isChanged && reachedUs === this.#cursorUs) return [];
      return commit({
        region,
        stream: { stream, feed: 'flight' },
        events: candidates,
        facts,
        flights: changes,
        quarantined,
        cursorUs: reachedUs,
      });
    }

    /** Polls had passed it over, and a review met it. */
    #isMissed({ attributes }: Event, { before, fromUs }: Poll): boolean {
      const isOpen = before.get(String(attributes.flight_id))?.open;
      return this.#cursorUs > 0 && !isOpen && Number(attributes.started_at_us) < fromUs;
    }

    /** Remembers what was committed. */
    #keep({ changes }: Findings): void {
      if (changes.length > 0) this.#known ??= new Map();
      for (const record of changes) {
        this.#known?.set(record.flightId, record);
        if (!record.open) this.#awaitingMessage?.delete(record.flightId);
      }
      let openNow = 0;
      for (const [flightId, { open, startedAtUs }] of this.#known ?? NO_FLIGHTS) {
        if (open) openNow += 1;
        else if (startedAtUs < this.#cursorUs - 2 * WIDEN_US) this.#known?.delete(flightId);
      }
      if (openNow !== this.#openFlights || !this.#polled) {
        const nestId = names.nestOf(this.#birdId);
        report({ what: 'flights_active', region, nestId, birdId: this.#birdId, count: openNow });
      }
      this.#openFlights = openNow;
      this.#polled = true;
    }
  }

  return (birdId) => new OneFlightWatch(birdId);
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
