/**
 * Watches the Flights of one Bird to their end. The service's list looks at start dates, so a Flight that fails
 * days after it started is in no recent list: what is known to be active is kept as an open set, in the store.
 *
 * A Flight is: unknown → open (seen active) → ended (its event is committed) → open again (seen active after its
 * end; a later end is `#2`). A failed Flight whose reason has not come yet, neither as its message nor in its log, stays
 * open for a while, as failed and with the instant at which that was first seen: in the store, so that a new life goes
 * on waiting. When the while is over it is reported without a reason rather than late, also where its Bird cannot be
 * read then; at once where the Bird no longer exists.
 *
 * One poll reads the Flights that started since `newest − overlap` (further back when open ones started a little
 * earlier). Open ones that the answer lacks are asked for: one or two by `getFlight`, more by `Status=active` and
 * `getFlight` for those that left it. All of it is committed in one transaction. A backlog that takes several answers
 * to read is read from its oldest end, as much of it in one poll as memory should hold.
 */
import type { Event } from '../../domain/alert/event.ts';
import { codeOf } from '../../errors.ts';
import type { Report } from '../../report.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/flight-store.ts';
import type { Store, Transaction } from '../../store/store.ts';
import type { Clock, Random } from '../../time/clock.ts';
import type { Commit } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import { ANCHOR_MARGIN_US, cursorOf, NOW_MARGIN_US } from '../logs/sweep.ts';
import { createFailureLogReader } from './failure-log.ts';
import {
  type Findings,
  FlightFinder,
  type FlightFinderOptions,
  isMissed,
  noFindings,
  type Reading,
} from './flight-findings.ts';
import { FlightGaps, isTouching, type UnreadWindow } from './flight-gaps.ts';
import { FlightRescan, type FlightScope } from './flight-rescan.ts';
import { type FlightRows, noRows } from './flight-rows.ts';
import { FlightWindows } from './flight-windows.ts';
import { isOfRegion, OpenFlights } from './open-flights.ts';

/** Open Flights that started at most this long before the window are reached by widening it. */
const WIDEN_US = 15 * 60 * 1_000_000;

interface FlightWatchOptions extends FlightFinderOptions {
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
  readonly retentionMs: number;
  /** No larger page is asked for. */
  readonly pageSize: () => number;
  /** Whether there is room for requests that can also be made later. */
  readonly hasRoom: () => boolean;
  /** How long a look at every Bird takes at the rate there is now. */
  readonly roundMs: () => number;
}

/** What a poll came to. */
interface Polled {
  /** The next poll is to come soon, since a failure waits for its reason. */
  readonly again: boolean;
  /** The next poll is to come at once, since a backlog is read on. */
  readonly more: boolean;
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** How long a time was read, where there was no cursor to begin at. */
  readonly historyMs: number | undefined;
}

/** What one poll has read, and how far back it looked. */
interface Poll extends Reading {
  readonly scope: FlightScope;
  /** Records of open Flights that the service no longer has. */
  readonly vanished: readonly FlightRecord[];
}

/** Shared by all Birds of which no Flight is known. */
const NO_FLIGHTS: ReadonlyMap<string, FlightRecord> = new Map();
const NO_LOGS: ReadonlySet<string> = new Set();

/** What the watches of all Birds of a region share. */
interface RegionFlights {
  readonly options: FlightWatchOptions;
  readonly windows: FlightWindows;
  readonly openFlights: OpenFlights;
  readonly finder: FlightFinder;
  /** For Birds that cannot be read, whose logs are not asked for either. */
  readonly unreadFinder: FlightFinder;
  readonly gaps: FlightGaps;
  /** By how much the service's clock was last seen to be ahead of ours. */
  aheadUs: number;
}

/** Returns what creates the watch of a Bird; all of these watches share what is the region's. */
export function createFlightWatches(
  options: FlightWatchOptions,
  gaps: FlightGaps = new FlightGaps(options),
): (birdId: string) => FlightWatch {
  const reading = { ...options, nestOf: (birdId: string) => options.names.nestOf(birdId) };
  const windows = new FlightWindows(reading);
  const flights: RegionFlights = {
    options,
    windows,
    openFlights: new OpenFlights(reading, windows),
    finder: new FlightFinder(options, createFailureLogReader(reading)),
    unreadFinder: new FlightFinder(options, async () => undefined),
    gaps,
    aheadUs: 0,
  };
  return (birdId) => new FlightWatch(birdId, flights);
}

/** The watch of one Bird's Flights. There may be tens of thousands, so each holds only what is its own. */
export class FlightWatch {
  readonly #birdId: string;
  readonly #flights: RegionFlights;
  /** 0 before it was opened. */
  #stream = 0;
  /** Open Flights, and ended ones of the window that polls read again. */
  #known: Map<string, FlightRecord> | undefined;
  /** Failed Flights that wait for their reason, and whose log was read without finding it. */
  #logsRead: Set<string> | undefined;
  #cursorUs = 0;
  /** Of Flights that started up to here the store may have forgotten that they ended. */
  #prunedUs = 0;
  #polled = false;
  #openFlights = 0;
  #lastPolledUs = 0;
  #readUs = 0;
  /** When the Bird was first seen unpublished; Infinity while it is published, -Infinity if it never was in this life. */
  #unpublishedMs = Number.NEGATIVE_INFINITY;
  readonly #rescan: FlightRescan;

  constructor(birdId: string, flights: RegionFlights) {
    this.#birdId = birdId;
    this.#flights = flights;
    this.#rescan = new FlightRescan(flights.options);
  }

  /** Up to when Flights are known to have started; 0 before the first. */
  cursorUs(): number {
    return this.#cursorUs;
  }

  /** Flights that started up to here are known, be it from an earlier life; 0 before that was checked. */
  verifiedUs(): number {
    return this.#rescan.verifiedUs() || this.#flights.gaps.verifiedUs(this.#birdId);
  }

  /**
   * When the last poll that succeeded began, on our clock or, where that is ahead, on the service's: what has started is
   * dated by that one. 0 before the first.
   */
  readUs(): number {
    return this.#readUs;
  }

  /** How many Flights are open. */
  openCount(): number {
    return this.#openFlights;
  }

  /**
   * Whether polls may leave the Bird out; to be asked whenever the inventory was read. Only an unpublished one,
   * which starts no Flights: when none is in the air, and a rescan has looked back over the time in which one that
   * started before may still have been shown late. Not when its daily reading is due.
   */
  mayRest(isPublished: boolean): boolean {
    if (isPublished) this.#unpublishedMs = Number.POSITIVE_INFINITY;
    else if (this.#unpublishedMs === Number.POSITIVE_INFINITY) {
      this.#unpublishedMs = this.#flights.options.clock.monotonicMs();
    }
    const isQuiet = this.#polled && this.#openFlights === 0;
    return isQuiet && this.#rescan.isDoneSince(this.#unpublishedMs + MOST_OVERLAP_US / 1000);
  }

  /** The Bird no longer exists: what is remembered of it beside this watch is forgotten. */
  gone(): void {
    this.#flights.gaps.gone(this.#birdId);
    this.#flights.windows.forget(this.#birdId);
    this.#flights.openFlights.forget((this.#known ?? NO_FLIGHTS).keys());
  }

  /**
   * One poll, which leaves nothing to a later one where it is the only one. `again` asks for the next one soon: a message
   * is awaited; `more` at once: a backlog is read on.
   */
  async poll({ isOnly = false } = {}): Promise<Polled> {
    const { options, finder, gaps } = this.#flights;
    const { region, report, clock } = options;
    const beganUs = clock.nowUs();
    const stream = await this.#open();
    const read = () =>
      this.#read(stream, isOnly).catch(async (error: unknown) => {
        await this.#endWaiting(stream, error);
        throw error;
      });
    let poll = await read();
    // One answer may show a wrong time: a second one has to agree.
    if (this.#cursorUs > poll.serviceNowUs) poll = await read();
    if (this.#cursorUs > poll.serviceNowUs) {
      await this.#retreat(poll.serviceNowUs);
      poll = await read();
    }
    const { rows, serviceNowUs } = poll;
    const found = noFindings();
    for (const change of poll.vanished) found.changes.push(change);
    // In the order of their starts, so that a failure is known before the success that ends its alert.
    const startOf = (flight: Flight) => flight.startedAt?.us ?? 0;
    const inOrder = [...rows.flights.values()].sort((a, b) => startOf(a) - startOf(b));
    for (const flight of inOrder) await finder.consider(flight, poll, found);

    const more = rows.readToUs < Number.POSITIVE_INFINITY;
    // Open ones that were asked for by themselves may have started in what is still to be read.
    const startsUs = inOrder.map(startOf).filter((us) => us <= rows.readToUs);
    const reachedUs = Math.max(this.#cursorUs, cursorOf(startsUs, serviceNowUs));
    const triedUs = poll.scope.wholeFromUs === undefined ? poll.scope.fromUs : 0;
    const fromUs = more ? Number.POSITIVE_INFINITY : triedUs;
    const unread = gaps.after(this.#birdId, { fromUs, serviceNowUs, unread: rows.unread });
    const historyMs = this.#cursorUs === 0 ? (serviceNowUs - poll.fromUs) / 1000 : undefined;
    const unreadUs = unread[0]?.fromUs;
    const checkedUs = more ? 0 : this.#rescan.verifiedAfter(poll.scope, serviceNowUs, unreadUs);
    const fresh = await this.#commit(poll, found, reachedUs, unread, checkedUs);
    const recovered = fresh.filter((event) => isMissed(event, poll)).length;
    this.#cursorUs = reachedUs;
    this.#lastPolledUs = serviceNowUs;
    if (!more) this.#rescan.done(poll.scope, serviceNowUs, unreadUs);
    this.#keep(found);
    this.#polled = true;
    this.#countMissing(unread);
    gaps.keep(this.#birdId, unread);
    if (recovered > 0) report({ what: 'recovered', region, feed: 'flight', count: recovered });
    if (found.duplicates > 0) report({ what: 'duplicates', region, feed: 'flight', count: found.duplicates });
    await gaps.report();
    const aheadUs = poll.serviceNowUs - poll.observedAtUs;
    this.#readUs = beganUs + Math.min(0, aheadUs);
    return { again: found.awaiting.length > 0, more, fresh, requests: rows.requests, historyMs };
  }

  /** Resolves to the stream's number; loads what the store knows from an earlier life. */
  async #open(): Promise<number> {
    const { options, gaps } = this.#flights;
    const { region, store } = options;
    await gaps.open(this.#birdId);
    if (this.#stream > 0) return this.#stream;
    const { row, records } = await store.transaction(async (tx) => {
      const row = await tx.streams.open(region, 'flight', this.#birdId);
      const recent = row.cursorUs > 0 ? await tx.flights.since(row.stream, row.cursorUs - 2 * WIDEN_US) : [];
      return { row, records: [...recent, ...(await tx.flights.open(row.stream))] };
    });
    if (records.length > 0) this.#known = new Map(records.map((record) => [record.flightId, record]));
    this.#cursorUs = row.cursorUs;
    this.#prunedUs = row.prunedUs;
    this.#stream = row.stream;
    return row.stream;
  }

  /** Takes back the cursor, which followed a clock of the service that was ahead. */
  async #retreat(serviceNowUs: number): Promise<void> {
    await this.#flights.options.store.transaction((tx) =>
      tx.streams.retreatCursor(this.#stream, serviceNowUs),
    );
    this.#stream = 0;
    this.#lastPolledUs = 0;
    await this.#open();
  }

  async #read(stream: number, isOnly: boolean): Promise<Poll> {
    const { options, gaps } = this.#flights;
    const fromUs = this.#windowStart();
    // Flights that started before the window are found at the first poll, soon after it, and in rescans.
    const isFirst = !this.#polled && this.#cursorUs === 0;
    const scope = this.#rescan.scope(fromUs, { isFirst, hasRoom: isOnly || options.hasRoom() });
    const { wholeFromUs } = scope;
    const isRescan = scope.fromUs < fromUs || wholeFromUs !== undefined;
    const rows = noRows(isRescan ? [] : gaps.of(this.#birdId));
    const known = this.#known ?? NO_FLIGHTS;
    const vanished = await this.#readRows(scope, isRescan, known, rows).catch((error: unknown) => {
      if (!isOfRegion(error, options.client)) this.#rescan.failed(scope, fromUs);
      throw error;
    });
    const observedAtUs = options.clock.nowUs();
    const serviceNowUs = (rows.serverTimeUs ?? observedAtUs) + NOW_MARGIN_US;
    this.#flights.aheadUs = serviceNowUs - observedAtUs;
    const before = await knownOf(options.store, stream, known, rows.flights);
    return {
      birdId: this.#birdId,
      stream,
      fromUs,
      // The poll before would have met them, but for those that a rescan looks further back for.
      newSinceUs: isRescan ? (wholeFromUs ?? scope.fromUs) : Math.max(fromUs, this.#lastPolledUs),
      cursorUs: this.#cursorUs,
      prunedUs: this.#prunedUs,
      lastPolledUs: this.#lastPolledUs,
      rows,
      before,
      logsRead: this.#logsRead ?? NO_LOGS,
      successUs: latestSuccessUs(rows.flights.values(), before),
      observedAtUs,
      serviceNowUs,
      scope,
      vanished,
    };
  }

  /** Adds what the service shows of a scope to the rows. Resolves to the records of open Flights that it no longer has. */
  async #readRows(
    scope: FlightScope,
    isRescan: boolean,
    known: ReadonlyMap<string, FlightRecord>,
    rows: FlightRows,
  ): Promise<readonly FlightRecord[]> {
    const { windows, openFlights, gaps } = this.#flights;
    const { wholeFromUs } = scope;
    if (isRescan) await windows.read(this.#birdId, { minStartUs: scope.fromUs }, rows, this.#cursorUs);
    else await windows.readNewest(this.#birdId, scope.fromUs, rows, this.#cursorUs);
    if (wholeFromUs !== undefined) {
      await windows.read(this.#birdId, { minStartUs: wholeFromUs, status: 'failed' }, rows);
      for (const { fromUs, toUs } of gaps.of(this.#birdId)) {
        if (fromUs >= scope.fromUs) continue;
        await windows.read(this.#birdId, { minStartUs: fromUs, maxStartUs: toUs }, rows);
      }
    }
    return openFlights.read(this.#birdId, known, scope.active === 'now', rows);
  }

  /** The oldest start that a poll has to look at. */
  #windowStart(): number {
    const { options } = this.#flights;
    const firstFromUs = options.firstFromUs();
    if (this.#cursorUs === 0) return firstFromUs;
    // Flights may show up late, behind newer ones.
    const lateFromUs = this.#cursorUs - options.overlapUs();
    // Open ones that started a little earlier come with the same answer.
    let openFromUs = lateFromUs;
    for (const { open, startedAtUs } of (this.#known ?? NO_FLIGHTS).values()) {
      if (!open || startedAtUs <= lateFromUs - WIDEN_US) continue;
      openFromUs = Math.min(openFromUs, startedAtUs - ANCHOR_MARGIN_US);
    }
    // A Flight that started before the first reading's beginning, and was not in the air then, is history.
    return Math.max(openFromUs, firstFromUs);
  }

  async #commit(
    { stream, rows }: Reading,
    { changes, candidates, facts }: Findings,
    reachedUs: number,
    unread: readonly UnreadWindow[],
    checkedUs = 0,
  ): Promise<readonly Event[]> {
    const { options, gaps } = this.#flights;
    const { quarantined } = rows;
    const verifiedUs = Math.min(
      checkedUs || this.verifiedUs(),
      unread[0]?.fromUs ?? Number.POSITIVE_INFINITY,
    );
    const audits = gaps.recordsOf(this.#birdId, stream, unread, verifiedUs);
    const parts = [changes, candidates, facts, quarantined, audits];
    const isChanged = parts.some((part) => part.length > 0);
    if (!isChanged && reachedUs === this.#cursorUs) return [];
    const fresh = await options.commit({
      region: options.region,
      stream: { stream, feed: 'flight' },
      events: candidates,
      facts,
      flights: changes,
      quarantined,
      audits,
      cursorUs: reachedUs,
    });
    gaps.keepVerified(this.#birdId, audits);
    return fresh;
  }

  /** Remembers what was committed. */
  #keep({ changes, awaiting }: Findings): void {
    if (changes.length > 0) this.#known ??= new Map();
    for (const { flightId, isLogRead } of awaiting) {
      if (!isLogRead) continue;
      this.#logsRead ??= new Set();
      this.#logsRead.add(flightId);
    }
    for (const record of changes) {
      this.#known?.set(record.flightId, record);
      if (!record.open) this.#logsRead?.delete(record.flightId);
    }
    let openNow = 0;
    for (const [flightId, { open, startedAtUs }] of this.#known ?? NO_FLIGHTS) {
      if (open) openNow += 1;
      else if (startedAtUs < this.#cursorUs - 2 * WIDEN_US) this.#known?.delete(flightId);
    }
    if (openNow !== this.#openFlights || !this.#polled) {
      const { region, names, report } = this.#flights.options;
      const nestId = names.nestOf(this.#birdId);
      report({ what: 'flights_active', region, nestId, birdId: this.#birdId, count: openNow });
    }
    this.#openFlights = openNow;
  }

  /** The Bird cannot be read: failures that need wait no longer for their reason become events without one. */
  async #endWaiting(stream: number, error: unknown): Promise<void> {
    const { options, unreadFinder, openFlights, gaps, aheadUs } = this.#flights;
    const before = this.#known ?? NO_FLIGHTS;
    const waiting = [...before.values()].filter(({ open, status }) => open && status === 'failed');
    const observedAtUs = options.clock.nowUs();
    const reading: Reading = {
      birdId: this.#birdId,
      stream,
      fromUs: 0,
      newSinceUs: 0,
      cursorUs: this.#cursorUs,
      prunedUs: this.#prunedUs,
      lastPolledUs: this.#lastPolledUs,
      rows: noRows(),
      before,
      logsRead: NO_LOGS,
      successUs: codeOf(error) === 'not_found' ? Number.POSITIVE_INFINITY : 0,
      observedAtUs,
      serviceNowUs: observedAtUs + aheadUs,
    };
    const found = noFindings();
    for (const record of waiting) {
      await unreadFinder.consider(openFlights.asKnown(this.#birdId, record), reading, found);
    }
    if (found.changes.length === 0) return;
    await this.#commit(reading, found, this.#cursorUs, gaps.of(this.#birdId));
    this.#keep(found);
  }

  /** Reports windows that could be read, or were not tried, before this poll. */
  #countMissing(unread: readonly UnreadWindow[]): void {
    const { options, gaps } = this.#flights;
    const { region, report } = options;
    const before = gaps.of(this.#birdId);
    const count = unread.filter((one) => !before.some((known) => isTouching(known, one))).length;
    if (count > 0) report({ what: 'missing', region, feed: 'flight', count });
  }
}

/** When the latest of the Flights started that have succeeded since they were last seen; 0 for none. */
function latestSuccessUs(flights: Iterable<Flight>, before: ReadonlyMap<string, FlightRecord>): number {
  let latestUs = 0;
  for (const { id, status, startedAt } of flights) {
    if (status !== 'succeeded' || !startedAt || before.get(id)?.open === false) continue;
    latestUs = Math.max(latestUs, startedAt.us);
  }
  return latestUs;
}

/** What is known of these Flights: from memory, and from the store for those that memory no longer holds. */
async function knownOf(
  store: Store,
  stream: number,
  known: ReadonlyMap<string, FlightRecord>,
  rows: ReadonlyMap<string, Flight>,
): Promise<Map<string, FlightRecord>> {
  const found = new Map<string, FlightRecord>();
  const unknown: string[] = [];
  for (const flight of rows.values()) {
    const record = known.get(flight.id);
    if (record) found.set(flight.id, record);
    else unknown.push(flight.id);
  }
  if (unknown.length > 0) {
    const stored = await store.transaction((tx: Transaction) => tx.flights.find(stream, unknown));
    for (const record of stored) found.set(record.flightId, record);
  }
  return found;
}
