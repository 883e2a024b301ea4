/** Reads templates, and finds them in keys that take plain text. */
import * as z from 'zod';
import { findGoSyntax } from '../templates/go-syntax.ts';
import { compileTemplate, type Template, TemplateError, type TemplateUse } from '../templates/liquid.ts';
import { SAMPLE_OF_SEVERAL, SAMPLE_VARIABLES } from '../templates/variables.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';
import { isRefused, words } from './value-shape.ts';

/** The shape of a key that takes a template. `what` says of what: `of the headline`. */
export function template(what: string) {
  return words.optional().describe(`A Liquid template ${what}. It replaces the built-in one.`);
}

/** The template at a path, tried with samples; undefined if there is none or it is wrong. */
export function readTemplate(check: Check, path: Path, use: TemplateUse): Template | undefined {
  const text = check.raw(path);
  if (typeof text !== 'string' || text === '') return undefined;
  return compileAt(check, path, () => compileTemplate(text, use, SAMPLE_VARIABLES, SAMPLE_OF_SEVERAL));
}

/** What `compile` makes of the template at a path; undefined if it throws because the template is wrong. */
export function compileAt(check: Check, path: Path, compile: () => Template): Template | undefined {
  try {
    return compile();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    // The engine's message may quote the template.
    check.problem(path, check.isExpanded(path) ? 'is not a Liquid template that works' : error.message);
    return undefined;
  }
}

/** What `render` writes; undefined where what is filled in makes it exceed a limit: no message waits for a template. */
export function renderedWithin(render: () => string): string | undefined {
  try {
    return render();
  } catch (error) {
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}

/** The delimiters that Go and Liquid templates share. */
const TEMPLATE = /\{\{.*?\}\}|\{%.*?%\}/s;

const INSTEAD =
  'this key takes plain text: write it as it is; where it depends on a label, give each value a receiver and a route of its own';

/**
 * Alertmanager would fill in templates in keys that take plain text; nestwatch would send them as written. Adds a
 * problem for each text below `path` that contains a template, except under the keys in `templates`, which take Liquid.
 * Texts are not quoted, since they may be secrets. Refused keys are skipped because they have their own message.
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
