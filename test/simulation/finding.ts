/** What a checker has to say. */
export type Fault = 'lost' | 'invented' | 'repeated' | 'unexplained';

export interface Finding {
  readonly fault: Fault;
  /** Which check found it: a short name. */
  readonly check: string;
  readonly what: string;
}

export type Find = (fault: Fault, check: string, what: string) => void;

/** An instant as people compare them: month, day and time to the millisecond. */
export function clockOf(us: number): string {
  return new Date(us / 1000).toISOString().slice(5, 23);
}
