/**
 * Writes what a chat shows of a notification: a headline and one text in lines, for services that have no form of their
 * own for alerts. The texts are clean and cut to the service's limits; nothing in them mentions anybody or becomes a
 * link.
 */
import { manyLines, plainText } from '../../text/plain-text.ts';
import type { Cluster, Tone } from './alert-clusters.ts';
import { MAX_CLUSTERS, MAX_EVENTS, within } from './bounded.ts';
import { type Readable, viewOf } from './digest-view.ts';
import { eventWords, historyLine } from './event-line.ts';
import { firesNewly } from './frame/headline.ts';
import type { Link } from './frame/links.ts';
import type { MailView } from './message-view.ts';
import { sectionText } from './section.ts';

export interface ChatMessage {
  readonly tone: Tone;
  /** False for a digest too. */
  readonly isFiring: boolean;
  /** Something fires of which the group has not notified yet. Only this is worth disturbing people. */
  readonly firesNewly: boolean;
  readonly title: string;
  /** Empty if the headline says it all. */
  readonly text: string;
  /** The links of the message, the page first. */
  readonly links: readonly Link[];
}

/** In UTF-16 units: a text has at least as many of them as code points, which other services count. */
export interface ChatLimits {
  readonly title: number;
  /** The text, together with the links unless they are in a field of their own. */
  readonly text: number;
  readonly hasLinksBeside?: boolean;
}

/** Texts that replace the built-in ones. */
interface ChatTexts {
  readonly title?: string;
  readonly text?: string;
}

/** The share of the room for the text that links may take. */
const LINKS_SHARE = 1 / 3;
/** What a link takes besides its name and address. */
const LINK_MARKUP = 10;

export function chatMessage(
  notification: Readable,
  externalUrl: string,
  texts: ChatTexts,
  notes: readonly string[],
  limits: ChatLimits,
  zone?: string,
): ChatMessage {
  const view = viewOf(notification, externalUrl, zone);
  const { hasLinksBeside = false } = limits;
  const links = hasLinksBeside ? view.links : linksWithin(view.links, limits.text * LINKS_SHARE);
  const room = hasLinksBeside
    ? limits.text
    : limits.text - links.reduce((sum, link) => sum + sizeOf(link), 0);
  const own = texts.text === undefined ? undefined : manyLines(texts.text, room);
  const lines = [
    ...(own === undefined ? [view.context] : []),
    ...view.notices,
    ...notes,
    ...(own === undefined ? contentOf(view) : own.split('\n')),
  ];
  return {
    tone: view.tone,
    isFiring: notification.kind === 'group' && notification.firingTotal > 0,
    firesNewly: notification.kind === 'group' && firesNewly(notification),
    title: within(
      harmless(plainText(texts.title || '', limits.title) || plainText(view.headline, limits.title)),
      limits.title,
    ),
    text: linesWithin(lines.map(harmless), room),
    links: links.map((link) => ({ ...link, text: harmless(link.text) })),
  };
}

/** Marks of mentions, links and ends of code blocks, each with a character that looks like it and means nothing. */
const LIKES: ReadonlyMap<string, string> = new Map([
  ['@', '＠'],
  ['<', '‹'],
  ['>', '›'],
  ['`', 'ˋ'],
  ['://', ':⁄⁄'],
]);

/** The text without such marks; its length does not change. */
function harmless(text: string): string {
  return text.toWellFormed().replace(/[@<>`]|:\/\//g, (mark) => LIKES.get(mark)!);
}

/** A title or link in Markdown outside a code block, where brackets make links as well. */
export function unlinked(text: string): string {
  return harmless(text).replaceAll('[', '［').replaceAll(']', '］');
}

function contentOf(view: MailView): string[] {
  const events = view.events.slice(0, MAX_EVENTS).map((line) => `• ${eventWords(line)}`);
  const eventsMore = view.eventsMore + Math.max(0, view.events.length - MAX_EVENTS);
  const clusters = view.clusters.slice(0, MAX_CLUSTERS);
  const rest = view.clusters.slice(MAX_CLUSTERS);
  const alertsMore = view.alertsMore + rest.reduce((sum, { alerts }) => sum + alerts, 0);
  return [
    ...view.lead,
    ...view.message,
    ...(view.history ? [historyLine(view.history)] : []),
    ...(view.sections ?? []).flatMap((section) => sectionText(section).trimEnd().split('\n')),
    ...view.details.map(([name, value]) => `${name}: ${value}`),
    ...clusters.flatMap(clusterLines),
    ...(alertsMore > 0 ? [`… and ${alertsMore} more alerts`] : []),
    ...(events.length > 0 ? [`${view.eventsTitle}:`, ...events] : []),
    ...(eventsMore > 0 ? [`… and ${eventsMore} more events`] : []),
  ];
}

function clusterLines({ title, places, placesMore, cause, context, lines, linesMore }: Cluster): string[] {
  const where = places.join(', ') + (placesMore > 0 ? ` and ${placesMore} more` : '');
  return [
    `${title}: ${where}`,
    cause,
    context,
    ...lines.map((line) => `• ${eventWords(line)}`),
    linesMore > 0 ? `… and ${linesMore} more` : '',
  ].filter((line) => line !== '');
}

/** As many of the first lines as fit, and how many more there are. */
function linesWithin(lines: readonly string[], maxUnits: number): string {
  const all = lines.filter((line) => line.trim() !== '');
  const whole = all.join('\n');
  if (whole.length <= maxUnits) return whole;
  const restOf = (count: number) => `… and ${count} more lines; the page has all of it`;
  const room = maxUnits - restOf(all.length).length - 1;
  const kept: string[] = [];
  let units = 0;
  for (const line of all) {
    if (units + line.length + 1 > room) break;
    kept.push(line);
    units += line.length + 1;
  }
  if (kept.length === 0) return within(all[0] ?? '', maxUnits);
  return [...kept, restOf(all.length - kept.length)].join('\n');
}

function linksWithin(links: readonly Link[], maxUnits: number): Link[] {
  const kept: Link[] = [];
  let units = 0;
  for (const link of links) {
    units += sizeOf(link);
    if (units > maxUnits) break;
    kept.push(link);
  }
  return kept;
}

/** The length of a link. Brackets in its address are escaped, and then longer. */
function sizeOf({ text, url }: Link): number {
  return text.length + markdownUrl(url).length + LINK_MARKUP;
}

/** The text as a code block, in which Markdown means nothing, and the links below it. */
export function chatMarkdown({ text, links }: Pick<ChatMessage, 'text' | 'links'>): string {
  const row = links.map((link) => `[${unlinked(link.text)}](${markdownUrl(link.url)})`).join(' · ');
  return [...(text === '' ? [] : [`\`\`\`\n${text}\n\`\`\``]), ...(row === '' ? [] : [row])].join('\n');
}

function markdownUrl(url: string): string {
  return url.replaceAll('(', '%28').replaceAll(')', '%29');
}
