import type { Notification } from '../domain/grouping/notification.ts';
import type { AcknowledgeLinks } from '../operator/acknowledge-link.ts';

/**
 * A notification of one alert that fires gets the address by which whoever reads it may acknowledge that alert. It is
 * added when it is sent and kept nowhere; it follows from the notification, so every try says the same.
 */
export function withAcknowledgeUrl(
  notification: Notification,
  links: AcknowledgeLinks | undefined,
): Notification {
  if (!links || notification.kind !== 'group' || notification.firingTotal !== 1) return notification;
  const alert = notification.alerts.find(({ status }) => status === 'firing');
  if (!alert) return notification;
  return { ...notification, acknowledgeUrl: links.urlOf(alert, notification.createdAtUs) };
}
