/** The shapes of single values. Messages given here are shown as they are; `text/mistake-words.ts` words all others. */
import * as z from 'zod';
import { DURATION, formatDuration, LONGEST_MS, parseDuration } from '../time/duration.ts';

export const words = z.string().min(1);

/** A text with which nothing is wrong; `mistake` says what is, without quoting it. */
export function checked(mistake: (text: string) => string | undefined) {
  return words.superRefine((text, context) => {
    const message = mistake(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
}

/** `LONGEST_MS` in words. */
const LONGEST = '100y';
const NOT_A_DURATION = 'must be a duration such as 30s, 5m or 1h30m';

/** The limits of every duration's shape, for the generated documentation. */
export const DURATION_BOUNDS = z.registry<{
  readonly leastMs: number;
  readonly mostMs: number;
  readonly never: boolean;
}>();

/** A duration from `leastMs` to `mostMs`, parsed to milliseconds. The number 0 is accepted as well. */
export function duration(leastMs = 0, mostMs = LONGEST_MS) {
  const longest = mostMs === LONGEST_MS ? LONGEST : formatDuration(mostMs);
  return z
    .union([z.string().regex(DURATION, { error: NOT_A_DURATION }), z.literal(0)], { error: NOT_A_DURATION })
    .transform((value) => parseDuration(String(value)) ?? 0)
    .refine((ms) => ms >= leastMs, { error: `must be at least ${formatDuration(leastMs)}` })
    .refine((ms) => ms <= mostMs, { error: `must not be longer than ${longest}` })
    .register(DURATION_BOUNDS, { leastMs, mostMs, never: false });
}

/** A duration of at least 1s, parsed to milliseconds, or `never`, parsed to null. */
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

/**
 * Two keys for a secret: `name` holds the text, `name_file` the path of a file that holds it. `writeOnly` is JSON
 * Schema's word for a value that is never shown.
 */
export function twins<Name extends string>(name: Name, what: string) {
  return {
    [name]: words.optional().meta({ description: what, writeOnly: true }),
    [`${name}_file`]: words
      .optional()
      .describe(`A file that holds \`${name}\`, read again when it changes; relative to this file.`),
  } as Record<Name | `${Name}_file`, z.ZodOptional<z.ZodString>>;
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const NOT_A_LABEL = 'is not a label name: letters, digits and underscores, no digit first';

export const labelName = z.string().regex(LABEL_NAME, { error: NOT_A_LABEL });

/** An item of `group_by`. */
export const groupLabel = z.string().regex(/^(?:[a-zA-Z_][a-zA-Z0-9_]*|\.\.\.)$/, {
  error: 'must be a label name, or `...` for all',
});

/** Label or annotation names with their values. */
export const labelMap = z.record(labelName, z.string());

export const matcherList = z.array(words);
