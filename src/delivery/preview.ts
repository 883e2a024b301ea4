import { mailMessage } from '../channels/email/mail-message.ts';
import { serviceRequest } from '../channels/services.ts';
import { webhookMessages } from '../channels/webhook/webhook-channel.ts';
import type { Integration } from '../config/config.ts';
import type { GroupNotification } from '../domain/grouping/notification.ts';

export interface Preview {
  /** The message as it would be sent, for people to read; without secrets. */
  readonly text: string;
  readonly templateError?: string;
}

/** What an integration would be sent. Nothing leaves. */
export function preview(
  integration: Integration,
  notification: GroupNotification,
  externalUrl: string,
): Preview {
  if (integration.kind === 'email') {
    const { subject, text, html, headers, templateError } = mailMessage(
      notification,
      externalUrl,
      integration.templates,
    );
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [
      `From: ${integration.from}`,
      `To: ${integration.to.join(', ')}`,
      ...own,
      `Subject: ${subject}`,
    ];
    return { text: [...head, '', text, html].join('\n'), ...(templateError && { templateError }) };
  }
  if (integration.kind === 'webhook') {
    const messages = webhookMessages(integration, notification, externalUrl);
    if (typeof messages === 'string') return { text: messages };
    const [templateError] = messages.flatMap((message) => message.templateError ?? []);
    const text = messages.map(({ body }) => JSON.stringify(JSON.parse(body), null, 2)).join('\n');
    return { text, ...(templateError && { templateError }) };
  }
  const request = serviceRequest(integration, notification, externalUrl, notification.createdAtUs);
  if (typeof request === 'string') return { text: request };
  const { body, secrets, templateError } = request;
  const text = secrets.reduce(
    (rest, secret) => rest.replaceAll(JSON.stringify(secret), '"[secret]"'),
    JSON.stringify(body, null, 2),
  );
  return { text, ...(templateError && { templateError }) };
}
