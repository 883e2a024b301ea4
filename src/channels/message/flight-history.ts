import type { FlightOutcome } from '../../domain/grouping/notification.ts';

/** How a Bird's last Flights ended, the oldest first. */
export interface FlightHistory {
  /** `● ● ✕`: one mark for each. */
  readonly marks: readonly { readonly mark: string; readonly outcome: FlightOutcome }[];
  /**
   * `2 succeeded, then 1 failed`: the same in words, for people who cannot see or do not know the marks; totals if
   * there are many.
   */
  readonly words: string;
}

const MARKS: Readonly<Record<FlightOutcome, string>> = { succeeded: '●', failed: '✕', cancelled: '○' };

/** Nobody follows more changes than this. */
const MAX_RUNS = 3;

export function flightHistory(outcomes: readonly FlightOutcome[]): FlightHistory {
  const runs: { outcome: FlightOutcome; count: number }[] = [];
  for (const outcome of outcomes) {
    const last = runs.at(-1);
    if (last?.outcome === outcome) last.count += 1;
    else runs.push({ outcome, count: 1 });
  }
  return {
    marks: outcomes.map((outcome) => ({ mark: MARKS[outcome], outcome })),
    words: runs.length <= MAX_RUNS ? runs.map(counted).join(', then ') : totals(outcomes),
  };
}

function totals(outcomes: readonly FlightOutcome[]): string {
  const sums = [...Map.groupBy(outcomes, (outcome) => outcome)].map(([outcome, all]) =>
    counted({ outcome, count: all.length }),
  );
  return `${sums.join(', ')}; the last one ${outcomes.at(-1)}`;
}

function counted({ outcome, count }: { outcome: FlightOutcome; count: number }): string {
  return `${count} ${outcome}`;
}

/** `Last Flights: ● ● ✕ (2 succeeded, then 1 failed)` */
export function historyLine({ marks, words }: FlightHistory): string {
  return `Last Flights: ${marks.map(({ mark }) => mark).join(' ')} (${words})`;
}
