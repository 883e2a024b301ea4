import type { GroupNotification } from '../../domain/grouping/notification.ts';
import { type ProcessorLimit, processorLimit, type Template, TemplateError } from '../../templates/liquid.ts';
import type { TemplateVariables } from '../../templates/variables.ts';
import { manyLines } from '../../text/plain-text.ts';
import { alertmanagerBody } from './alertmanager-body.ts';
import type { Readable } from './digest-view.ts';
import { stableSubject } from './frame/headline.ts';
import { mailView } from './message-view.ts';

interface RenderedTexts<Name extends string> {
  /** What the templates made; a text is missing if there is no template or it failed. */
  readonly texts: Readonly<Partial<Record<Name, string>>>;
  /** Says to people that a built-in text replaces theirs. A JSON text that was left with gaps says so itself. */
  readonly notes: readonly string[];
  /** Why the first of the templates failed. */
  readonly error?: string;
}

/**
 * Renders people's templates. If one fails, only its own text is replaced by the built-in one, with a note. A JSON
 * template is tried again with empty values first, since its reader knows no other form. All templates of a message
 * share one `limit`, since they are rendered in one turn of the event loop.
 */
export function renderTexts<Name extends string>(
  templates: Readonly<Partial<Record<Name, Template | undefined>>>,
  notification: Readable,
  externalUrl: string,
  limit = processorLimit(),
): RenderedTexts<Name> {
  const given = (Object.entries(templates) as [Name, Template | undefined][]).filter(([, one]) => one);
  const texts: Partial<Record<Name, string>> = {};
  // Templates are written for alerts, not for digests.
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

/** The text with empty values where some are missing; undefined if that fails too. */
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

// The variables that people's templates may use: clean and capped, but not escaped (each template does that).

const TEXT_CODE_POINTS = 2_000;
const MESSAGE_CODE_POINTS = 4_000;

export function templateVariables(notification: GroupNotification, externalUrl: string): TemplateVariables {
  const body = clean(alertmanagerBody(notification, externalUrl, 0)) as ReturnType<typeof alertmanagerBody>;
  const view = mailView(notification, externalUrl);
  return {
    status: body.status,
    title: view.headline,
    context: view.context,
    message: manyLines((view.message.join('\n') || view.clusters[0]?.cause) ?? '', MESSAGE_CODE_POINTS),
    subject: stableSubject(notification),
    receiver: body.receiver,
    groupKey: body.groupKey,
    groupLabels: body.groupLabels,
    commonLabels: body.commonLabels,
    commonAnnotations: body.commonAnnotations,
    externalURL: body.externalURL,
    notification_reason: body.notification_reason,
    routeLabels: body.routeLabels,
    truncatedAlerts: body.truncatedAlerts,
    alerts: body.alerts,
    firing: body.alerts.filter(({ status }) => status === 'firing'),
    resolved: body.alerts.filter(({ status }) => status === 'resolved'),
    notices: body.notices ?? [],
  };
}

function cleanText(text: string): string {
  return manyLines(text, TEXT_CODE_POINTS);
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(clean);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [cleanText(name), clean(inner)]));
}
