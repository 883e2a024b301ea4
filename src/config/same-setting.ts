import { isSameSecret } from '../secret.ts';

/**
 * Whether two parts of configurations are equal. Secrets are equal if they come from the same text or file. What
 * cannot be compared, such as compiled templates, counts as different, so whatever depends on it is restarted.
 */
export function isSameSetting(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (isSameSecret(a, b)) return true;
  if (!isPlain(a) || !isPlain(b)) return false;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return (
    left.size === right.size &&
    [...left].every(([key, value]) => right.has(key) && isSameSetting(value, right.get(key)))
  );
}

function isPlain(value: object): boolean {
  const made = Object.getPrototypeOf(value);
  return made === Object.prototype || made === Array.prototype;
}
