/** Defines the log of one Flight, which is read from the service when a person asks for it, or a kind of alert. */

/** One entry of the log. Its texts come from outside and are hostile until a format encodes them. */
export interface FlightStep {
  readonly atUs: number;
  /** `other` is a sort not known today. */
  readonly sort: 'start' | 'end' | 'stopped' | 'log' | 'error' | 'other';
  /** The severity of a `log` entry in the service's words, such as `Information` or `Warning`; empty for none. */
  readonly level: string;
  /** This and the next two are empty if the entry has none. */
  readonly step: string;
  readonly scope: string;
  readonly message: string;
  /** Set if the step failed but the Flight continued, by skipping or retrying it. */
  readonly wentOn: 'skipped' | 'retried' | null;
}

export type FlightLog =
  | {
      /** The newest entries, oldest first. */
      readonly steps: readonly FlightStep[];
      /** How many older entries were not read. */
      readonly more: number;
    }
  /** Why the service was not asked, or what it answered: a sentence for people. */
  | { readonly refused: string };

/** The end of the log of a Flight in the air, as it was last read. Instants are the service's. */
export interface FlightTail {
  readonly readAtUs: number;
  /** When the newest entry was written; 0 if there was none. The rest is that entry's. */
  readonly wroteAtUs: number;
  readonly sort: FlightStep['sort'];
  /** The step's name and its id; empty if the entry has none. */
  readonly scope: string;
  readonly step: string;
  /** When the first entry was written that the reading before had not seen; 0 for none. */
  readonly resumedAtUs: number;
}

/** The step of the newest entry for people: its name, or else its id. */
export function stepName({ scope, step }: Pick<FlightTail, 'scope' | 'step'>): string {
  return scope || step;
}

/** The Flight whose log is requested. */
export interface FlightPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
  readonly flightId: string;
}
