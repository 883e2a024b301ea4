import * as z from 'zod';
import { type Check, readList } from '../../document/check.ts';
import { duration } from '../../document/value-shape.ts';
import { FINDING_SORTS, type FindingSort } from '../../domain/context/findings.ts';
import { nearest } from '../../text/mistake-words.ts';
import { formatDuration } from '../../time/duration.ts';

const BACK_AFTER_MS = 7 * 86_400_000;

export const contextShape = z.strictObject({
  show: z
    .array(z.enum(FINDING_SORTS))
    .prefault([...FINDING_SORTS])
    .describe(
      'What messages about failed Flights say in addition, from what is stored: `change`: who published or activated the Bird before, also in messages about slow ones; `novelty`: whether the error is new in the region; `who_acts`: who can end it; `also_failing`: other Birds with the same error; `connection`: a connection that was lost before. `[]` for nothing.',
    ),
  back_after: duration(1000)
    .prefault(formatDuration(BACK_AFTER_MS))
    .describe('An error that was not seen for longer is `back`, not `known`.'),
});

export interface ContextConfig {
  readonly show: readonly FindingSort[];
  readonly backAfterMs: number;
}

export function readContext(check: Check): ContextConfig | undefined {
  const path = ['context', 'show'];
  for (const at of readList(check, path)) {
    const name = check.raw(at);
    if (FINDING_SORTS.includes(name as FindingSort)) continue;
    const meant = typeof name === 'string' ? nearest(name, FINDING_SORTS) : undefined;
    const known = meant === undefined ? 'known' : `did you mean ${JSON.stringify(meant)}? Known`;
    check.problem(at, `${JSON.stringify(name)} is not known; ${known}: ${FINDING_SORTS.join(', ')}`);
  }
  const context = check.read(contextShape.prefault({}), ['context']);
  return context && { show: context.show, backAfterMs: context.back_after };
}
