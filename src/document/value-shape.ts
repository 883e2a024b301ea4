import * as z from 'zod';
import { DURATION, formatDuration, LONGEST_MS, parseDuration } from '../time/duration.ts';

/** The shapes of single values. A message given here is what people read; all others come from `check.ts`. */

export const words = z.string().min(1);

/** `LONGEST_MS`, as people write it. */
const LONGEST = '100y';
const NOT_A_DURATION = 'must be a duration such as 30s, 5m or 1h30m';

/** The bounds of every shape of a duration, for the document of the keys. */
export const DURATION_BOUNDS = z.registry<{
  readonly leastMs: number;
  readonly mostMs: number;
  readonly never: boolean;
}>();

/** A duration in milliseconds, from `leastMs` to `mostMs`; the number 0 is one as well. */
export function duration(leastMs = 0, mostMs = LONGEST_MS) {
  const longest = mostMs === LONGEST_MS ? LONGEST : formatDuration(mostMs);
  return z
    .union([z.string().regex(DURATION, { error: NOT_A_DURATION }), z.literal(0)], { error: NOT_A_DURATION })
    .transform((value) => parseDuration(String(value)) ?? 0)
    .refine((ms) => ms >= leastMs, { error: `must be at least ${formatDuration(leastMs)}` })
    .refine((ms) => ms <= mostMs, { error: `must not be longer than ${longest}` })
    .register(DURATION_BOUNDS, { leastMs, mostMs, never: false });
}

/** A duration from 1s for which `never` stands as null. */
export function durationOrNever() {
  const error = `${NOT_A_DURATION}, or never`;
  return z
    .union([z.string().regex(DURATION, { error }), z.literal('never')], { error })
    .transform((value) => (value === 'never' ? null : (parseDuration(value) ?? 0)))
    .refine((ms) => ms === null || (ms >= 1000 && ms <= LONGEST_MS), {
      error: `must be at least 1s and not longer than ${LONGEST}`,
    })
    .register(DURATION_BOUNDS, { leastMs: 1000, mostMs: LONGEST_MS, never: true });
}

/** A text that must not be printed, or the path of a file that holds it: `name` and `name_file`. */
export function twins<Name extends string>(name: Name, what: string) {
  return {
    [name]: words.optional().describe(what),
    [`${name}_file`]: words
      .optional()
      .describe(`A file that holds \`${name}\`, read again when it changes; relative to this file.`),
  } as Record<Name | `${Name}_file`, z.ZodOptional<z.ZodString>>;
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const NOT_A_LABEL = 'is not a label name: letters, digits and underscores, no digit first';

export const labelName = z.string().regex(LABEL_NAME, { error: NOT_A_LABEL });

/** What `group_by` lists. */
export const groupLabel = z.string().regex(/^(?:[a-zA-Z_][a-zA-Z0-9_]*|\.\.\.)$/, {
  error: 'must be a label name, or `...` for all',
});

/** Label or annotation names and their texts. */
export const labelMap = z.record(labelName, z.string());

export const matcherList = z.array(words);
