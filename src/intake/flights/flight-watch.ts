/**
 * Watches the Flights of one Bird until they end. The service lists Flights by their start, so a Flight that fails days
 * later is in no recent list. Therefore the store keeps the set of Flights that are known to be active, the open ones.
 *
 * The states of a Flight:
 *
 *   unknown → open (seen active) → ended (its event is committed) → open again (seen active for a minute after its end)
 *
 * The event of a second end has `#2` in its key. A failed Flight whose reason is not known yet, neither from its error
 * message nor from its log, stays open for a while. It is stored as failed with the instant at which that was first
 * seen, so the wait continues after a restart. When the wait is over, the failure is reported without a reason, even if
 * the Bird cannot be read then. It is reported at once if the Bird no longer exists.
 *
 * A poll reads the Flights that started since `cursor − overlap`, or somewhat earlier to include open ones. Open ones
 * that this answer lacks are requested separately (`open-flights.ts`). Everything is committed in one transaction. A
 * backlog that takes several answers is read from its oldest end, and each poll reads as much as memory should hold.
 *
 * The first poll of a Bird also reads what became of the Flights that were active when the watch began: by one request for
 * all, or if that may be cut off, by one for each of the window, what is active and what has failed. If it shows no Flight,
 * it looks for the last one, whose start becomes the cursor: from then on the Bird has been at rest.
 */
import type { Event } from '../../domain/alert/event.ts';
import { codeOf } from '../../errors.ts';
import type { Flight } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/event-store.ts';
import { type Column, type Columns, createColumns } from '../columns.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import { ANCHOR_MARGIN_US, cursorOf, NOW_MARGIN_US } from '../logs/sweep.ts';
import type { IntakeParts } from '../parts.ts';
import {
  type Findings,
  FlightFinder,
  type FlightFinderOptions,
  isMissed,
  noFindings,
  type Reading,
} from './flight-findings.ts';
import { FlightGaps, isTouching, type UnreadWindow } from './flight-gaps.ts';
import { createFailureLogReader } from './flight-logs.ts';
import { FlightRescans, type FlightScope } from './flight-rescan.ts';
import { type FlightRows, FlightWindows, noRows } from './flight-windows.ts';
import {
  endsInLog,
  forgottenUntilUs,
  isOfRegion,
  type KnownFlights,
  latestSuccessUs,
  NO_FLIGHTS,
  OpenFlights,
  recordsOf,
  widenedFromUs,
} from './open-flights.ts';

interface FlightWatchOptions extends FlightFinderOptions, Omit<IntakeParts, 'region' | 'poll'> {
  /** The largest page size to request. */
  readonly pageSize: () => number;
  /** For how long open Flights that no list shows are not requested again; absent for no time. */
  readonly openPauseMs?: (() => number) | undefined;
}

/** The outcome of a poll. */
interface Polled {
  /** Whether to poll again soon, since a failure waits for its reason. */
  readonly again: boolean;
  /** Whether to poll again at once, since a backlog is being read. */
  readonly more: boolean;
  readonly fresh: readonly Event[];
  readonly requests: number;
  /** The length of the time that was read, if there was no cursor. */
  readonly historyMs: number | undefined;
}

/** What one poll has read, and how far back it looked. */
interface Poll extends Reading {
  readonly scope: FlightScope;
  /** Records of open Flights that the service no longer has. */
  readonly vanished: readonly FlightRecord[];
}

const NO_LOGS: ReadonlySet<string> = new Set();

/** What the watches of all Birds in a region share. */
interface RegionFlights {
  readonly options: FlightWatchOptions;
  readonly windows: FlightWindows;
  readonly openFlights: OpenFlights;
  readonly finder: FlightFinder;
  /** For Birds that cannot be read: it does not request logs either. */
  readonly unreadFinder: FlightFinder;
  readonly gaps: FlightGaps;
  readonly rescans: FlightRescans;
  /** Each watch has a row in them. */
  readonly columns: Columns;
  /** Up to when the Bird's Flights were known, as last committed since the row was opened; 0 for never. */
  readonly keptUs: Column<number>;
  readonly cursorUs: Column<number>;
  readonly lastPolledUs: Column<number>;
  readonly readUs: Column<number>;
  /** When open Flights that no list shows were last requested. */
  readonly openAskedMs: Column<number>;
  /**
   * When the Bird was first seen unpublished; Infinity while it is published, -Infinity if it was never seen
   * published since the start.
   */
  readonly unpublishedMs: Column<number>;
  /** How far the service's clock was ahead of ours at the last poll. */
  aheadUs: number;
}

/** Returns a function that creates the watch of a Bird. All these watches share the region's state. */
export function createFlightWatches(
  options: FlightWatchOptions,
  gaps: FlightGaps = new FlightGaps(options),
): (birdId: string) => FlightWatch {
  const reading = { ...options, nestOf: (birdId: string) => options.names.nestOf(birdId) };
  const windows = new FlightWindows(reading);
  const columns = createColumns();
  const flights: RegionFlights = {
    options,
    windows,
    openFlights: new OpenFlights(reading, windows),
    finder: new FlightFinder(options, createFailureLogReader(reading)),
    unreadFinder: new FlightFinder(options, async () => undefined),
    gaps,
    rescans: new FlightRescans(options, columns),
    columns,
    keptUs: columns.add(0),
    cursorUs: columns.add(0),
    lastPolledUs: columns.add(0),
    readUs: columns.add(0),
    openAskedMs: columns.add(Number.NEGATIVE_INFINITY),
    unpublishedMs: columns.add(Number.NEGATIVE_INFINITY),
    aheadUs: 0,
  };
  return (birdId) => new FlightWatch(birdId, flights);
}

/** The watch of one Bird's Flights. There may be tens of thousands, so each holds only its own state. */
export class FlightWatch {
  readonly birdId: string;
  /** Its row in the region's columns. */
  readonly row: number;
  readonly #flights: RegionFlights;
  /** 0 until the stream was opened. */
  #stream = 0;
  /** Open Flights, and ended ones in the window that polls read again. */
  #known: Map<string, FlightRecord> | undefined;
  /** Failed Flights that wait for their reason and whose log did not show it. */
  #logsRead: Set<string> | undefined;
  /** The store may have forgotten the ends of Flights that started up to here. */
  #prunedUs = 0;
  #polled = false;
  #openFlights = 0;
  #isPolling = false;
  #isGone = false;

  constructor(birdId: string, flights: RegionFlights) {
    this.birdId = birdId;
    this.#flights = flights;
    this.row = flights.columns.addRow();
    flights.rescans.begin(this.row);
  }

  /** Up to which start Flights are known; 0 before the first. */
  cursorUs(): number {
    return this.#flights.cursorUs.get(this.row);
  }

  /** All Flights that started up to here are known, perhaps from an earlier run; 0 before that was checked. */
  verifiedUs(): number {
    const { rescans, keptUs, gaps } = this.#flights;
    return rescans.verifiedUs(this.row) || keptUs.get(this.row) || gaps.verifiedUs(this.birdId);
  }

  /**
   * When the last successful poll began that saw all open Flights and left no backlog, on our clock or on the service's,
   * whichever is behind; 0 before the first. The service's clock counts because it dates the starts of Flights.
   */
  readUs(): number {
    return this.#flights.readUs.get(this.row);
  }

  /** The number of open Flights. */
  openCount(): number {
    return this.#openFlights;
  }

  /**
   * Whether polls may leave the Bird out. To be called each time the inventory was read. Only an unpublished Bird may
   * be left out, which starts no Flights. No Flight may be active, and a rescan must have covered the time in which a
   * Flight that started before could still become visible late. The daily reading must not be due.
   */
  mayRest(isPublished: boolean): boolean {
    const { unpublishedMs, rescans, options } = this.#flights;
    if (isPublished) unpublishedMs.set(this.row, Number.POSITIVE_INFINITY);
    else if (unpublishedMs.get(this.row) === Number.POSITIVE_INFINITY) {
      unpublishedMs.set(this.row, options.clock.monotonicMs());
    }
    const isQuiet = this.#polled && this.#openFlights === 0;
    const visibleMs = unpublishedMs.get(this.row) + MOST_OVERLAP_US / 1000;
    return isQuiet && rescans.isDoneSince(this.row, visibleMs);
  }

  /**
   * To be called when the Bird no longer exists. Discards what is remembered about it outside this watch, which must
   * not be used any more.
   */
  gone(): void {
    const { gaps, windows, openFlights, keptUs } = this.#flights;
    gaps.gone(this.birdId, keptUs.get(this.row));
    windows.forget(this.birdId);
    openFlights.forget((this.#known ?? NO_FLIGHTS).keys());
    this.#isGone = true;
    if (!this.#isPolling) this.#giveRowBack();
  }

  /** Polls once. Throws what the service or the store threw. */
  async poll(): Promise<Polled> {
    this.#isPolling = true;
    try {
      return await this.#poll();
    } finally {
      this.#isPolling = false;
      if (this.#isGone) this.#giveRowBack();
    }
  }

  /** Another Bird may have the row from now on. */
  #giveRowBack(): void {
    this.#flights.rescans.end(this.row);
    this.#flights.columns.removeRow(this.row);
  }

  async #poll(): Promise<Polled> {
    const { options, finder, gaps, rescans, cursorUs, lastPolledUs, readUs } = this.#flights;
    const { region, report, clock } = options;
    const beganUs = clock.nowUs();
    const stream = await this.#open();
    const poll = await this.#readFromCursor(stream);
    const { rows, serviceNowUs } = poll;
    const { listedUs = serviceNowUs } = rows;
    const found = noFindings();
    for (const change of poll.vanished) {
      found.changes.push(change);
      finder.addGone(change.flightId, poll, found);
    }
    // In the order of their starts, so that a failure is known before the success that ends its alert.
    const startOf = (flight: Flight) => flight.startedAt?.us ?? 0;
    const inOrder = [...rows.flights.values()].sort((a, b) => startOf(a) - startOf(b));
    for (const flight of inOrder) await finder.consider(flight, poll, found);

    const more = rows.readToUs < Number.POSITIVE_INFINITY;
    // Open Flights that were requested separately may have started in the part that is still to be read. Earlier ones
    // than the window's are not all known, unless the last one was looked for.
    const knownFromUs = rows.lastStartUs > 0 ? rows.lastStartUs : poll.scope.fromUs;
    const startsUs = inOrder.map(startOf).filter((us) => us >= knownFromUs && us <= rows.readToUs);
    const reachedUs = Math.max(this.cursorUs(), cursorOf(startsUs, listedUs));
    const triedUs = poll.scope.wholeFromUs === undefined ? poll.scope.fromUs : 0;
    const fromUs = more ? Number.POSITIVE_INFINITY : triedUs;
    const unread = gaps.after(this.birdId, { fromUs, serviceNowUs, unread: rows.unread });
    const historyMs = this.cursorUs() === 0 ? (serviceNowUs - poll.fromUs) / 1000 : undefined;
    const unreadUs = unread[0]?.fromUs;
    const checkedUs = more ? 0 : rescans.verifiedAfter(this, poll.scope, listedUs, unreadUs);
    const fresh = await this.#commit(poll, found, reachedUs, unread, checkedUs);
    const recovered = fresh.filter((event) => isMissed(event, poll)).length;
    cursorUs.set(this.row, reachedUs);
    lastPolledUs.set(this.row, serviceNowUs);
    if (!more) rescans.done(this, poll.scope, listedUs, unreadUs);
    this.#keep(found);
    this.#polled = true;
    this.#countMissing(unread);
    gaps.keep(this.birdId, unread);
    if (recovered > 0) report({ what: 'recovered', region, feed: 'flight', count: recovered });
    if (found.duplicates > 0) report({ what: 'duplicates', region, feed: 'flight', count: found.duplicates });
    await gaps.report();
    const aheadUs = poll.serviceNowUs - poll.observedAtUs;
    if (!more && !rows.lacksOpen) readUs.set(this.row, beganUs + Math.min(0, aheadUs));
    return { again: found.awaiting.length > 0, more, fresh, requests: rows.requests, historyMs };
  }

  /** Resolves to the stream's number. The first call loads what earlier runs have stored. */
  async #open(): Promise<number> {
    const { options, gaps, rescans, keptUs, cursorUs } = this.#flights;
    const { region, store } = options;
    await gaps.open(this.birdId);
    const storedUs = gaps.takeVerified(this.birdId);
    if (storedUs > 0) keptUs.set(this.row, storedUs);
    if (this.#stream > 0) return this.#stream;
    const { row, records } = await store.transaction(async (tx) => {
      const row = await tx.streams.open(region, 'flight', this.birdId);
      const recent =
        row.cursorUs > 0 ? await tx.flights.since(row.stream, forgottenUntilUs(row.cursorUs)) : [];
      return { row, records: [...recent, ...(await tx.flights.open(row.stream))] };
    });
    if (records.length > 0) this.#known = new Map(records.map((record) => [record.flightId, record]));
    cursorUs.set(this.row, row.cursorUs);
    this.#prunedUs = row.prunedUs;
    this.#stream = row.stream;
    if (this.verifiedUs() < options.firstFromUs(this.birdId)) rescans.readsAll(this.row);
    return row.stream;
  }

  /** Moves the cursor back, because it was set while the service's clock was ahead. */
  async #retreat(serviceNowUs: number): Promise<void> {
    await this.#flights.options.store.transaction((tx) =>
      tx.streams.retreatCursor(this.#stream, serviceNowUs),
    );
    this.#stream = 0;
    this.#flights.lastPolledUs.set(this.row, 0);
    await this.#open();
  }

  /** Reads from the cursor, which first goes back if it is later than the service's clock. */
  async #readFromCursor(stream: number): Promise<Poll> {
    const read = () =>
      this.#read(stream).catch(async (error: unknown) => {
        await this.#endWaiting(stream, error);
        throw error;
      });
    const poll = await read();
    if (this.cursorUs() <= poll.serviceNowUs) return poll;
    // A single answer may show a wrong time, so a second one has to agree.
    const again = await read();
    if (this.cursorUs() <= again.serviceNowUs) return again;
    await this.#retreat(again.serviceNowUs);
    return read();
  }

  async #read(stream: number): Promise<Poll> {
    const { options, gaps, rescans } = this.#flights;
    const fromUs = this.#windowStart();
    const scope = rescans.scope(this, fromUs);
    const { wholeFromUs } = scope;
    const isRescan = scope.fromUs < fromUs || wholeFromUs !== undefined;
    const rows = noRows(isRescan ? [] : gaps.of(this.birdId));
    const known = this.#known ?? NO_FLIGHTS;
    const vanished = await this.#readRows(scope, isRescan, known, rows).catch((error: unknown) => {
      if (!isOfRegion(error, options.client)) rescans.failed(this.row, scope, fromUs);
      throw error;
    });
    const observedAtUs = options.clock.nowUs();
    const serviceNowUs = (rows.serverTimeUs ?? observedAtUs) + NOW_MARGIN_US;
    this.#flights.aheadUs = serviceNowUs - observedAtUs;
    const before = await recordsOf(options.store, stream, known, rows.flights.values());
    const firstFromUs = options.firstFromUs(this.birdId);
    return {
      ...this.#soFar(stream),
      fromUs,
      // The previous poll would have shown them, except those for which a rescan looks further back.
      newSinceUs: isRescan
        ? (wholeFromUs ?? scope.fromUs)
        : Math.max(fromUs, this.#flights.lastPolledUs.get(this.row)),
      rows,
      before,
      endsInLog: this.#polled ? NO_LOGS : endsInLog(rows.flights.values(), firstFromUs, serviceNowUs),
      logsRead: this.#logsRead ?? NO_LOGS,
      successUs: latestSuccessUs(rows.flights.values(), before),
      observedAtUs,
      serviceNowUs,
      scope,
      vanished,
    };
  }

  /** How far the Bird's Flights were read before. */
  #soFar(stream: number): Pick<Reading, 'birdId' | 'stream' | 'cursorUs' | 'prunedUs' | 'lastPolledUs'> {
    const [cursorUs, lastPolledUs] = [this.cursorUs(), this.#flights.lastPolledUs.get(this.row)];
    return { birdId: this.birdId, stream, cursorUs, prunedUs: this.#prunedUs, lastPolledUs };
  }

  /**
   * Adds everything that the service shows within a scope to the rows. Resolves to the records of open Flights that
   * the service no longer has.
   */
  async #readRows(
    scope: FlightScope,
    isRescan: boolean,
    known: KnownFlights,
    rows: FlightRows,
  ): Promise<readonly FlightRecord[]> {
    const { windows, openFlights, gaps } = this.#flights;
    const { wholeFromUs, active } = scope;
    if (await this.#readAtOnce(scope, rows)) return openFlights.read(this.birdId, known, true, rows);
    if (isRescan) await windows.read(this.birdId, { minStartUs: scope.fromUs }, rows, this.cursorUs());
    else await windows.readNewest(this.birdId, scope.fromUs, rows, this.cursorUs());
    // What ends while this poll reads is found by what it reads afterwards.
    if (active) await windows.read(this.birdId, { status: 'active' }, rows);
    if (wholeFromUs !== undefined) {
      if (this.#isAtRest(scope, rows)) await windows.proveLast(this.birdId, rows);
      const earlier = { minStartUs: wholeFromUs, maxStartUs: scope.fromUs + ANCHOR_MARGIN_US };
      await windows.read(this.birdId, { ...earlier, status: 'failed' }, rows);
      for (const { fromUs, toUs } of gaps.of(this.birdId)) {
        if (fromUs >= scope.fromUs) continue;
        await windows.read(this.birdId, { minStartUs: fromUs, maxStartUs: toUs }, rows);
      }
    }
    if (!active && this.#isOpenPaused(known, rows)) {
      rows.lacksOpen = true;
      return [];
    }
    return openFlights.read(this.birdId, known, active, rows);
  }

  /**
   * Whether open Flights that the rows lack are not requested now. Where requests are scarce, a busy Bird is polled far
   * more often than each interval, and a Flight that has been active for long hardly ends in between.
   */
  #isOpenPaused(known: KnownFlights, { flights }: FlightRows): boolean {
    const lacking = known.values().filter(({ open, flightId }) => open && !flights.has(flightId));
    const statuses = new Set(lacking.map(({ status }) => status));
    if (statuses.size === 0) return false;
    const { openAskedMs, options } = this.#flights;
    const nowMs = options.clock.monotonicMs();
    // One that has failed waits for its reason.
    const isPaused = nowMs < openAskedMs.get(this.row) + (options.openPauseMs?.() ?? 0);
    if (isPaused && !statuses.has('failed')) return true;
    openAskedMs.set(this.row, nowMs);
    return false;
  }

  /** Reads all that a first poll has to read. Resolves to whether certainly nothing is missing. */
  async #readAtOnce(scope: FlightScope, rows: FlightRows): Promise<boolean> {
    const { windows, rescans, options } = this.#flights;
    if (!rescans.isFirst(this.row, scope) || this.cursorUs() > 0) return false;
    const window = { minStartUs: scope.wholeFromUs! };
    if (!(await windows.readAtOnce(this.birdId, window, rows))) return false;
    // Its last Flight may have started before the retention.
    if (rows.flights.size === 0 && options.status(this.birdId) === 'active')
      await windows.readAtOnce(this.birdId, {}, rows);
    return true;
  }

  /** Whether no Flight of a Bird that may start some is known to have started, in this poll's window or before. */
  #isAtRest({ fromUs }: FlightScope, { flights }: FlightRows): boolean {
    if (this.cursorUs() > 0 || this.#flights.options.status(this.birdId) !== 'active') return false;
    return flights.size > 0 && flights.values().every(({ startedAt }) => (startedAt?.us ?? 0) < fromUs);
  }

  /** The earliest start that a poll has to look at. */
  #windowStart(): number {
    const { options } = this.#flights;
    const firstFromUs = options.firstFromUs(this.birdId);
    if (this.cursorUs() === 0) return firstFromUs;
    // Flights may become visible late, behind newer ones.
    const lateFromUs = this.cursorUs() - options.overlapUs();
    // A Flight that started before the first reading's beginning and was not active then is history.
    return Math.max(widenedFromUs(this.#known ?? NO_FLIGHTS, lateFromUs), firstFromUs);
  }

  async #commit(
    { stream, rows }: Reading,
    { changes, candidates, facts }: Findings,
    reachedUs: number,
    unread: readonly UnreadWindow[],
    checkedUs = 0,
  ): Promise<readonly Event[]> {
    const { options, gaps, keptUs } = this.#flights;
    const { quarantined } = rows;
    const verifiedUs = Math.min(
      checkedUs || this.verifiedUs(),
      unread[0]?.fromUs ?? Number.POSITIVE_INFINITY,
    );
    const audits = gaps.recordsOf(this.birdId, stream, unread, verifiedUs, keptUs.get(this.row));
    const parts = [changes, candidates, facts, quarantined, audits];
    const isChanged = parts.some((part) => part.length > 0);
    if (!isChanged && reachedUs === this.cursorUs()) return [];
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
    for (const audit of audits) keptUs.set(this.row, audit.verifiedUs);
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
      else if (startedAtUs < forgottenUntilUs(this.cursorUs())) this.#known?.delete(flightId);
    }
    if (openNow !== this.#openFlights || !this.#polled) {
      const { region, names, report } = this.#flights.options;
      const nestId = names.nestOf(this.birdId);
      report({ what: 'flights_active', region, nestId, birdId: this.birdId, count: openNow });
    }
    this.#openFlights = openNow;
  }

  /** The Bird cannot be read. Failures that need not wait for their reason any longer become events without one. */
  async #endWaiting(stream: number, error: unknown): Promise<void> {
    const { options, unreadFinder, openFlights, gaps, aheadUs } = this.#flights;
    const before = this.#known ?? NO_FLIGHTS;
    const waiting = [...before.values()].filter(({ open, status }) => open && status === 'failed');
    const observedAtUs = options.clock.nowUs();
    const reading: Reading = {
      ...this.#soFar(stream),
      fromUs: 0,
      newSinceUs: 0,
      rows: noRows(),
      before,
      endsInLog: NO_LOGS,
      logsRead: NO_LOGS,
      successUs: codeOf(error) === 'not_found' ? Number.POSITIVE_INFINITY : 0,
      observedAtUs,
      serviceNowUs: observedAtUs + aheadUs,
    };
    const found = noFindings();
    for (const record of waiting) {
      await unreadFinder.consider(openFlights.asKnown(this.birdId, record), reading, found);
    }
    if (found.changes.length === 0) return;
    await this.#commit(reading, found, this.cursorUs(), gaps.of(this.birdId));
    this.#keep(found);
  }

  /** Reports windows that are unreadable now and were not before this poll. */
  #countMissing(unread: readonly UnreadWindow[]): void {
    const { options, gaps } = this.#flights;
    const { region, report } = options;
    const before = gaps.of(this.birdId);
    const count = unread.filter((one) => !before.some((known) => isTouching(known, one))).length;
    if (count > 0) report({ what: 'missing', region, feed: 'flight', count });
  }
}
