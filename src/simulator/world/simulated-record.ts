/** What a world holds: the state behind the resources. Only `world.ts` changes it. */

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
  /** How long a Flight takes that `flyBird` starts. */
  readonly flightDurationMs: number;
  /** EventErrors since the trigger last worked. */
  readonly eventErrorsInARow: number;
  readonly deletedAtUs: number | undefined;
  /** Visible entries in the order of their instants. */
  readonly logs: readonly EntryRecord[];
  /** Visible Flights in the order of their starts. */
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
  /** Empty for what concerns the whole organisation. */
  readonly nestId: string;
  /** Of a Bird log: the Bird whose log it is. Empty for notifications. */
  readonly birdId: string;
  /** The fields as the specification names them, without `id`, `createdAt`, `workspaceId` and `workflowId`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Laid over what is written at the very end: a record's keys one by one, anything else instead of the entry. */
  readonly raw: unknown;
  readonly deletedAtUs: number | undefined;
}

/** One end of a Flight; a Flight that was active again afterwards has several. */
export interface FlightEnd {
  readonly status: FlightOutcome;
  readonly endedAtUs: number;
  readonly errorMessages: string;
  readonly failedStep: FailedStep;
  readonly skippedErrors: number;
  readonly retriedErrors: number;
  /** When the Flight became active again. */
  readonly reopenedAtUs: number | undefined;
}

/** Where in a Bird's steps it went wrong, and how (an index of the service's error types). */
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
}

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
