import { memberRecipients } from '../../domain/grouping/member-recipients.ts';
import { formatHostPort } from '../../http/web-address.ts';
import type { Channel } from '../channel.ts';
import { type EmailIntegration, emailGlobalShape, emailReader, emailShape } from './email-config.ts';
import { mailMessage } from './mail-message.ts';
import { openMails } from './send-mail.ts';
import { askForSmtpUtf8, NO_SMTPUTF8, needsSmtpUtf8, probeServer } from './smtp.ts';

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
  async preview(integration, notification, externalUrl) {
    const { subject, text, html, headers, templateError } = mailMessage(
      notification,
      externalUrl,
      integration.templates,
      integration,
    );
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [
      `From: ${integration.from}`,
      `To: ${(notification.to ?? integration.to).join(', ')}`,
      ...own,
      `Subject: ${subject}`,
    ];
    return { text: [...head, '', text, html].join('\n'), ...(templateError && { templateError }) };
  },
  probe: probeServer,
  async leftOut(integration, members) {
    const { to, leftOut } = memberRecipients(members);
    const beyond = to.filter(needsSmtpUtf8);
    if (beyond.length === 0 || (await askForSmtpUtf8(integration))) return leftOut;
    return [...leftOut, ...beyond.map((recipient) => ({ recipient, why: NO_SMTPUTF8 }))];
  },
  open: openMails,
};
