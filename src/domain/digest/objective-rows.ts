/** Computes what a report of a month says of objectives: how the Nests and regions met them with the Flights of the month. */
import type { Labels } from '../alert/alert.ts';
import { type Matcher, matchesAll } from '../matchers/matcher.ts';
import { successRatio } from '../statistics/flight-statistics.ts';
import { allowedFailures } from '../statistics/objective.ts';
import type { ReportRow } from './report-figures.ts';

export interface ReportedObjective {
  readonly name: string;
  readonly match: readonly Matcher[];
  readonly forEach: 'nest' | 'region';
  /** The share that must succeed, above 0 and below 1. */
  readonly success: number;
}

interface Counted {
  readonly labels: Labels;
  readonly succeeded: number;
  readonly failed: number;
}

/** Those that are not met first, then those with the least left. Nothing is said of what did not fly. */
export function objectiveRows(
  objectives: readonly ReportedObjective[],
  nests: readonly Counted[],
  regions: readonly Counted[],
): ReportRow[] {
  const rows = objectives.flatMap(({ name, match, forEach, success: target }) =>
    (forEach === 'nest' ? nests : regions)
      .filter(({ labels }) => matchesAll(match, { nest: '', nest_id: '', ...labels }))
      .flatMap(({ labels, succeeded, failed }) => {
        const success = successRatio({ succeeded, failed });
        const allowance_left = allowedFailures(target, succeeded + failed) - failed;
        const objective = allowance_left >= 0 ? 1 : 0;
        const figures = { objective, allowance_left, success, target };
        return success === undefined ? [] : [{ labels, text: name, figures }];
      }),
  );
  return rows.sort((a, b) => a.figures.allowance_left - b.figures.allowance_left);
}
