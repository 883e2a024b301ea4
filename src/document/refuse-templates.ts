/** Finds templates where plain text stands: Alertmanager fills them in there, nestwatch would send them as they are. */
import * as z from 'zod';
import { findGoSyntax } from '../templates/go-syntax.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';
import { isRefused } from './refused-key.ts';

/** What Go and Liquid both write. */
const TEMPLATE = /\{\{.*?\}\}|\{%.*?%\}/s;

const INSTEAD =
  'this key takes plain text: write it as it is; where it depends on a label, give each value a receiver and a route of its own';

/**
 * Adds a problem for each text below a path that holds a template; `templates` are the keys whose texts are Liquid. Nothing is
 * quoted, since it may be a secret. A key that is refused has its own words.
 */
export function refuseTemplates(
  check: Check,
  path: Path,
  shape: z.ZodObject,
  templates: readonly string[] = [],
): void {
  const keys = Object.entries(shape.shape).filter(
    ([key, inner]) => !templates.includes(key) && !isRefused(inner as z.ZodType),
  );
  for (const [key, inner] of keys) {
    const at = [...path, key];
    const value = check.raw(at);
    if (typeof value === 'string') {
      // A password may look like Liquid; hardly any like Go.
      const isSecret = Object.hasOwn(shape.shape, `${key}_file`);
      if (findGoSyntax(value) !== undefined) check.problem(at, `this is a Go template, and ${INSTEAD}`);
      else if (!isSecret && TEMPLATE.test(value)) check.problem(at, `this is a template, and ${INSTEAD}`);
    } else if (value !== undefined) {
      const below = inner instanceof z.ZodOptional ? inner.unwrap() : inner;
      if (below instanceof z.ZodObject) refuseTemplates(check, at, below);
    }
  }
}
