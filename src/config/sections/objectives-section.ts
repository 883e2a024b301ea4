import * as z from 'zod';
import { type Check, readList, refuseRepeated } from '../../document/check.ts';
import { readMatchers } from '../../document/read-matchers.ts';
import { duration, matcherList, words } from '../../document/value-shape.ts';
import type { Matcher } from '../../domain/matchers/matcher.ts';
import { meantOr } from '../../text/mistake-words.ts';
import { formatDuration } from '../../time/duration.ts';

const DAY_MS = 86_400_000;
/** The labels that an objective may match. */
export const OBJECTIVE_LABELS = ['nest', 'nest_id', 'region'];

const COUNTED = z.enum(['flights', 'deadlines']);

export const objectiveShape = z.strictObject({
  name: words.describe('The label `objective` of its alerts.'),
  match: matcherList
    .prefault([])
    .describe('Matchers on `region`, `nest` and `nest_id`, all of which must match.'),
  for_each: z.enum(['nest', 'region']).prefault('nest').describe('What has to meet it by itself.'),
  success: z
    .number()
    .gt(0, { error: 'must be a share between 0 and 1, such as 0.98' })
    .lt(1, { error: 'must be a share between 0 and 1, such as 0.98' })
    .describe('The share of Flights that must succeed. Cancelled ones do not count.'),
  count: z
    .array(COUNTED)
    .refine((counted) => counted.includes('flights'), { error: 'must contain flights' })
    .prefault(['flights'])
    .describe(
      'What counts: with `deadlines`, each one that a rule of FlightOverdue gives and a Bird missed counts as a failure.',
    ),
  over: duration(DAY_MS, 90 * DAY_MS)
    .prefault('28d')
    .describe('The time over which that share is meant; at most `store.retention`.'),
  least_failures: z
    .int()
    .min(1)
    .max(1_000)
    .prefault(5)
    .describe('With fewer failed Flights there is no alert, whatever their share.'),
});

export interface Objective {
  readonly name: string;
  readonly match: readonly Matcher[];
  readonly forEach: 'nest' | 'region';
  /** Above 0 and below 1. */
  readonly success: number;
  readonly countsDeadlines: boolean;
  readonly overMs: number;
  readonly leastFailures: number;
}

export function readObjectives(check: Check, retentionMs: number | undefined): Objective[] {
  const paths = readList(check, ['objectives']);
  refuseRepeated(check, paths, 'objective');
  return paths.flatMap((path) => {
    const match = readMatchers(check, [...path, 'match']);
    for (const { name } of match.filter((one) => !OBJECTIVE_LABELS.includes(one.name))) {
      check.problem([...path, 'match'], `no objective has ${name}; ${meantOr(name, OBJECTIVE_LABELS)}`);
    }
    const objective = check.read(objectiveShape, path);
    if (!objective) return [];
    const {
      name,
      for_each: forEach,
      success,
      count,
      over: overMs,
      least_failures: leastFailures,
    } = objective;
    const countsDeadlines = count.includes('deadlines');
    if (retentionMs !== undefined && overMs > retentionMs) {
      const kept = formatDuration(overMs);
      check.problem(
        [...path, 'over'],
        `is longer than \`store.retention\`: set that to ${kept}, or less here`,
      );
    }
    return [{ name, match, forEach, success, countsDeadlines, overMs, leastFailures }];
  });
}
