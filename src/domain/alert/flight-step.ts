/** What the log of one Flight says, as it is read from the service when a person asks for it. */

/** One entry of the log. Text in it comes from outside and is hostile until a format encodes it. */
export interface FlightStep {
  readonly atUs: number;
  /** `other`: of a kind that is not known today. */
  readonly sort: 'start' | 'end' | 'stopped' | 'log' | 'error' | 'other';
  /** How serious an entry of the sort `log` is, as the service says it: `Information`, `Warning`, …; empty for none. */
  readonly level: string;
  /** Empty where the entry names none, as the two below it. */
  readonly step: string;
  readonly scope: string;
  readonly message: string;
  /** The step failed, and the Flight went on: without it, or by trying again. */
  readonly wentOn: 'skipped' | 'retried' | null;
}

export type FlightLog =
  | {
      /** The newest, the oldest of them first. */
      readonly steps: readonly FlightStep[];
      /** Older entries that were not read. */
      readonly more: number;
    }
  /** Why the service was not asked, or what it answered: a sentence for people. */
  | { readonly refused: string };

/** Whose log is asked for. */
export interface FlightPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
  readonly flightId: string;
}
