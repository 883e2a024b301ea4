/**
 * What time alone makes wrong: a kind may judge open Flights, or Birds, whatever their status. And what is wrong in the
 * inventory: it may judge a region as a whole, where something may be missing.
 */
import type { Period } from '../../time/zone-format.ts';
import type { Alert } from '../alert/alert.ts';
import type { Event } from '../alert/event.ts';
import type { Fact, FlightTail, Place, SwitchedOff } from '../alert/fact.ts';
import type { Rule } from '../alert/rule.ts';
import type { Deadline, PastFlight } from '../statistics/deadlines.ts';
import type { ListedBird } from './inventory/compare-birds.ts';

/** An open Flight. */
export interface FlightToJudge {
  readonly stream: number;
  readonly flightId: string;
  readonly startedAtUs: number;
  readonly place: Place;
  /** When its log is to be read next, by our clock; 0 if no kind wants it. */
  readonly logDueUs: number;
  /** The end of its log; null if it was not read. */
  readonly tail: FlightTail | null;
}

export interface BirdToJudge {
  readonly place: Place;
  readonly status: string;
  readonly triggerType: string;
  readonly statusSinceUs: number;
  /** It had this status when first seen, and may have had it long before. */
  readonly hasFirstStatus: boolean;
  /** When it came to be watched; once its first status has changed, up to a reading before. 0 if it did so with its region. */
  readonly joinedUs: number;
  /** Since when its events are news; 0 if that is as long as its region is watched. */
  readonly newsSinceUs: number;
  /** The stream of its Flights; undefined before the first poll. */
  readonly stream: number | undefined;
  /** When its latest Flight started; 0 for none. */
  readonly lastStartUs: number;
  /** Up to when deadlines of any rule were judged: the last one, or when it came to be watched; 0 if none was. */
  readonly deadlineUs: number;
  /** Up to when the Flights of periods that were over are counted, for all rules; 0 for never. */
  readonly countedUs: number;
}

/** A Flight that succeeded. */
export interface Landed {
  readonly startedAtUs: number;
  readonly endedAtUs: number;
}

/** The past of a Bird. What is a function is read only if a kind asks for it, and once for all who do. */
export interface History {
  /**
   * When the last reading of its Flights since the start of the process began; 0 if there was none. What was not read
   * since it became overdue may have ended in time.
   */
  readonly readAtUs: number;
  /** Whether logs of Flights are read for kinds that want them. */
  readonly areLogsRead: boolean;
  /** Since when all its Flights are known; undefined if that is not known. */
  knownFromUs(): Promise<number | undefined>;
  /** Those that started at this instant or later, in order of their starts; first those without one (`tx.flights.since`). */
  flightsSince(us: number): Promise<readonly PastFlight[]>;
  /** The event of how a Flight ended, which says why it failed; undefined if it is not kept. */
  endOf(flight: Pick<PastFlight, 'flightId' | 'status'>): Promise<Event | undefined>;
  /** Who or what switched the Bird off last, as its log says; undefined if it does not, or says that it is on again. */
  switchedOff(): Promise<SwitchedOff | undefined>;
  /** Whether one of these time intervals contains the instant. */
  isWithin(intervals: readonly string[], us: number): boolean;
  /** How long its last Flights took, microseconds. */
  durations(): Promise<readonly number[]>;
  /** Those among its last `most` Flights that succeeded, in order of their starts. */
  landed(most: number): Promise<readonly Landed[]>;
  /** How many of its Flights started in [fromUs, untilUs); counts to 100,000. */
  starts(fromUs: number, untilUs: number): Promise<number>;
  /** When the first of its kept Flights started; undefined for none. */
  firstStartUs(): Promise<number | undefined>;
  /** When its region could not be read completely, as far as it was so at `sinceUs` or later. */
  blindSpans(sinceUs: number): Promise<readonly Period[]>;
  /** The starts of its last Flights: how many gaps are between them, the longest one, and all of them together. */
  gaps(): Promise<{ readonly count: number; readonly longestUs: number; readonly spanUs: number }>;
}

export interface Judgement {
  /** When to judge again; null if it is not known. An instant that has passed: once its Flights are read again. */
  readonly nextUs: number | null;
  /** What raises the alert. */
  readonly fact?: Fact;
  /** The deadlines that are judged now, oldest first. */
  readonly deadlines?: readonly Deadline[];
  /** Those until then are judged as well: there were none. */
  readonly judgedUs?: number;
  /** Up to when the Flights of periods that are over are counted now. */
  readonly countedUs?: number;
  /**
   * The log of the Flight is to be read now and then from now on, and by this instant at the latest. Absent if it need
   * not be read any more.
   */
  readonly logByUs?: number;
  /** Whether this explains the Flight, or may once its log is read: the kind that it `precedes` raises nothing. */
  readonly claims?: boolean;
}

/**
 * Whether a log that was never read is worth waiting for. One that was refused is due again only later, and one that
 * has been due for long finds no room among the requests.
 */
export function isLogAwaited(
  { tail, logDueUs }: Pick<FlightToJudge, 'tail' | 'logDueUs'>,
  { areLogsRead }: Pick<History, 'areLogsRead'>,
  nowUs: number,
  patienceUs: number,
): boolean {
  return (
    areLogsRead && tail === null && logDueUs <= nowUs && (logDueUs === 0 || nowUs - logDueUs < patienceUs)
  );
}

export interface Subjects {
  readonly flight: FlightToJudge;
  readonly bird: BirdToJudge;
}

/** A Nest that is watched. */
export interface NestToJudge {
  readonly place: Place;
  /** Its active members, as the service addresses them; undefined if the service never listed them. */
  readonly members: readonly string[] | undefined;
  /** Addresses of members of whom the service does not say whether they are active. */
  readonly maybeActive: readonly string[];
  /** The same at the reading that was judged before. */
  readonly membersBefore: readonly string[] | undefined;
}

/** What the last reading of a region's inventory, and those before, have left. */
export interface RegionToJudge {
  readonly region: string;
  /** Those that the service has and nestwatch watches. */
  readonly birds: readonly ListedBird[];
  /** Whether the last reading listed all Birds of the Nests with this name, or there is none. */
  isRead(nest: string): boolean;
  readonly nests: readonly NestToJudge[];
  /** When the last reading began, and the one that was judged before it; undefined for none since the start. */
  readonly readAtUs: number;
  readonly readBeforeUs: number | undefined;
  /** Ids of Birds about which BirdDeactivated fires. */
  readonly deactivated: ReadonlySet<string>;
  /** As in `History`. */
  switchedOff(place: Place): Promise<SwitchedOff | undefined>;
}

/** The alerts of a rule that fire or wait for its `for`, by subject. */
export type OpenAlerts = ReadonlyMap<string, Alert>;

interface JudgesOf<Of extends keyof Subjects, R extends Rule> {
  readonly of: Of;
  /** A Bird is also judged as soon as a Flight of it starts or succeeds. */
  readonly isWokenByFlights?: true;
  /** Pure but for what it reads of the history. */
  judge(subject: Subjects[Of], history: History, rule: R, nowUs: number): Promise<Judgement>;
}

export type Judges<R extends Rule> =
  | JudgesOf<'bird', R>
  | (JudgesOf<'flight', R> & {
      /** Younger Flights need not be judged. */
      leastMs(rule: R): number;
      /** The kind that raises nothing about a Flight that this one claims. */
      readonly precedes?: string;
    });
