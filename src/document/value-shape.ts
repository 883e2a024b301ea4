/** The shapes of single values. Messages given here are shown as they are; `text/mistake-words.ts` words all others. */
import * as z from 'zod';
import { nearest } from '../text/mistake-words.ts';
import { DURATION, formatDuration, LONGEST_MS, parseDuration } from '../time/duration.ts';
import type { Path } from './problem.ts';

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

// Which keys a shape has, and which it refuses: those that Alertmanager or a later version supports and this one
// does not.

const REFUSED = 'Not supported: ';

/**
 * A key that this version does not support. It is refused with `instead`, unless it is an empty list, which never
 * means anything.
 */
export function refused(instead: string) {
  const error = `is not supported by this version: ${instead}`;
  return z.array(z.unknown(), { error }).max(0, { error }).optional().describe(`${REFUSED}${instead}.`);
}

/** The same for several keys. */
export function refusedKeys<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, refused(instead)])) as Record<
    Key,
    ReturnType<typeof refused>
  >;
}

/** A key of Alertmanager's that is accepted and ignored, so that its files load. The documentation leaves it out. */
export function withoutEffect<Shape extends z.ZodType>(shape: Shape, instead: string) {
  return shape.optional().describe(`${REFUSED}${instead}.`);
}

/** The same for several keys, with any value. */
export function keysWithoutEffect<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, withoutEffect(z.unknown(), instead)])) as Record<
    Key,
    z.ZodOptional<z.ZodUnknown>
  >;
}

/** What to do instead of an unsupported key; undefined for a supported one. */
export function insteadOf({
  description,
}: {
  readonly description?: string | undefined;
}): string | undefined {
  return description?.startsWith(REFUSED) ? description.slice(REFUSED.length, -1) : undefined;
}

/** Whether a shape, or its JSON Schema, belongs to an unsupported key. */
export function isRefused(shape: { readonly description?: string | undefined }): boolean {
  return insteadOf(shape) !== undefined;
}

/** `known` are the keys allowed there. */
export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant ? `unknown key; did you mean \`${meant}\`?` : `unknown key; known here: ${known.join(', ')}`;
}

/** The supported keys of a shape at a path. Refused keys are not worth suggesting. */
export function keysOf(shape: z.ZodType, path: Path): string[] {
  const object = shapeAt(shape, path);
  if (!(object instanceof z.ZodObject)) return [];
  return Object.entries(object.shape)
    .filter(([, inner]) => !isRefused(inner as z.ZodType))
    .map(([key]) => key);
}

function shapeAt(shape: z.ZodType, path: Path): unknown {
  const target = path.reduce<unknown>((at, step) => {
    const inner = unwrapped(at);
    if (inner instanceof z.ZodObject) return Object.hasOwn(inner.shape, step) ? inner.shape[step] : undefined;
    if (inner instanceof z.ZodRecord) return inner.valueType;
    return inner instanceof z.ZodArray ? inner.element : undefined;
  }, shape);
  return unwrapped(target);
}

function unwrapped(shape: unknown): unknown {
  let inner = shape;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault || inner instanceof z.ZodDefault) {
    inner = inner.unwrap();
  }
  return inner;
}
