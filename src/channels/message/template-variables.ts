/** The variables that people's templates may use: clean and capped, but not escaped (each template does that). */
import type { GroupNotification } from '../../domain/grouping/notification.ts';
import type { TemplateVariables } from '../../templates/variables.ts';
import { manyLines } from '../../text/plain-text.ts';
import { alertmanagerBody } from './alertmanager-body.ts';
import { mailView } from './message-view.ts';
import { stableSubject } from './subject-line.ts';

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
