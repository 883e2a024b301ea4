/** Shapes for keys that Alertmanager or a later version supports and this one does not, with what to write instead. */
import * as z from 'zod';

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
