/**
 * Every bound on what comes from outside, in one place. A bound keeps one answer, one person or one name from taking
 * the time, memory or disk that all the others need. `src/observe/README.md` shows this table.
 */

export interface Limit {
  /** The most that is taken. */
  readonly most: number;
  readonly unit: 'bytes' | 'characters' | 'items' | 'values' | 'connections';
  /** Of what that is the most. */
  readonly of: string;
  /** Why there is a bound, and why this one. */
  readonly reason: string;
  /** What happens to what goes beyond. */
  readonly beyond: string;
  /** Whether `nestwatch_limit_reached_total{limit}` counts each time that it is reached. */
  readonly counted: boolean;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const LIMITS = {
  answer_bytes: {
    most: 16 * MIB,
    unit: 'bytes',
    of: 'one answer of the service, unpacked',
    reason: 'An answer is held whole while it is read; a page of 100 entries has some 50 kB.',
    beyond: 'The connection is cut, and smaller pages or shorter windows are asked for.',
    counted: true,
  },
} as const satisfies Readonly<Record<string, Limit>>;

export type LimitName = keyof typeof LIMITS;

/** Limits that are reached while nestwatch runs, and counted then. */
export const COUNTED_LIMITS = (Object.keys(LIMITS) as LimitName[]).filter((name) => LIMITS[name].counted);
