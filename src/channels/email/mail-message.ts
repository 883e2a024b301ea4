import { processorLimit } from '../../templates/liquid.ts';
import { plainText } from '../../text/plain-text.ts';
import type { Cluster } from '../message/alert-clusters.ts';
import { fitting, MAX_EVENTS, MAX_PART_BYTES } from '../message/bounded.ts';
import { digestSubject, type Readable, viewOf } from '../message/digest-view.ts';
import { type EventLine, historyLine } from '../message/event-line.ts';
import { type ClusterWriter, fittingClusters, fittingNotices, fittingView } from '../message/fitting-view.ts';
import { stableSubject, topicOf } from '../message/frame/headline.ts';
import type { EachAlert } from '../message/frame/links.ts';
import type { MailView } from '../message/message-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { escapeHtml, MAX_SECTIONS, sectionText } from '../message/section.ts';
import type { ReaderZone } from '../post-config.ts';
import type { EmailIntegration } from './email-config.ts';
import { emailHtml } from './email-html.ts';
import type { MailTemplates } from './mail-extras.ts';

interface MailMessage {
  readonly subject: string;
  /** What all subjects of its thread have in common. */
  readonly topic: string;
  readonly text: string;
  readonly html: string;
  /** Custom headers; each value is one line. */
  readonly headers: Readonly<Record<string, string>>;
  readonly templateError?: string;
}

const PARTS = ['text', 'html'] as const;
type Part = (typeof PARTS)[number];

const SUBJECT_CODE_POINTS = 200;
const HEADER_CODE_POINTS = 500;

/**
 * Writes everything in a mail that people read. Notices come after what templates make. A part that a template makes
 * too large counts as failed: HTML cannot be cut, and mail programs cut long mails anywhere.
 */
export function mailMessage(
  notification: Readable,
  externalUrl: string,
  templates: MailTemplates | undefined,
  { timezone, subject }: ReaderZone & Pick<EmailIntegration, 'subject'> = {},
): MailMessage {
  const limit = processorLimit();
  const own = renderTexts(
    { subject: templates?.subject, text: templates?.text, html: templates?.html },
    notification,
    externalUrl,
    limit,
  );
  const headers = renderTexts(templates?.headers ?? {}, notification, externalUrl, limit);
  /** The mail if these parts are known to be too large. */
  const built = (tooLarge: readonly Part[]) => {
    const tooLargeNotes = tooLarge.map(
      (part) =>
        `The template ${part} made more than ${MAX_PART_BYTES} bytes. The built-in text is used instead.`,
    );
    const notes = [...own.notes, ...headers.notes, ...tooLargeNotes];
    const view = viewOf(withNotes(notification, notes), externalUrl, timezone);
    const part = (name: Part) => {
      const text = own.texts[name];
      return text === undefined || tooLarge.includes(name)
        ? undefined
        : withNotices(name, text, view.notices);
    };
    return { view, part, error: own.error ?? headers.error ?? tooLargeNotes[0] };
  };
  const oversized = ({ part }: ReturnType<typeof built>) =>
    PARTS.filter((name) => Buffer.byteLength(part(name) ?? '') > MAX_PART_BYTES);
  const tooLarge: Part[] = [];
  let mail = built(tooLarge);
  // The note about one part may make the other too large as well.
  for (let more = oversized(mail); more.length > 0; more = oversized(mail)) {
    tooLarge.push(...more);
    mail = built(tooLarge);
  }
  const { view, part, error } = mail;
  const builtIn =
    subject === 'stable' ? stableOf(notification) : plainText(view.subject, SUBJECT_CODE_POINTS);
  return {
    subject: plainText(own.texts.subject ?? '', SUBJECT_CODE_POINTS) || builtIn,
    topic: notification.kind === 'digest' ? digestSubject(notification) : topicOf(notification),
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

function withNotes(notification: Readable, notes: readonly string[]): Readable {
  if (notes.length === 0 || notification.kind === 'digest') return notification;
  return { ...notification, notices: [...(notification.notices ?? []), ...notes] };
}

/** What a template made, followed by the notices that it does not show itself. */
function withNotices(part: Part, text: string, notices: readonly string[]): string {
  const write = part === 'html' ? escapeHtml : (notice: string) => notice;
  const more = fittingNotices(notices, write)
    .map(write)
    .filter((notice) => !text.includes(notice));
  if (more.length === 0) return text;
  if (part === 'text') return `${text.trimEnd()}\n\n${more.join('\n')}\n`;
  const paragraphs = more.map((notice) => `<p style="margin:12px 0 0">${notice}</p>\n`).join('');
  const at = [...text.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? text.length;
  return `${text.slice(0, at)}\n${paragraphs}${text.slice(at)}`;
}

function stableOf(notification: Readable): string {
  return notification.kind === 'digest' ? digestSubject(notification) : stableSubject(notification);
}

/** Writes the text part. It must be readable by itself, even on a phone's lock screen. */
export function emailText(whole: MailView): string {
  const view = fittingView(whole, (text) => text);
  const message = view.message.map((line) => `    ${line}`);
  // The message of a resolved alert, or one that was sent before, must not look like news.
  if (view.messageTitle !== 'Message' && message.length > 0) message.unshift(`${view.messageTitle}:`);
  const details = paragraph(view.details.map(([name, value]) => `${name}: ${value}`)).join('\n');
  const history = view.history ? [historyLine(view.history)] : [];
  const notices = paragraph(view.notices);
  const head = [
    view.headline,
    view.context,
    '',
    ...notices,
    ...paragraph(view.lead),
    ...paragraph(message),
    ...paragraph(history),
  ].join('\n');
  const tail = [
    ...paragraph(view.links.map(({ text, url }) => `${text}: ${url}`)),
    '-- ',
    view.footer,
    '',
  ].join('\n');

  let room = MAX_PART_BYTES - Buffer.byteLength(head + details + tail) - 200;
  const sections = fitting(view.sections ?? [], sectionText, room, MAX_SECTIONS);
  room -= sections.bytes;
  const clusters = fittingClusters(view.clusters, clusterWriter(view.page), room);
  room -= clusters.bytes;
  const each = fitting(view.each, eachText, room, view.each.length);
  room -= each.bytes;
  const events = fitting(view.events, eventText, room, MAX_EVENTS);

  const moreAlerts = view.alertsMore + clusters.rest.reduce((total, { alerts }) => total + alerts, 0);
  const moreEvents = view.eventsMore + events.rest.reduce((total, line) => total + line.events, 0);
  const news = [...events.kept, ...more(moreEvents, 'events')];
  return [
    head,
    ...sections.kept,
    ...more(sections.rest.length, 'parts'),
    ...clusters.kept,
    ...paragraph(more(moreAlerts, 'alerts')),
    ...(details === '' ? [] : [details]),
    ...paragraph(
      each.kept.length > 0
        ? ['Each by itself:', ...each.kept, ...more(view.eachMore + each.rest.length, 'alerts')]
        : [],
    ),
    ...paragraph(news.length > 0 ? [`${view.eventsTitle}:`, ...news] : []),
    tail,
  ].join('\n');
}

function clusterWriter(page: string | undefined): ClusterWriter {
  return {
    head: clusterText,
    line: eventText,
    more: (count) => `  … and ${count} more${page === undefined ? '' : `: ${page}`}`,
    // The last line is empty.
    whole: (head, lines, rest) => [head, ...lines, ...(rest === '' ? [] : [rest]), ''].join('\n'),
  };
}

function clusterText({ title, cause, places, placesMore, context }: Cluster): string {
  const where = places.join(', ') + (placesMore > 0 ? ` and ${placesMore} more` : '');
  return [
    `* ${title}: ${where}`,
    ...(cause ? [`    ${cause}`] : []),
    ...(context ? [`  ${context}`] : []),
  ].join('\n');
}

function eventText({ where, when, step, message, ids }: EventLine): string {
  return [
    `  - ${[where, when, step].filter((part) => part !== '').join(' · ')}`,
    ...[message, ids.join(' · ')].filter((part) => part !== '').map((part) => `    ${part}`),
  ].join('\n');
}

function eachText({ name, url, acknowledgeUrl }: EachAlert): string {
  const acknowledge = acknowledgeUrl === undefined ? [] : [`    Acknowledge: ${acknowledgeUrl}`];
  return [`  ${name}: ${url}`, ...acknowledge].join('\n');
}

function more(count: number, noun: string): string[] {
  return count > 0 ? [`  … and ${count} more ${noun}`] : [];
}

/** The lines followed by an empty one; nothing if there are none. */
function paragraph(lines: readonly string[]): string[] {
  return lines.length > 0 ? [...lines, ''] : [];
}
