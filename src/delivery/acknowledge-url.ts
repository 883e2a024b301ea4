import type { Notification, NotifiedAlert } from '../domain/grouping/notification.ts';

/** Makes the addresses by which whoever reads a message may acknowledge an alert. */
export interface AcknowledgeLinks {
  /** `sentAtUs` is when the message was written. */
  urlOf(alert: Pick<NotifiedAlert, 'id' | 'startsAtUs'>, sentAtUs: number): string;
}

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
