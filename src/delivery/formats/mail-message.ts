import type { MailTemplates } from '../../config/config.ts';
import { plainText } from '../../plain-text.ts';
import { digestSubject, type Readable, viewOf } from './digest-view.ts';
import { mailSubject } from './email-headers.ts';
import { emailHtml } from './email-html.ts';
import { emailText } from './email-text.ts';
import { filled } from './filled.ts';
import { MAX_PART_BYTES } from './fitting.ts';

export interface MailMessage {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Of people's own; their values are one line each. */
  readonly headers: Readonly<Record<string, string>>;
  readonly templateError?: string;
}

const SUBJECT_CODE_POINTS = 200;
const HEADER_CODE_POINTS = 500;

/**
 * Everything of a mail that people read. A part that a template makes too large is as good as one that failed: HTML
 * cannot be cut, and mail programs cut long mails where they like.
 */
export function mailMessage(
  notification: Readable,
  externalUrl: string,
  templates: MailTemplates | undefined,
): MailMessage {
  const own = filled(
    { subject: templates?.subject, text: templates?.text, html: templates?.html },
    notification,
    externalUrl,
  );
  const headers = filled(templates?.headers ?? {}, notification, externalUrl);
  const tooLarge = (['text', 'html'] as const).filter(
    (part) => Buffer.byteLength(own.texts[part] ?? '') > MAX_PART_BYTES,
  );
  const tooLargeNotes = tooLarge.map(
    (part) =>
      `The template ${part} made more than ${MAX_PART_BYTES} bytes. The built-in text stands in its place.`,
  );
  const notes = [...own.notes, ...headers.notes, ...tooLargeNotes];
  const told =
    notes.length > 0 && notification.kind === 'group'
      ? { ...notification, notices: [...(notification.notices ?? []), ...notes] }
      : notification;
  const view = viewOf(told, externalUrl);
  const part = (name: 'text' | 'html') => (tooLarge.includes(name) ? undefined : own.texts[name]);
  const error = own.error ?? headers.error ?? tooLargeNotes[0];
  return {
    subject: plainText(own.texts.subject ?? '', SUBJECT_CODE_POINTS) || subjectOf(notification),
    text: part('text') ?? emailText(view),
    html: part('html') ?? emailHtml(view),
    headers: Object.fromEntries(
      Object.entries(headers.texts)
        .map(([name, value]) => [name, plainText(value ?? '', HEADER_CODE_POINTS)] as const)
        .filter(([, value]) => value !== ''),
    ),
    ...(error !== undefined && { templateError: error }),
  };
}

function subjectOf(notification: Readable): string {
  return notification.kind === 'digest' ? digestSubject(notification) : mailSubject(notification);
}
