/**
 * Reads the Flights of a Bird that started in a time window. The service's list has no paging and may be cut off at an
 * unknown length, its cap. So windows are split until every answer is certainly complete:
 *
 *   complete     the answer is shorter than any cap can be
 *   → unchanged  it may be cut off, but lists the same Flights as last time, which were all: only later ones are read
 *   → around     it may be cut off, and all it lists started in a small part, the core: reads before, in and after it
 *   → halved     it may be cut off or is too large to receive: the older half is read, then the newer one
 *   → dense      a window of some seconds is split further, down to the precision of the service's comparison
 *   → by status  if splitting does not help, each status is requested separately, as the last resort
 *   → unread     recorded in the rows as unreadable, never skipped silently
 */
import { hash } from 'node:crypto';
import { NestwatchError } from '../../errors.ts';
import type { Flight, Parsed } from '../../service/resources.ts';
import type { QuarantinedEntry } from '../../store/sql/watched/feed-streams.ts';
import { ANCHOR_MARGIN_US, NOW_MARGIN_US } from '../logs/sweep.ts';
import type { IntakeParts } from '../parts.ts';
import { isTouching, type UnreadWindow } from './flight-gaps.ts';

const HOUR_MS = 3_600_000;

/** Answers with fewer Flights are taken as complete. */
const SUSPICIOUS_ROWS = 20;

/** With this many Flights in one poll, the newer part of a backlog is left to the next poll. */
const MOST_ROWS = 2_000;

/**
 * Shorter windows are dense: they are split as far as a service that compares milliseconds can distinguish instants.
 */
const DENSE_WINDOW_US = 8 * ANCHOR_MARGIN_US;
const DENSE_MARGIN_US = 2_000;
const LEAST_WINDOW_US = 20_000;

/** The most requests for one dense window. */
const DENSE_REQUESTS = 60;

/**
 * After this many answers in a row that are too large, the rest of a poll is unread. Halving leads from years to some
 * seconds in fewer than thirty steps, so the service evidently ignores the window.
 */
const MOST_TOO_LARGE = 40;

/** The statuses by which Flights can be requested (specification, searchFlights). */
const STATUSES = ['active', 'succeeded', 'failed', 'cancelled'];

export interface FlightReadingOptions extends Pick<IntakeParts, 'client' | 'clock'> {
  /** The Nest that a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
}

/** A window of start dates, both inclusive. Without a beginning it includes Flights whose start is unknown. */
interface FlightWindow {
  readonly minStartUs?: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

export class FlightWindows {
  readonly #options: FlightReadingOptions;
  /**
   * The length of the longest list of Flights in this hour and in the one before, among all Birds of the region. A
   * cap shows there, even one that the service introduced recently. Each Bird's last day is listed once an hour.
   */
  #longest = { hour: 0, now: 0, before: 0 };
  /** The length at which answers were seen to be cut off; Infinity if none was. */
  #cap = Number.POSITIVE_INFINITY;
  /**
   * By Bird, if its last answer might have been cut off but proved complete: a digest of the Flights that it listed.
   */
  readonly #whole = new Map<string, string>();

  constructor(options: FlightReadingOptions) {
    this.#options = options;
  }

  /**
   * Reads what started since an instant, as each poll does. As long as a burst of Flights is the newest there is, it
   * is not split again in every poll, since it was read completely once. If the service cuts its answers off right
   * there, a Flight that becomes visible late among them is found by the next rescan.
   */
  async readNewest(birdId: string, minStartUs: number, rows: FlightRows, cursorUs: number): Promise<void> {
    const window = { minStartUs };
    const listed = await this.#ask(birdId, window, rows);
    const before = this.#whole.get(birdId);
    this.#whole.delete(birdId);
    if (listed && !this.#isSuspicious(listed)) return;
    const newestUs = Math.max(0, ...(listed?.values() ?? []));
    const name = listed && nameOf(listed);
    if (name === before && listed && listed.size < this.#cap) {
      const later = await this.#ask(birdId, { minStartUs: newestUs + ANCHOR_MARGIN_US }, rows);
      if (later && !this.#isSuspicious(later)) {
        this.#whole.set(birdId, before!);
        return;
      }
    }
    const isToTheEnd = await this.#readOn(birdId, window, rows, cursorUs, listed);
    const isAll = isToTheEnd && rows.unread.length === 0;
    const isOver = (rows.serverTimeUs ?? this.#options.clock.nowUs()) > newestUs + 2 * ANCHOR_MARGIN_US;
    const isWhole = [...rows.flights.keys()].every((id) => listed?.has(id));
    if (isAll && isOver && isWhole && name !== undefined) this.#whole.set(birdId, name);
  }

  /**
   * Reads everything that started in a window by one request, and notes when the last Flight started. Resolves to whether
   * the answer is certainly complete.
   */
  async readAtOnce(birdId: string, window: FlightWindow, rows: FlightRows): Promise<boolean> {
    const listed = await this.#ask(birdId, window, rows);
    const isWhole = listed !== undefined && !this.#isSuspicious(listed);
    if (isWhole) rows.lastStartUs = Math.max(0, ...listed.values());
    return isWhole;
  }

  /** Notes when the last Flight started if that is one of the rows, because no later one is listed. */
  async proveLast(birdId: string, rows: FlightRows): Promise<void> {
    const lastUs = rows.flights.values().reduce((us, { startedAt }) => Math.max(us, startedAt?.us ?? 0), 0);
    const later = await this.#ask(birdId, { minStartUs: lastUs + ANCHOR_MARGIN_US }, rows);
    if (later?.size === 0) rows.lastStartUs = lastUs;
  }

  /** To be called when the Bird no longer exists. */
  forget(birdId: string): void {
    this.#whole.delete(birdId);
  }

  /**
   * Adds the Flights of a window to the rows. With a cursor it stops early if there are more than a poll should hold
   * and some of them started after the cursor, so a backlog is read from its oldest end. `whole` is the answer for a
   * window that contains this one. Resolves to whether the window was read to its end.
   */
  async read(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs: number = Number.POSITIVE_INFINITY,
    whole?: Listed,
  ): Promise<boolean> {
    const listed = await this.#ask(birdId, window, rows, whole);
    if (listed && !this.#isSuspicious(listed)) return true;
    return this.#readOn(birdId, window, rows, cursorUs, listed);
  }

  /** Reads a window whose answer may be cut off (`listed`) or was too large. */
  async #readOn(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs: number,
    listed: Listed | undefined,
  ): Promise<boolean> {
    const startsUs = [...(listed?.values() ?? [])];
    const endUs = window.maxStartUs ?? startsUs.reduce((a, b) => Math.max(a, b), this.#options.clock.nowUs());
    // The service keeps nothing for longer than some months, so halving the years before that costs only a few
    // requests.
    const startUs = window.minStartUs ?? 0;
    const span = { fromUs: startUs, toUs: Math.max(startUs, endUs) };
    if (rows.tooLarge >= MOST_TOO_LARGE) {
      rows.unread.push(span);
      return true;
    }
    if (endUs - startUs < DENSE_WINDOW_US) {
      const isRead =
        !rows.givenUp.some((one) => isTouching(one, span)) &&
        (await this.#readDense(birdId, window, span, rows, listed, rows.requests + DENSE_REQUESTS));
      if (!isRead) rows.unread.push(span);
      return true;
    }
    const isKnownCut = (listed?.size ?? 0) >= this.#cap;
    const core = isKnownCut ? undefined : coreOf(listed, span, ANCHOR_MARGIN_US);
    if (core) return this.#readAround(birdId, window, rows, cursorUs, core);
    const middleUs = Math.floor((startUs + endUs) / 2);
    const older = { ...window, maxStartUs: middleUs };
    if (!(await this.read(birdId, older, rows, cursorUs, listed))) return false;
    if (isFull(rows, cursorUs, middleUs)) return false;
    const newer = { ...window, minStartUs: middleUs - ANCHOR_MARGIN_US };
    return this.read(birdId, newer, rows, cursorUs, listed);
  }

  /**
   * Reads the part before the core of a window, then the core, whose answer is already there, and the part after it.
   */
  async #readAround(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs: number,
    { fromUs, toUs, beforeUs, afterUs, listed }: Core,
  ): Promise<boolean> {
    if (beforeUs !== undefined) {
      const before = { ...window, maxStartUs: beforeUs };
      if (!(await this.read(birdId, before, rows, cursorUs, listed))) return false;
      if (isFull(rows, cursorUs, beforeUs)) return false;
    }
    const core = {
      ...window,
      ...(beforeUs === undefined ? {} : { minStartUs: fromUs }),
      ...(afterUs === undefined ? {} : { maxStartUs: toUs }),
    };
    if (!(await this.#readOn(birdId, core, rows, cursorUs, listed))) return false;
    if (afterUs === undefined) return true;
    if (isFull(rows, cursorUs, toUs)) return false;
    return this.read(birdId, { ...window, minStartUs: afterUs }, rows, cursorUs, listed);
  }

  /** Requests a window once. Undefined if the answer is too large. */
  async #ask(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    whole?: Listed,
  ): Promise<Listed | undefined> {
    const { client, nestOf, clock } = this.#options;
    rows.requests += 1;
    try {
      const answer = await client.searchFlights(nestOf(birdId), birdId, window);
      rows.listedUs ??= (answer.serverTimeUs ?? clock.nowUs()) + NOW_MARGIN_US;
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      rows.tooLarge = 0;
      const listed = collect(answer.value, rows);
      if (listed.size > this.#cap) this.#cap = Number.POSITIVE_INFINITY;
      // An answer for a part is as long as that for the whole, but lists other Flights: the answer for the whole was
      // cut off.
      const isCut = whole?.size === listed.size && [...listed.keys()].some((id) => !whole.has(id));
      if (isCut && this.#isSuspicious(listed)) this.#cap = listed.size;
      const longest = this.#longestOfLate();
      longest.now = Math.max(longest.now, listed.size);
      return listed;
    } catch (error) {
      if (!(error instanceof NestwatchError && error.code === 'too_large')) throw error;
      rows.tooLarge += 1;
      return undefined;
    }
  }

  /** Whether an answer may be cut off, because it is as long as the longest recent one. */
  #isSuspicious({ size }: Listed): boolean {
    const { now, before } = this.#longestOfLate();
    return size >= Math.max(SUSPICIOUS_ROWS, now, before);
  }

  #longestOfLate() {
    const hour = Math.floor(this.#options.clock.monotonicMs() / HOUR_MS);
    const { hour: last, now } = this.#longest;
    if (hour !== last) this.#longest = { hour, now: 0, before: hour === last + 1 ? now : 0 };
    return this.#longest;
  }

  /**
   * Reads a window of some seconds in ever smaller parts. Resolves to whether certainly nothing is missing. A service
   * that compares whole seconds answers for a part as for the whole, or with less than there is. It is recognised
   * because the parts do not return what was listed before.
   */
  async #readDense(
    birdId: string,
    window: FlightWindow,
    { fromUs, toUs }: UnreadWindow,
    rows: FlightRows,
    listed: Listed | undefined,
    mostRequests: number,
  ): Promise<boolean> {
    if (rows.requests >= mostRequests || rows.tooLarge >= MOST_TOO_LARGE) return false;
    if (toUs - fromUs < LEAST_WINDOW_US) return this.#readEachStatus(birdId, window, rows, listed);
    const isKnownCut = (listed?.size ?? 0) >= this.#cap;
    const core = isKnownCut ? undefined : coreOf(listed, { fromUs, toUs }, DENSE_MARGIN_US);
    const isMoment = core !== undefined && core.toUs - core.fromUs < LEAST_WINDOW_US;
    const parts = isMoment ? aroundMoment(window, { fromUs, toUs }, core) : halves(window, { fromUs, toUs });
    const found = new Set<string>();
    const denser: { readonly part: DensePart; readonly own: Listed | undefined }[] = [];
    for (const part of parts) {
      const own = part.listed ?? (await this.#ask(birdId, part.window, rows, listed));
      for (const id of own?.keys() ?? []) found.add(id);
      if (!own || this.#isSuspicious(own)) denser.push({ part, own });
    }
    const isSame = denser.length > 1 && denser.every(({ own }) => own?.size === found.size);
    const lacksSome = listed ? [...listed.keys()].some((id) => !found.has(id)) : found.size === 0;
    const isHollow = denser.length === 0 && lacksSome;
    if (isSame || isHollow) return this.#readEachStatus(birdId, window, rows, listed);
    let isRead = true;
    for (const { part, own } of denser) {
      isRead = (await this.#readDense(birdId, part.window, part.span, rows, own, mostRequests)) && isRead;
    }
    return isRead;
  }

  /** Reads a window status by status. Resolves to whether no answer was too large or cut off. */
  async #readEachStatus(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    listed: Listed | undefined,
  ): Promise<boolean> {
    if (window.status !== undefined) return listed !== undefined && listed.size < this.#cap;
    let isRead = true;
    for (const status of STATUSES) {
      const own = await this.#ask(birdId, { ...window, status }, rows, listed);
      if (!own || own.size >= this.#cap) isRead = false;
    }
    return isRead;
  }
}

/** A part of a dense window: what to request, and when the Flights in question started. */
interface DensePart {
  readonly window: FlightWindow;
  readonly span: UnreadWindow;
  /** The answer, if it is already there. */
  readonly listed?: Listed;
}

function halves(window: FlightWindow, { fromUs, toUs }: UnreadWindow): DensePart[] {
  const middleUs = Math.floor((fromUs + toUs) / 2);
  const endUs = middleUs + DENSE_MARGIN_US;
  const startUs = middleUs - DENSE_MARGIN_US;
  return [
    { window: { ...window, maxStartUs: endUs }, span: { fromUs, toUs: endUs } },
    { window: { ...window, minStartUs: startUs }, span: { fromUs: startUs, toUs } },
  ];
}

/**
 * Three parts: before the moment at which all listed Flights started, that moment, and after it. The moment is
 * requested by the whole window, because a service that compares whole seconds may return nothing for less.
 */
function aroundMoment(window: FlightWindow, { fromUs, toUs }: UnreadWindow, core: Core): DensePart[] {
  const { beforeUs, afterUs, listed } = core;
  const parts: DensePart[] = [];
  if (beforeUs !== undefined)
    parts.push({ window: { ...window, maxStartUs: beforeUs }, span: { fromUs, toUs: beforeUs } });
  parts.push({ window, span: { fromUs: core.fromUs, toUs: core.toUs }, listed });
  if (afterUs !== undefined)
    parts.push({ window: { ...window, minStartUs: afterUs }, span: { fromUs: afterUs, toUs } });
  return parts;
}

/** A digest of the Flights, independent of their order. */
function nameOf(listed: Listed): string {
  return hash('sha256', JSON.stringify([...listed.keys()].sort()), 'base64');
}

/**
 * Whether the rows hold as many Flights that started up to `toUs` as a poll should, some of them after the cursor. If
 * so, it removes the later ones, which are left to the next poll.
 */
function isFull(rows: FlightRows, cursorUs: number, toUs: number): boolean {
  const { flights } = rows;
  if (flights.size < MOST_ROWS) return false;
  const startsUs = [...flights.values()]
    .map((flight) => flight.startedAt?.us ?? 0)
    .filter((us) => us <= toUs);
  if (startsUs.length < MOST_ROWS || !startsUs.some((us) => us > cursorUs)) return false;
  rows.readToUs = toUs;
  for (const [flightId, { startedAt }] of flights) {
    if (startedAt && startedAt.us > toUs) flights.delete(flightId);
  }
  return true;
}

// Collects what the requests of one poll of a Bird's Flights have returned.

export interface FlightRows {
  /** By id. A later reading of a Flight replaces an earlier one. */
  readonly flights: Map<string, Flight>;
  readonly quarantined: QuarantinedEntry[];
  serverTimeUs: number | null;
  /**
   * When the first list was answered, on the service's clock. Of what started later, the lists after it may show only a
   * part.
   */
  listedUs: number | undefined;
  requests: number;
  /** How many answers in a row were too large to receive. */
  tooLarge: number;
  /** How many logs were read although the pace had no room. */
  logsWithoutRoom: number;
  /** Whether a log did not come in time. */
  isLogLate: boolean;
  /** Windows that could not be read, whatever was asked. */
  readonly unread: UnreadWindow[];
  /** Windows that were unreadable before. If their Flights are dense, they are not tried again. */
  readonly givenUp: readonly UnreadWindow[];
  /** Flights that started later are left to the next poll; Infinity if the window was read to its end. */
  readToUs: number;
  /** When the last Flight of a Bird at rest started; 0 if that was not looked for, or is not certain. */
  lastStartUs: number;
  /** Whether open Flights that the lists lack were not requested. */
  lacksOpen: boolean;
}

/** The starts of the Flights in one answer, by id; 0 if unknown. */
type Listed = ReadonlyMap<string, number>;

export function noRows(givenUp: readonly UnreadWindow[] = []): FlightRows {
  return {
    flights: new Map(),
    quarantined: [],
    serverTimeUs: null,
    listedUs: undefined,
    requests: 0,
    tooLarge: 0,
    logsWithoutRoom: 0,
    isLogLate: false,
    unread: [],
    givenUp,
    readToUs: Number.POSITIVE_INFINITY,
    lastStartUs: 0,
    lacksOpen: false,
  };
}

/** Adds the items of an answer to the rows. Returns what the answer lists. */
export function collect(items: readonly Parsed<Flight>[], rows: FlightRows): Listed {
  const listed = new Map<string, number>();
  for (const item of items) {
    if (item.ok) {
      rows.flights.set(item.entry.id, item.entry);
      listed.set(item.entry.id, item.entry.startedAt?.us ?? 0);
    } else {
      // A malformed row counts as well when it is judged whether the answer was cut off.
      rows.quarantined.push({ raw: item.raw, reason: item.reason });
      listed.set(item.raw, 0);
    }
  }
  return listed;
}

interface Core {
  readonly fromUs: number;
  readonly toUs: number;
  /**
   * The end of the window's earlier part, which overlaps the core's beginning; undefined if the core begins with the
   * window.
   */
  readonly beforeUs: number | undefined;
  /**
   * The beginning of the window's later part, which overlaps the core's end; undefined if the core ends with the
   * window.
   */
  readonly afterUs: number | undefined;
  /** The Flights that the answer lists. */
  readonly listed: Listed;
}

/**
 * Undefined if the core is not smaller than half of the window, or if the service listed Flights outside the window.
 * The core and the parts beside it overlap by the margin, so that a service that compares with less precision leaves
 * no hole.
 */
function coreOf(
  answer: Listed | undefined,
  { fromUs, toUs }: UnreadWindow,
  marginUs: number,
): Core | undefined {
  const dated = [...(answer ?? [])].filter(([, startUs]) => startUs > 0);
  if (dated.length === 0) return undefined;
  const firstUs = dated.reduce((least, [, us]) => Math.min(least, us), Number.POSITIVE_INFINITY);
  const lastUs = dated.reduce((most, [, us]) => Math.max(most, us), 0);
  if (firstUs < fromUs - marginUs || lastUs > toUs + marginUs) return undefined;
  const hasBefore = firstUs - 2 * marginUs > fromUs;
  const hasAfter = lastUs + 2 * marginUs < toUs;
  const core = {
    fromUs: hasBefore ? firstUs - 2 * marginUs : fromUs,
    toUs: hasAfter ? lastUs + 2 * marginUs : toUs,
    beforeUs: hasBefore ? firstUs - marginUs : undefined,
    afterUs: hasAfter ? lastUs + marginUs : undefined,
    listed: new Map(dated),
  };
  return core.toUs - core.fromUs < (toUs - fromUs) / 2 ? core : undefined;
}
