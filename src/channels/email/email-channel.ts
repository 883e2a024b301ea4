import { formatHostPort } from '../../http/host-port.ts';
import type { Channel } from '../channel.ts';
import { type EmailIntegration, emailGlobalShape, emailReader, emailShape } from './email-config.ts';
import { mailMessage } from './mail-message.ts';
import { openMails } from './send-mail.ts';
import { probeServer } from './smtp.ts';

export const emailChannel: Channel<EmailIntegration> = {
  kind: 'email',
  audience: 'people',
  pace: { inFlight: 5, claimed: 40 },
  shape: emailShape,
  globalShape: emailGlobalShape,
  reader: emailReader,
  traits: ({ to, toNestMembers }) => (toNestMembers ? { nestMembers: { beside: to } } : {}),
  destination: ({ to, smarthost }) =>
    `${to.join(', ') || 'members of a Nest'} by ${formatHostPort(smarthost)}`,
  preview(integration, notification, externalUrl) {
    const { subject, text, html, headers, templateError } = mailMessage(
      notification,
      externalUrl,
      integration.templates,
      integration.timezone,
    );
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [
      `From: ${integration.from}`,
      `To: ${integration.to.join(', ')}`,
      ...own,
      `Subject: ${subject}`,
    ];
    return { text: [...head, '', text, html].join('\n'), ...(templateError && { templateError }) };
  },
  probe: probeServer,
  open: openMails,
};
