/** The records that a world holds behind the service's resources. Only the world's actions change them. */

export type BirdStatus = 'active' | 'unpublished' | 'suspended';
export type TriggerType = 'manual' | 'event' | 'scheduled';
export type FlightOutcome = 'succeeded' | 'failed' | 'cancelled';

export interface UserRecord {
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly isActive: boolean;
}

export interface NestRecord {
  readonly id: string;
  readonly name: string;
  readonly memberIds: ReadonlySet<string>;
  readonly birds: ReadonlyMap<string, BirdRecord>;
}

export interface BirdRecord {
  readonly id: string;
  readonly nestId: string;
  readonly name: string;
  readonly status: BirdStatus;
  readonly triggerType: TriggerType;
  /** The duration of a Flight started by `flyBird`. */
  readonly flightDurationMs: number;
  /** Trigger failures since the trigger last worked. */
  readonly eventErrorsInARow: number;
  readonly deletedAtUs: number | undefined;
  /** Visible entries in order of their instants. */
  readonly logs: readonly EntryRecord[];
  /** Visible Flights in order of their starts. */
  readonly flights: readonly FlightRecord[];
  readonly flightsById: ReadonlyMap<string, FlightRecord>;
  readonly activeFlights: ReadonlySet<FlightRecord>;
}

/** A Bird log entry or a notification. */
export interface EntryRecord {
  readonly feed: 'bird_log' | 'notification';
  readonly id: string;
  readonly createdAtUs: number;
  readonly visibleAtUs: number;
  /** Empty if it concerns the whole organisation. */
  readonly nestId: string;
  /** The Bird whose log this is; empty for notifications. */
  readonly birdId: string;
  /** The fields as the specification names them, without `id`, `createdAt`, `workspaceId` and `workflowId`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Overrides the entry as written, at the very end: a record key by key, anything else as a whole. */
  readonly raw: unknown;
  readonly deletedAtUs: number | undefined;
}

/** One end of a Flight; a Flight that was reopened has several. */
export interface FlightEnd {
  readonly status: FlightOutcome;
  readonly endedAtUs: number;
  /** From when on it could be read: a service may learn of an end late. */
  readonly visibleAtUs: number;
  readonly errorMessages: string;
  readonly failedStep: FailedStep;
  /** Errors in its log that did not stop it. */
  readonly skippedErrors: number;
  readonly retriedErrors: number;
  /** When the Flight became active again. */
  readonly reopenedAtUs: number | undefined;
}

/** The step that failed, and how (an index of the service's error types). */
export interface FailedStep {
  readonly stepId: string;
  readonly scope: string;
  readonly errorType: number;
}

export interface FlightRecord {
  readonly id: string;
  readonly birdId: string;
  readonly startedAtUs: number;
  readonly visibleAtUs: number;
  readonly ends: readonly FlightEnd[];
  /** Entries of its log beside those that follow from the Flight itself. */
  readonly told?: readonly FlightLogRecord[];
}

export interface FlightLogRecord {
  readonly id: string;
  readonly flightId: string;
  readonly createdAtUs: number;
  /** The fields as the specification names them; undefined ones do not apply. */
  readonly fields: Readonly<Record<string, unknown>>;
}

// By what entries and Flights are kept in order (`insert`, `remove`).

export function createdAtOf(entry: EntryRecord): number {
  return entry.createdAtUs;
}

export function startedAtOf(flight: FlightRecord): number {
  return flight.startedAtUs;
}

/** The end in force; undefined while the Flight is active. */
export function endOf(flight: FlightRecord): FlightEnd | undefined {
  const last = flight.ends.at(-1);
  return last?.reopenedAtUs === undefined ? last : undefined;
}
