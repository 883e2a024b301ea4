/**
 * Which keys a shape has, and which it refuses: those that Alertmanager or a later version supports and this one
 * does not.
 */
import * as z from 'zod';
import { nearest } from '../text/mistake-words.ts';
import type { Path } from './problem.ts';

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
