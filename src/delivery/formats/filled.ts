import { type Template, TemplateError } from '../../templates/liquid.ts';
import type { Readable } from './digest-view.ts';
import { templateVariables } from './template-variables.ts';

export interface Filled<Name extends string> {
  /** What the templates made; a text is missing where there is no template, or it failed. */
  readonly texts: Readonly<Partial<Record<Name, string>>>;
  /** For people: that a built-in text stands in the place of theirs. */
  readonly notes: readonly string[];
  /** Why the first of the templates failed. */
  readonly error?: string;
}

/** Renders templates. One that fails costs its own text alone: the built-in one takes its place, with a note. */
export function filled<Name extends string>(
  templates: Readonly<Partial<Record<Name, Template | undefined>>>,
  notification: Readable,
  externalUrl: string,
): Filled<Name> {
  const given = (Object.entries(templates) as [Name, Template | undefined][]).filter(([, one]) => one);
  const texts: Partial<Record<Name, string>> = {};
  // Templates are written for alerts.
  if (given.length === 0 || notification.kind === 'digest') return { texts, notes: [] };
  const variables = templateVariables(notification, externalUrl);
  const errors: string[] = [];
  for (const [name, template] of given) {
    try {
      texts[name] = template!.render(variables);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      errors.push(`The template ${name} failed: ${error.message}`);
    }
  }
  const [first] = errors;
  const notes = errors.map((error) => `${error}. The built-in text stands in its place.`);
  return { texts, notes, ...(first !== undefined && { error: first }) };
}
