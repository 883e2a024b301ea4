/**
 * Finds templates in keys that take plain text. Alertmanager would fill them in; nestwatch would send them as
 * written.
 */
import * as z from 'zod';
import { findGoSyntax } from '../templates/go-syntax.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';
import { isRefused } from './refused-key.ts';

/** The delimiters that Go and Liquid templates share. */
const TEMPLATE = /\{\{.*?\}\}|\{%.*?%\}/s;

const INSTEAD =
  'this key takes plain text: write it as it is; where it depends on a label, give each value a receiver and a route of its own';

/**
 * Adds a problem for each text below `path` that contains a template, except under the keys in `templates`, which
 * take Liquid. Texts are not quoted, since they may be secrets. Refused keys are skipped because they have their own
 * message.
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
      // A password may happen to look like Liquid, but hardly like Go.
      const isSecret = Object.hasOwn(shape.shape, `${key}_file`);
      if (findGoSyntax(value) !== undefined) check.problem(at, `this is a Go template, and ${INSTEAD}`);
      else if (!isSecret && TEMPLATE.test(value)) check.problem(at, `this is a template, and ${INSTEAD}`);
    } else if (value !== undefined) {
      const below = inner instanceof z.ZodOptional ? inner.unwrap() : inner;
      if (below instanceof z.ZodObject) refuseTemplates(check, at, below);
    }
  }
}
