/** What a check has found. */
export type Fault = 'lost' | 'invented' | 'repeated' | 'unexplained';

export interface Finding {
  readonly fault: Fault;
  /** The short name of the check that found it. */
  readonly check: string;
  readonly what: string;
}

export type Find = (fault: Fault, check: string, what: string) => void;

/** An instant in a form that is easy to compare: month, day and time to the millisecond. */
export function clockOf(us: number): string {
  return new Date(us / 1000).toISOString().slice(5, 23);
}
