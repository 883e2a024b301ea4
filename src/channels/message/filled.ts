import { type ProcessorLimit, processorLimit, type Template, TemplateError } from '../../templates/liquid.ts';
import type { TemplateVariables } from '../../templates/variables.ts';
import type { Readable } from './digest-view.ts';
import { templateVariables } from './template-variables.ts';

interface Filled<Name extends string> {
  /** What the templates made; a text is missing where there is no template, or it failed. */
  readonly texts: Readonly<Partial<Record<Name, string>>>;
  /** For people: that a built-in text stands in the place of theirs. A text of JSON that was left with gaps says so itself. */
  readonly notes: readonly string[];
  /** Why the first of the templates failed. */
  readonly error?: string;
}

/**
 * Renders templates. One that fails costs its own text alone: the built-in one takes its place, with a note. Who reads
 * a template of JSON knows that shape alone, so it is tried once more with empty values first. All templates of a message
 * have one `limit` together, since they are rendered in one turn of the event loop.
 */
export function filled<Name extends string>(
  templates: Readonly<Partial<Record<Name, Template | undefined>>>,
  notification: Readable,
  externalUrl: string,
  limit = processorLimit(),
): Filled<Name> {
  const given = (Object.entries(templates) as [Name, Template | undefined][]).filter(([, one]) => one);
  const texts: Partial<Record<Name, string>> = {};
  // Templates are written for alerts.
  if (given.length === 0 || notification.kind === 'digest') return { texts, notes: [] };
  const variables = templateVariables(notification, externalUrl);
  const errors: string[] = [];
  const notes: string[] = [];
  for (const [name, template] of given) {
    try {
      texts[name] = template!.render(variables, 'strict', limit);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      const what = `The template ${name} failed: ${error.message}`;
      errors.push(what);
      const notices = [...variables.notices, `${what}. Missing values are left empty.`];
      const text =
        template!.use === 'json' ? lenient(template!, { ...variables, notices }, limit) : undefined;
      if (text === undefined) notes.push(`${what}. The built-in text is used instead.`);
      else texts[name] = text;
    }
  }
  const [first] = errors;
  return { texts, notes, ...(first !== undefined && { error: first }) };
}

/** The text with empty values where some are missing; undefined where that fails too. */
function lenient(
  template: Template,
  variables: TemplateVariables,
  limit: ProcessorLimit,
): string | undefined {
  try {
    return template.render(variables, 'lenient', limit);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return undefined;
  }
}
