/** Keys that Alertmanager or a later version knows and this one does not, each with what to write instead. */
import * as z from 'zod';

const REFUSED = 'Not supported: ';

/**
 * A key that Alertmanager or a later version knows and this one does not: it is refused with what to do instead,
 * unless it is an empty list, which means nothing anywhere.
 */
export function refused(instead: string) {
  const error = `is not supported by this version: ${instead}`;
  return z.array(z.unknown(), { error }).max(0, { error }).optional().describe(`${REFUSED}${instead}.`);
}

/** The same of several keys. */
export function refusedKeys<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, refused(instead)])) as Record<
    Key,
    ReturnType<typeof refused>
  >;
}

/** A key of Alertmanager's that is taken so that its files load, and says nothing here: no document names it. */
export function withoutEffect<Shape extends z.ZodType>(shape: Shape, instead: string) {
  return shape.optional().describe(`${REFUSED}${instead}.`);
}

/** The same of several keys, whatever stands there. */
export function keysWithoutEffect<Key extends string>(keys: readonly Key[], instead: string) {
  return Object.fromEntries(keys.map((key) => [key, withoutEffect(z.unknown(), instead)])) as Record<
    Key,
    z.ZodOptional<z.ZodUnknown>
  >;
}

/** What to do instead of a key that says nothing here; undefined of one that does. */
export function insteadOf({
  description,
}: {
  readonly description?: string | undefined;
}): string | undefined {
  return description?.startsWith(REFUSED) ? description.slice(REFUSED.length, -1) : undefined;
}

/** Whether a shape, or its JSON Schema, is that of a key that says nothing here. */
export function isRefused(shape: { readonly description?: string | undefined }): boolean {
  return insteadOf(shape) !== undefined;
}
