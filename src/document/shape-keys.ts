/** Which keys a shape has at a path, for messages about those that it has not. */
import * as z from 'zod';
import { nearest } from '../text/mistake-words.ts';
import type { Path } from './problem.ts';
import { isRefused } from './refused-key.ts';

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

/** Whether people choose the names of keys at a path of a shape. */
export function takesNames(shape: z.ZodType, path: Path): boolean {
  return shapeAt(shape, path) instanceof z.ZodRecord;
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
