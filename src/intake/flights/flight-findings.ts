/** Works out what is new in the Flights that a poll has read: changed records, events, and facts for the alerts. */
import { type Event, present } from '../../domain/alert/event.ts';
import type { Fact, Place } from '../../domain/alert/fact.ts';
import type { Flight, FlightLogEntry } from '../../service/resources.ts';
import type { FlightRecord } from '../../store/event-store.ts';
import { formatInstant } from '../../time/instant.ts';
import { type EventCandidate, markPast } from '../commit.ts';
import { MOST_OVERLAP_US } from '../lateness.ts';
import type { Names } from '../parts.ts';
import type { FailureLog, ReadFailureLog } from './flight-logs.ts';
import type { FlightRows } from './flight-windows.ts';
import { endOf } from './open-flights.ts';

/** The statuses that end a Flight. An unknown status becomes an event too, but the Flight stays open. */
const ENDED = new Set(['succeeded', 'failed', 'cancelled']);

export interface FlightFinderOptions {
  readonly region: string;
  readonly names: Names;
  /** The Bird's status in the inventory. */
  readonly status: (birdId: string) => string | undefined;
  readonly overlapUs: () => number;
  /** Called with the lateness of each Flight that appeared behind the cursor. */
  readonly late: (latenessUs: number) => void;
  /** Where the first reading of the Bird's Flights began. */
  readonly firstFromUs: (birdId: string) => number;
  /** On the service's clock. What occurred before it is history. */
  readonly watchedSinceUs: (birdId: string) => number;
  /** How long a failed Flight without a reason is held back. */
  readonly reasonWaitUs: number;
}

/** What one poll of a Bird has read. */
export interface Reading {
  readonly birdId: string;
  readonly stream: number;
  /** The earliest start that a poll has to look at, apart from rescans. */
  readonly fromUs: number;
  /** Flights that were not known before have started, or become visible, no earlier than this. */
  readonly newSinceUs: number;
  /** Up to which start Flights were known before. */
  readonly cursorUs: number;
  /** The store may have forgotten the ends of Flights that started up to here. */
  readonly prunedUs: number;
  /** When the previous poll ran, on the service's clock; 0 if there was none. */
  readonly lastPolledUs: number;
  readonly rows: FlightRows;
  /** The previously known records of these Flights. */
  readonly before: ReadonlyMap<string, FlightRecord>;
  /** Failed Flights from before the first reading's beginning of which only the log may show when they ended. */
  readonly endsInLog: ReadonlySet<string>;
  /** Failed Flights that wait for their reason and whose log did not show it. */
  readonly logsRead: ReadonlySet<string>;
  /**
   * When the latest Flight started whose success this poll is the first to see; 0 if there is none. Infinity if no
   * reason can come any more.
   */
  readonly successUs: number;
  readonly observedAtUs: number;
  readonly serviceNowUs: number;
}

/** What a poll has found out, to be committed together. */
export interface Findings {
  readonly changes: FlightRecord[];
  readonly candidates: EventCandidate[];
  readonly facts: Fact[];
  /** Failed Flights without a reason yet. They stay open for a while. */
  readonly awaiting: { readonly flightId: string; readonly isLogRead: boolean }[];
  duplicates: number;
}

export function noFindings(): Findings {
  return { changes: [], candidates: [], facts: [], awaiting: [], duplicates: 0 };
}

export class FlightFinder {
  readonly #options: FlightFinderOptions;
  readonly #readFailureLog: ReadFailureLog;
  readonly #region: string;
  readonly #names: Names;
  readonly #activeAgain = new ActiveAgain();

  constructor(options: FlightFinderOptions, readFailureLog: ReadFailureLog) {
    this.#options = options;
    this.#readFailureLog = readFailureLog;
    this.#region = options.region;
    this.#names = options.names;
  }

  /** Adds what is new about a Flight to the findings. */
  async consider(flight: Flight, reading: Reading, found: Findings): Promise<void> {
    const record = reading.before.get(flight.id);
    const ended = ENDED.has(flight.status);
    const startedAtUs = flight.startedAt?.us ?? 0;
    const log = record ? undefined : await this.#logOfEnd(flight, reading);
    if (!record && ended && this.#isHistory(flight, reading, log)) return;
    if (!record && ended && startedAtUs > 0 && startedAtUs <= reading.prunedUs) {
      found.duplicates += 1;
      return;
    }
    if (!record && startedAtUs > 0) {
      this.#addStart(flight.id, startedAtUs, reading, found);
      this.#learnLateness(startedAtUs, reading);
    }
    // An answer without a status says nothing about a known Flight, which then does not change.
    const isSame = flight.status === '' || (record?.status === flight.status && record.open === !ended);
    if (ended) this.#activeAgain.ended(flight.id, record?.open === true, reading);
    if (record && (isSame || this.#isDoubtful(flight, startedAtUs, record, reading))) {
      found.duplicates += 1;
      return;
    }
    // The Flight was known before the service stated its start.
    const isDatedNow = record?.startedAtUs === 0 && startedAtUs > 0 && record.status !== flight.status;
    if (isDatedNow) this.#addStart(flight.id, startedAtUs, reading, found);
    const next: FlightRecord = {
      stream: reading.stream,
      flightId: flight.id,
      startedAtUs: record?.startedAtUs ?? startedAtUs,
      status: flight.status,
      open: !ended,
      ends: (record?.ends ?? 0) + (ended ? 1 : 0),
    };
    if (flight.status === 'active' || flight.status === '') found.changes.push(next);
    else await this.#addStatus(flight, record, next, reading, found, log);
  }

  /** The log of a Flight from before the first reading's beginning, if only that may show when it ended. */
  async #logOfEnd({ id }: Flight, { birdId, rows, endsInLog }: Reading): Promise<FailureLog | undefined> {
    return endsInLog.has(id) ? this.#readFailureLog(birdId, id, rows, 'time') : undefined;
  }

  /** Whether the Flight is shown as active after its end, and that is not believed yet. */
  #isDoubtful(
    { id, status }: Flight,
    startedAtUs: number,
    { open, status: before }: FlightRecord,
    reading: Reading,
  ): boolean {
    const isAgain = !open && ENDED.has(before) && !ENDED.has(status);
    return isAgain && !this.#activeAgain.isBelieved(id, startedAtUs, reading);
  }

  /**
   * Whether the Flight started before the first reading's beginning and, as far as known, had ended when the watch
   * began.
   */
  #isHistory(flight: Flight, { birdId, serviceNowUs }: Reading, log: FailureLog | undefined): boolean {
    const startedAtUs = flight.startedAt?.us ?? 0;
    if (startedAtUs === 0 || startedAtUs >= this.#options.firstFromUs(birdId)) return false;
    const endedAt = endOf(flight, serviceNowUs) ?? log?.endedAt;
    return (endedAt?.us ?? startedAtUs) < this.#options.watchedSinceUs(birdId);
  }

  /** Whether an end at `us` is read by the first poll of a Bird that is watched again. */
  #isResumed({ birdId, lastPolledUs }: Reading, us: number): boolean {
    const { watchedSinceUs } = this.#options;
    return lastPolledUs < watchedSinceUs(birdId) && us >= watchedSinceUs('');
  }

  /** Adds the fact that the service no longer has a Flight. */
  addGone(flightId: string, { birdId, observedAtUs }: Reading, { facts }: Findings): void {
    facts.push({ fact: 'flight_gone', place: this.#placeOf(birdId), flightId, atUs: observedAtUs });
  }

  /** Adds the fact that a Flight started. */
  #addStart(flightId: string, startedAtUs: number, { birdId }: Reading, { facts }: Findings): void {
    const historic = startedAtUs < this.#options.watchedSinceUs(birdId);
    facts.push({ fact: 'flight_started', place: this.#placeOf(birdId), flightId, startedAtUs, historic });
  }

  #placeOf(birdId: string): Place {
    const nestId = this.#names.nestOf(birdId);
    const [nest, bird] = [this.#names.nest(nestId), this.#names.bird(birdId)];
    return { region: this.#region, nestId, nest, birdId, bird };
  }

  /** Learns how late a Flight became visible. */
  #learnLateness(startedAtUs: number, reading: Reading): void {
    const { fromUs, cursorUs, lastPolledUs, serviceNowUs } = reading;
    const isWatched = lastPolledUs > 0 && serviceNowUs - lastPolledUs < MOST_OVERLAP_US;
    if (!isWatched || startedAtUs >= cursorUs) return;
    // If only a rescan met the Flight, its lateness is unknown, except that regular polls do not look back that far.
    this.#options.late(startedAtUs < fromUs ? this.#options.overlapUs() : serviceNowUs - startedAtUs);
  }

  /** Adds the event of a Flight's end, or of an unknown status. */
  async #addStatus(
    flight: Flight,
    record: FlightRecord | undefined,
    next: FlightRecord,
    reading: Reading,
    found: Findings,
    logOfEnd: FailureLog | undefined,
  ): Promise<void> {
    const { birdId, rows, logsRead, observedAtUs, serviceNowUs } = reading;
    // When an unknown status began is not known either. The start is used, so that the event always has the same
    // instant.
    const given = next.open ? flight.startedAt : endOf(flight, serviceNowUs);
    // If our or the service's clock is behind, the Flight must still not end before it started.
    const seenUs = Math.max(rows.serverTimeUs ?? observedAtUs, next.startedAtUs);
    const plainEnd = given ?? { us: seenUs, text: formatInstant(seenUs) };
    // A known Flight may also have ended while its Bird was not watched, or before its status was first given.
    // Otherwise its end is news, since a stated duration may be wrong.
    const mayHaveEnded = (us: number) => record?.status === '' || this.#isResumed(reading, us);
    const mayBeBefore = !record || (!next.open && !!given && mayHaveEnded(given.us));
    const isBefore = (us: number) => mayBeBefore && us < this.#options.watchedSinceUs(birdId);
    // The service does not say when a Flight that was never seen before has ended. Then its start decides whether it
    // is history, or else the earliest instant since which it can have been visible.
    const byStart = !given && !record;
    let historic = isBefore(byStart ? next.startedAtUs || reading.newSinceUs : plainEnd.us);
    const asksLog = flight.status === 'failed' && (!historic || byStart);
    const failedUs = failedSinceUs(record);
    const isWaitOver = !this.#isAwaited(next.startedAtUs, failedUs ?? serviceNowUs, reading);
    // Without any instant it may be history, which raises no alert.
    const isUndated = historic && next.startedAtUs === 0;
    const isNew = isWaitOver || !logsRead.has(flight.id);
    const ofReason = flight.errorMessages ? 'step' : isNew ? 'reason' : 'reason again';
    const purpose = isUndated ? 'time' : ofReason;
    const log =
      logOfEnd ?? (asksLog ? await this.#readFailureLog(birdId, flight.id, rows, purpose) : undefined);
    if (byStart && log?.endedAt) historic = isBefore(log.endedAt.us);
    const reason = flight.errorMessages || log?.failure?.message;
    if (flight.status === 'failed' && !historic && !reason && !isWaitOver) {
      found.awaiting.push({ flightId: flight.id, isLogRead: log !== undefined });
      if (failedUs !== undefined) return;
      found.changes.push({ ...next, open: true, ends: record?.ends ?? 0, endedAtUs: serviceNowUs });
      return;
    }
    found.changes.push(next);
    const place = { nestId: this.#names.nestOf(birdId), birdId };
    const occurredAt = log?.endedAt && log.endedAt.us <= serviceNowUs ? log.endedAt : plainEnd;
    const end = { flight, ends: Math.max(1, next.ends), occurredAt, failure: log?.failure };
    const event = flightEvent(this.#region, place, end, this.#names, observedAtUs);
    const candidate = { event, historic, birdStatus: this.#options.status(birdId) };
    found.candidates.push(markPast(candidate, birdId, this.#options.watchedSinceUs));
  }

  /**
   * Whether the reason of a failure may still come. Once a Flight that started later has succeeded it is no longer
   * awaited: the alert has to receive the failure before that success, or the success would not end it.
   */
  #isAwaited(startedAtUs: number, sinceUs: number, { serviceNowUs, successUs }: Reading): boolean {
    const waitedUs = serviceNowUs - sinceUs;
    return waitedUs >= 0 && waitedUs < this.#options.reasonWaitUs && successUs <= startedAtUs;
  }
}

/** Since when the Flight is known to have failed, if that was not reported as an event yet. */
function failedSinceUs(record: FlightRecord | undefined): number | undefined {
  return record?.open && record.status === 'failed' ? record.endedAtUs : undefined;
}

/** Whether regular polls had missed the event's Flight and only a rescan found it. */
export function isMissed({ attributes }: Event, { before, cursorUs, fromUs }: Reading): boolean {
  const isOpen = before.get(String(attributes.flight_id))?.open;
  return cursorUs > 0 && !isOpen && Number(attributes.started_at_us) < fromUs;
}

// Decides whether a Flight that has ended is active again. One server of the service may be behind the others, and
// still show a Flight as active after another has shown its end. If a single answer were believed, that end would be
// reported a second time. So answers must have said so for a minute, without one that says otherwise.

/** The part of a poll's `Reading` that matters here. */
interface Looked {
  readonly fromUs: number;
  readonly newSinceUs: number;
  readonly serviceNowUs: number;
}

const SAID_FOR_US = 60_000_000;

/** The most Flights remembered. Beyond this, the one first seen longest ago is forgotten. */
const MOST_REMEMBERED = 1_000;

class ActiveAgain {
  /** When an answer first said so, or when the end was first seen, on the service's clock, by Flight. */
  readonly #saidUs = new Map<string, number>();

  /** To be called when an answer shows a Flight that has ended as active. Returns whether to believe that. */
  isBelieved(flightId: string, startedAtUs: number, { fromUs, newSinceUs, serviceNowUs }: Looked): boolean {
    const saidUs = this.#saidUs.get(flightId);
    if (saidUs === undefined) {
      // Only rescans look back that far, so no answer would say so a minute later.
      if (startedAtUs < fromUs && newSinceUs < fromUs) return true;
      this.#remember(flightId, serviceNowUs);
      return false;
    }
    if (serviceNowUs - saidUs < SAID_FOR_US) return false;
    this.#saidUs.delete(flightId);
    return true;
  }

  /** To be called when an answer shows the Flight's end; `isNew` if it was open until then. */
  ended(flightId: string, isNew: boolean, { serviceNowUs }: Looked): void {
    this.#saidUs.delete(flightId);
    if (isNew) this.#remember(flightId, serviceNowUs);
  }

  #remember(flightId: string, us: number): void {
    const [oldest] = this.#saidUs.size >= MOST_REMEMBERED ? this.#saidUs.keys() : [];
    if (oldest !== undefined) this.#saidUs.delete(oldest);
    this.#saidUs.set(flightId, us);
  }
}

/** The end of a Flight, beyond what the Flight itself says. */
interface FlightEnd {
  readonly flight: Flight;
  /** 1 for the first end. */
  readonly ends: number;
  readonly occurredAt: { readonly us: number; readonly text: string };
  /** The Flight log entry that describes the failure, if the log was read. */
  readonly failure?: FlightLogEntry | undefined;
}

function flightEvent(
  region: string,
  place: { readonly nestId: string; readonly birdId: string },
  end: FlightEnd,
  names: Names,
  observedAtUs: number,
): Event {
  const { flight, failure } = end;
  return {
    key: `${region}/flight/${flight.id}/${flight.status}${end.ends > 1 ? `#${end.ends}` : ''}`,
    region,
    feed: 'flight',
    type: `flight.${flight.status}`,
    occurredAt: end.occurredAt.text,
    occurredAtUs: end.occurredAt.us,
    observedAtUs,
    nestId: place.nestId,
    nest: names.nest(place.nestId),
    birdId: place.birdId,
    bird: names.bird(place.birdId),
    message: flight.errorMessages || failure?.message || '',
    attributes: present({
      flight_id: flight.id,
      status: flight.status,
      started_at: flight.startedAt?.text ?? '',
      started_at_us: flight.startedAt?.us ?? '',
      duration_seconds: flight.durationSeconds ?? '',
      step_id: failure?.stepId ?? '',
      scope: failure?.scope ?? '',
      error_type: failure?.errorType ?? '',
    }),
  };
}
