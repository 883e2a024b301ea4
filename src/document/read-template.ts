import { compileTemplate, type Template, TemplateError, type TemplateUse } from '../templates/liquid.ts';
import { SAMPLE_OF_SEVERAL, SAMPLE_VARIABLES } from '../templates/variables.ts';
import type { Check } from './check.ts';
import type { Path } from './problem.ts';
import { words } from './value-shape.ts';

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
