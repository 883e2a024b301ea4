/**
 * Writes messages for Slack in Block Kit. All values are escaped, so that `<!channel>` and links in them stay text, and
 * `verbatim` keeps Slack from looking for names and addresses in them. Limits:
 * https://docs.slack.dev/reference/block-kit/blocks and /messaging.
 */
import { durationWords } from '../../text/instant-words.ts';
import type { Tone } from '../message/alert-clusters.ts';
import { escapedWithin, listWithin, MAX_CLUSTERS, MAX_EVENTS, within } from '../message/bounded.ts';
import { type Readable, viewOf } from '../message/digest-view.ts';
import { eventWords, historyLine } from '../message/event-line.ts';
import type { LinkAction } from '../message/frame/links.ts';
import type { MailView } from '../message/message-view.ts';
import { sectionText } from '../message/section.ts';
import { SILENCE_MS } from '../press.ts';

export const SLACK_LIMITS = {
  blocks: 50,
  header: 150,
  section: 3_000,
  fields: 10,
  field: 2_000,
  button: 75,
} as const;
/** Far less than the sum of the limits of all parts: people are to read the message. */
const MAX_BYTES = 60_000;
const FALLBACK_UNITS = 1_000;
const CIRCLES: Readonly<Record<Tone, string>> = {
  critical: '🔴',
  warning: '🟠',
  resolved: '🟢',
  neutral: '⚪',
};

export interface SlackBody {
  readonly channel?: string;
  readonly username?: string;
  readonly icon_emoji?: string;
  readonly icon_url?: string;
  /** Shown where blocks are not, such as in notifications of phones. */
  readonly text: string;
  readonly mrkdwn: false;
  readonly link_names: false;
  readonly parse: 'none';
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly type: 'header'; readonly text: PlainText }
  | { readonly type: 'section'; readonly text: Mrkdwn }
  | { readonly type: 'section'; readonly fields: readonly Mrkdwn[] }
  | { readonly type: 'actions'; readonly elements: readonly Button[] }
  | { readonly type: 'context'; readonly elements: readonly Mrkdwn[] };

interface PlainText {
  readonly type: 'plain_text';
  readonly text: string;
  readonly emoji: false;
}

interface Button {
  readonly type: 'button';
  readonly text: PlainText;
  readonly style?: 'primary';
  /** What it leads to, or else what it asks for, which Slack sends to us when somebody presses it. */
  readonly url?: string;
  readonly action_id?: LinkAction;
  readonly value?: string;
  readonly confirm?: Readonly<Record<'title' | 'text' | 'confirm' | 'deny', PlainText>>;
}

interface Mrkdwn {
  readonly type: 'mrkdwn';
  readonly text: string;
  readonly verbatim: true;
}

interface SlackStyle {
  readonly channel: string;
  readonly username: string;
  readonly iconEmoji: string;
  readonly iconUrl: string;
}

/** Texts that replace the built-in ones; `text` is mrkdwn that is already escaped. */
interface SlackTexts {
  readonly title?: string;
  readonly text?: string;
}

export function slackBody(
  notification: Readable,
  externalUrl: string,
  { channel, username, iconEmoji, iconUrl }: SlackStyle,
  texts: SlackTexts = {},
  notes: readonly string[] = [],
  zone?: string,
  buttonValue: (action: LinkAction) => string | undefined = () => undefined,
): SlackBody {
  const view = viewOf(notification, externalUrl, zone);
  const headline = texts.title || `${CIRCLES[view.tone]} ${view.headline}`;
  const where = view.context ? [section(escaped(view.context, SLACK_LIMITS.section))] : [];
  const main = texts.text === undefined ? contentOf(view) : sections(texts.text);
  const more = (count: number) => context(`… and ${count} more parts; the page has all of it`);
  const blocks = [
    header(headline),
    ...(texts.text === undefined ? where : []),
    ...[...view.notices, ...notes].map((notice) => section(escaped(notice, SLACK_LIMITS.section))),
    ...main,
  ];
  const links = buttonsOf(view, buttonValue);
  return {
    ...(channel && { channel }),
    ...(username && { username }),
    ...(iconEmoji && { icon_emoji: iconEmoji }),
    ...(iconUrl && { icon_url: iconUrl }),
    text: escaped(texts.title || view.subject, FALLBACK_UNITS),
    mrkdwn: false,
    link_names: false,
    parse: 'none',
    blocks: [
      ...listWithin(blocks.filter(hasText), SLACK_LIMITS.blocks - links.length, MAX_BYTES, more),
      ...links,
    ],
  };
}

/** Escapes for mrkdwn the three characters that Slack requires. */
export function escapeSlack(point: string): string {
  if (point === '&') return '&amp;';
  if (point === '<') return '&lt;';
  if (point === '>') return '&gt;';
  return point;
}

/** Escapes a text. Backticks are replaced by a lookalike: they would turn what follows into code, or end our code. */
function escaped(text: string, maxUnits: number): string {
  return escapedWithin(text.toWellFormed().replaceAll('`', 'ˋ'), maxUnits, escapeSlack);
}

function code(lines: readonly string[]): string {
  return `\`\`\`\n${escaped(lines.join('\n'), SLACK_LIMITS.section - 10)}\n\`\`\``;
}

function contentOf(view: MailView): Block[] {
  const events = view.events.slice(0, MAX_EVENTS).map(eventWords);
  const eventsMore = view.eventsMore + Math.max(0, view.events.length - MAX_EVENTS);
  const clusters = view.clusters.slice(0, MAX_CLUSTERS);
  const alertsMore =
    view.alertsMore + view.clusters.slice(MAX_CLUSTERS).reduce((sum, { alerts }) => sum + alerts, 0);
  return [
    ...(view.lead.length > 0 ? [section(escaped(view.lead.join('\n'), SLACK_LIMITS.section))] : []),
    ...(view.message.length > 0 ? [section(code(view.message))] : []),
    ...(view.history ? [section(escaped(historyLine(view.history), SLACK_LIMITS.section))] : []),
    ...(view.sections ?? []).map((one) => section(escaped(sectionText(one).trim(), SLACK_LIMITS.section))),
    ...fieldsOf(view.details),
    ...clusters.map((cluster) => {
      const where =
        cluster.places.join(', ') + (cluster.placesMore > 0 ? ` and ${cluster.placesMore} more` : '');
      const lines = [
        `${cluster.title}: ${where}`,
        cluster.cause,
        cluster.context,
        ...cluster.lines.map((line) => `• ${eventWords(line)}`),
        cluster.linesMore > 0 ? `… and ${cluster.linesMore} more` : '',
      ];
      return section(escaped(lines.filter((line) => line !== '').join('\n'), SLACK_LIMITS.section));
    }),
    ...(alertsMore > 0 ? [context(`… and ${alertsMore} more alerts`)] : []),
    ...(events.length > 0 ? [section(code([`${view.eventsTitle}:`, ...events]))] : []),
    ...(eventsMore > 0 ? [context(`… and ${eventsMore} more events`)] : []),
  ];
}

/** Splits a text of any length into sections, of which the first ones are sent. */
function sections(text: string): Block[] {
  const blocks: Block[] = [];
  let rest = text.toWellFormed();
  while (rest !== '') {
    const cut = rest.length <= SLACK_LIMITS.section ? rest.length : cutAt(rest);
    const part = rest.slice(0, cut);
    if (part.trim() !== '') blocks.push(section(part));
    rest = rest.slice(cut);
  }
  return blocks;
}

/**
 * Where to cut: after the last line end, or else space, that leaves a section full enough, so that no escape is torn.
 */
function cutAt(text: string): number {
  const part = text.slice(0, SLACK_LIMITS.section);
  for (const mark of ['\n', ' ', ';']) {
    const at = part.lastIndexOf(mark);
    if (at > SLACK_LIMITS.section / 2) return at + 1;
  }
  // The section is one word: only an escape or a surrogate pair at its very end could be torn.
  const torn = /&[a-z]{0,3}$/.exec(part);
  return torn ? torn.index : part.length - (part.isWellFormed() ? 0 : 1);
}

/** Whether the block has text: Slack refuses the whole message for one section without any. */
function hasText(block: Block): boolean {
  return !('text' in block) || block.text.text.trim() !== '';
}

/** In two columns on a wide screen. */
function fieldsOf(details: MailView['details']): Block[] {
  const fields = details.map(([name, value]) => mrkdwn(escaped(`${name}: ${value}`, SLACK_LIMITS.field)));
  const rows = Map.groupBy(fields, (field) => Math.floor(fields.indexOf(field) / SLACK_LIMITS.fields));
  return [...rows.values()].map((some) => ({ type: 'section', fields: some }));
}

function header(text: string): Block {
  return {
    type: 'header',
    text: plainTextOf(text, SLACK_LIMITS.header),
  };
}

function plainTextOf(text: string, maxUnits: number): PlainText {
  return { type: 'plain_text', text: within(text.toWellFormed(), maxUnits) || '–', emoji: false };
}

function section(text: string): Block {
  return { type: 'section', text: mrkdwn(text) };
}

/** A small line of text from outside. */
export function smallLine(text: string): Block {
  return context(escaped(text, SLACK_LIMITS.section));
}

function context(text: string): Block {
  return { type: 'context', elements: [mrkdwn(text)] };
}

function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text, verbatim: true };
}

/** The first link is the one to press. Those that have a value ask for something right here. */
function buttonsOf(
  { links }: MailView,
  buttonValue: (action: LinkAction) => string | undefined,
): readonly Block[] {
  if (links.length === 0) return [];
  const elements = links.map(({ text, url, action }, index): Button => {
    const value = action && buttonValue(action);
    const style = index === 0 && ({ style: 'primary' } as const);
    if (!action || value === undefined)
      return { type: 'button', text: plainTextOf(text, SLACK_LIMITS.button), url, ...style };
    const words = action === 'silence' ? `${text} for ${durationWords(SILENCE_MS, 'two units')}` : text;
    return {
      ...{ type: 'button', text: plainTextOf(words, SLACK_LIMITS.button), action_id: action, value },
      ...style,
      ...(action === 'fly_again' && { confirm: ASKS_TO_FLY }),
    };
  });
  return [{ type: 'actions', elements }];
}

const ASKS_TO_FLY = {
  title: plainTextOf('Fly again?', 100),
  text: plainTextOf(
    'This starts a new Flight from its beginning. Steps that the failed Flight had done are done again.',
    300,
  ),
  confirm: plainTextOf('Fly again', 30),
  deny: plainTextOf('Cancel', 30),
};
