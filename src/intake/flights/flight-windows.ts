/**
 * Reads the Flights of a Bird that started in a window of time. The service's list has no paging and an unknown cap, so
 * windows are halved until an answer is surely whole:
 *
 *   listed     the answer is shorter than any cap can be: whole
 *   → known    the same Flights as the last time, when these were all there were: what started after them
 *   → around   it may be cut, and all that it lists started in a small part: what is before, that part, what is after
 *   → halved   it may be cut, or is too large to be received: its older half first, then the newer one
 *   → dense    a window of some seconds: in ever smaller parts, as far as the service distinguishes instants
 *   → by status, one after the other, where parts do not help: the last that can be asked
 *   → unread   set down in the rows, never passed over in silence
 */

import { hash } from 'node:crypto';
import { NestwatchError } from '../../errors.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Clock } from '../../time/clock.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';
import { type Core, coreOf } from './flight-core.ts';
import { isTouching, type UnreadWindow } from './flight-gaps.ts';
import { collect, type FlightRows, type Listed } from './flight-rows.ts';

const HOUR_MS = 3_600_000;

/** Answers with fewer Flights are taken as whole. */
const SUSPICIOUS_ROWS = 20;

/** With so many Flights in one poll, the newer part of a backlog waits for the next poll. */
const MOST_ROWS = 2_000;

/** Windows that are shorter are read as far as a service that counts milliseconds can distinguish instants. */
const DENSE_WINDOW_US = 8 * ANCHOR_MARGIN_US;
const DENSE_MARGIN_US = 2_000;
const LEAST_WINDOW_US = 20_000;

/** Requests for one window of some seconds. */
const DENSE_REQUESTS = 60;

/**
 * Answers in a row that are too large, after which what is left of a poll is unread: years are halved to some seconds
 * in less than thirty steps, so the service does not heed the window.
 */
const MOST_TOO_LARGE = 40;

/** What Flights can be asked for by (specification, searchFlights). */
const STATUSES = ['active', 'succeeded', 'failed', 'cancelled'];

export interface FlightReadingOptions {
  readonly client: ServiceClient;
  readonly clock: Clock;
  /** The Nest a Bird is in now; it may move. */
  readonly nestOf: (birdId: string) => string;
}

/** A window of start dates, both inclusive. Without a beginning it holds also the Flights of which no start is known. */
interface FlightWindow {
  readonly minStartUs?: number;
  readonly maxStartUs?: number;
  readonly status?: string;
}

export class FlightWindows {
  readonly #options: FlightReadingOptions;
  /**
   * The longest list of Flights that the region answered in an hour and in the one before, whichever Bird's: a cap shows
   * there, and the service may have set it since. Each Bird's last day is listed once an hour.
   */
  #longest = { hour: 0, now: 0, before: 0 };
  /** Where answers were seen to be cut; Infinity as long as none was. */
  #cap = Number.POSITIVE_INFINITY;
  /** By Birds whose last answer could have been cut and was found to be whole: the Flights that it listed. */
  readonly #whole = new Map<string, string>();

  constructor(options: FlightReadingOptions) {
    this.#options = options;
  }

  /**
   * Reads what started since an instant, as each poll does. Where a burst stays the newest that there is, its Flights
   * were all read once, and are not looked for again and again: one that is shown late beside them, by a service that
   * cuts its answers right there, is found by the next rescan.
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

  /** The Bird no longer exists. */
  forget(birdId: string): void {
    this.#whole.delete(birdId);
  }

  /**
   * Adds the Flights of a window to the rows. With a cursor it stops early where there are more than a poll should hold,
   * once some started after the cursor: so a backlog is read from its oldest end. `whole` is the answer about a window
   * that holds this one. Resolves to whether the window was read to its end.
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

  /** Reads a window whose answer may be cut (`listed`) or was too large. */
  async #readOn(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    cursorUs: number,
    listed: Listed | undefined,
  ): Promise<boolean> {
    const startsUs = [...(listed?.values() ?? [])];
    const endUs = window.maxStartUs ?? startsUs.reduce((a, b) => Math.max(a, b), this.#options.clock.nowUs());
    // The service keeps nothing for longer than some months, so halving the years before costs a few requests.
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

  /** Reads what is before the core of a window, the core itself, of which an answer is there, and what is after it. */
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

  /** Asks for a window once. Undefined for an answer that is too large. */
  async #ask(
    birdId: string,
    window: FlightWindow,
    rows: FlightRows,
    whole?: Listed,
  ): Promise<Listed | undefined> {
    const { client, nestOf } = this.#options;
    rows.requests += 1;
    try {
      const answer = await client.searchFlights(nestOf(birdId), birdId, window);
      rows.serverTimeUs = answer.serverTimeUs ?? rows.serverTimeUs;
      rows.tooLarge = 0;
      const listed = collect(answer.value, rows);
      if (listed.size > this.#cap) this.#cap = Number.POSITIVE_INFINITY;
      // As many, and others among them: the answer about the larger window was cut.
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

  /** Whether an answer may be cut: it is as long as the longest of late. */
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
   * Reads a few seconds in ever smaller parts; resolves to whether nothing of it can be missing. A service that
   * compares whole seconds answers about a part as about the whole, or with less than there is: then the parts do not
   * bring what was listed before.
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

  /** Reads a window status by status. Resolves to whether no answer was too large or cut. */
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

/** A part of a few seconds: what to ask for, and when what is looked for started. */
interface DensePart {
  readonly window: FlightWindow;
  readonly span: UnreadWindow;
  /** The answer, where it is there already. */
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
 * What is before and after the moment at which all that is listed started, and that moment. This is asked for by the whole
 * window: a service that compares whole seconds may have no answer about less.
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

/** The same for the same Flights, in whatever order they are listed. */
function nameOf(listed: Listed): string {
  return hash('sha256', JSON.stringify([...listed.keys()].sort()), 'base64');
}

/**
 * Whether the rows hold as many Flights as a poll should that started up to `toUs`, and some of them after the cursor. What
 * started later is then left to the next poll.
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
