import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { type HttpReader, httpReader } from '../../document/http-config.ts';
import type { Path } from '../../document/problem.ts';
import { readTemplate, refuseTemplates, template } from '../../document/read-template.ts';
import { twins } from '../../document/value-shape.ts';
import { mistakeInUrl } from '../../http/web-address.ts';
import type { Template } from '../../templates/liquid.ts';
import type { Tone } from '../message/alert-clusters.ts';
import { listWithin, MAX_CLUSTERS, MAX_EVENTS, within } from '../message/bounded.ts';
import { type Readable, viewOf } from '../message/digest-view.ts';
import { eventWords, historyLine } from '../message/event-line.ts';
import type { MailView } from '../message/message-view.ts';
import { renderTexts } from '../message/render-texts.ts';
import { type PostIntegration, postChannel } from '../post-channel.ts';
import { postKeys, type ReaderZone, timezoneKey } from '../post-config.ts';

export interface TeamsIntegration extends PostIntegration, ReaderZone {
  readonly kind: 'msteamsv2';
  readonly title?: Template;
  readonly text?: Template;
}

const teamsShape = z
  .strictObject({
    ...twins(
      'webhook_url',
      'Address of the Workflow "Post to a channel when a webhook request is received". Required.',
    ),
    title: template('of the headline'),
    text: template('of the text, without Markdown'),
    ...timezoneKey,
    ...postKeys(true),
  })
  .describe('An Adaptive Card under 28 kB, for a Workflow.');

export const teamsChannel = postChannel<TeamsIntegration>({
  kind: 'msteamsv2',
  audience: 'people',
  pace: { inFlight: 2, claimed: 8 },
  shape: teamsShape,
  reader(check) {
    const http = httpReader(check);
    return (path) => readTeams(check, path, http);
  },
  request({ url, title, text, timezone }, notification, externalUrl) {
    const { texts, notes, error } = renderTexts({ title, text }, notification, externalUrl);
    const body = teamsBody(notification, externalUrl, texts, notes, timezone);
    return { url: url.reveal(), body, templateError: error };
  },
});

function readTeams(check: Check, path: Path, readHttp: HttpReader): TeamsIntegration | undefined {
  refuseTemplates(check, path, teamsShape, ['title', 'text']);
  const url = check.secret(path, 'webhook_url', { isRequired: true, mistake: mistakeInUrl });
  const title = readTemplate(check, [...path, 'title'], 'text');
  const text = readTemplate(check, [...path, 'text'], 'text');
  const http = readHttp(path);
  const teams = check.read(teamsShape, path);
  if (!teams || !url) return undefined;
  return {
    kind: 'msteamsv2',
    url,
    ...(title && { title }),
    ...(text && { text }),
    timeoutMs: teams.timeout,
    ...(http && { http }),
    sendResolved: teams.send_resolved,
    ...(teams.timezone !== undefined && { timezone: teams.timezone }),
  };
}

// Writes messages for the Workflows webhook of Microsoft Teams: one adaptive card. Its texts are rich text runs, which
// read no Markdown, so that text from outside makes no links. A set of facts reads it, and gets only what cannot be any. Mentions would need entities, and there are none. Limit:
// 28 kB (https://learn.microsoft.com/microsoftteams/limits-specifications-teams).

export const TEAMS_MAX_BYTES = 28_000;
/** Room for everything but the list of texts. */
const ENVELOPE_BYTES = 4_500;
const RUN_UNITS = 4_000;
const TITLE_UNITS = 300;
/** The most single events in all clusters. */
const MAX_LINES = 30;

type CardBlock = ReturnType<typeof block> | { readonly type: 'FactSet'; readonly facts: readonly object[] };

interface TextRun {
  readonly text: string;
  readonly size?: 'Large' | 'Small';
  readonly weight?: 'Bolder';
  readonly color?: 'Attention' | 'Warning' | 'Good' | 'Default';
  readonly fontType?: 'Monospace';
  readonly isSubtle?: true;
}

const COLOURS: Readonly<Record<Tone, NonNullable<TextRun['color']>>> = {
  critical: 'Attention',
  warning: 'Warning',
  resolved: 'Good',
  neutral: 'Default',
};

export function teamsBody(
  notification: Readable,
  externalUrl: string,
  texts: { readonly title?: string; readonly text?: string } = {},
  notes: readonly string[] = [],
  zone?: string,
) {
  const view = viewOf(notification, externalUrl, zone);
  const headline = within((texts.title || view.headline).toWellFormed(), TITLE_UNITS);
  const blocks: CardBlock[] = [
    block({ text: headline, size: 'Large', weight: 'Bolder', color: COLOURS[view.tone] }),
    ...(texts.text === undefined && view.context ? [subtle(view.context)] : []),
    ...[...view.notices, ...notes].map((notice) => block({ text: notice })),
    ...(texts.text === undefined
      ? contentOf(view)
      : texts.text.split('\n').map((line) => block({ text: line }))),
  ];
  const rest = (count: number) => subtle(`… and ${count} more lines; the page has all of it`);
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          fallbackText: headline,
          body: listWithin(blocks, 200, TEAMS_MAX_BYTES - ENVELOPE_BYTES, rest),
          actions: view.links.map(({ text, url }) => ({ type: 'Action.OpenUrl', title: text, url })),
        },
      },
    ] as const,
  };
}

function contentOf(view: MailView): CardBlock[] {
  const clusters = view.clusters.slice(0, MAX_CLUSTERS);
  const alertsMore =
    view.alertsMore + view.clusters.slice(MAX_CLUSTERS).reduce((sum, { alerts }) => sum + alerts, 0);
  // As many of each cause as leave room for all causes.
  const perCluster = Math.max(1, Math.floor(MAX_LINES / clusters.length));
  const moreLines = (count: number) => (count > 0 ? [subtle(`… and ${count} more`)] : []);
  const events = view.events.slice(0, MAX_EVENTS);
  const eventsMore = view.eventsMore + view.events.length - events.length;
  return [
    ...view.lead.map((line) => block({ text: line })),
    ...view.message.map((line) => block({ text: line, fontType: 'Monospace' })),
    ...(view.history ? [block({ text: historyLine(view.history) })] : []),
    ...(view.sections ?? []).flatMap(({ title, rows, more }) => [
      block({ text: title, weight: 'Bolder' }),
      ...rows.map(({ lead, what, note }) =>
        block(
          { text: `${lead}  ${what}` },
          ...(note ? [{ text: `  ${note}`, isSubtle: true as const }] : []),
        ),
      ),
      ...(more > 0 ? [subtle(`… and ${more} more`)] : []),
    ]),
    ...detailsOf(view.details),
    ...clusters.flatMap(({ tone, title, places, placesMore, cause, context, lines, linesMore }) => [
      block(
        { text: title, weight: 'Bolder', color: COLOURS[tone] },
        { text: ` · ${places.join(', ')}${placesMore > 0 ? ` and ${placesMore} more` : ''}` },
      ),
      ...(cause ? [block({ text: cause, fontType: 'Monospace' })] : []),
      ...(context ? [subtle(context)] : []),
      ...lines.slice(0, perCluster).map((line) => subtle(`• ${eventWords(line)}`)),
      ...moreLines(lines.slice(perCluster).reduce((sum, { events: count }) => sum + count, linesMore)),
    ]),
    ...(alertsMore > 0 ? [subtle(`… and ${alertsMore} more alerts`)] : []),
    ...(events.length > 0 ? [block({ text: view.eventsTitle, weight: 'Bolder' })] : []),
    ...events.map((line) => block({ text: `• ${eventWords(line)}` })),
    ...(eventsMore > 0 ? [subtle(`… and ${eventsMore} more events`)] : []),
  ];
}

/** Words, numbers and addresses of mail, which mean nothing in Markdown. */
const PLAIN = /^(?![-+]|\d+[.)] )[\p{L}\p{N} ,.:;%+@/()-]+$/u;

function detailsOf(details: MailView['details']): CardBlock[] {
  const isPlain = (text: string) => PLAIN.test(text) && !text.includes('://');
  const facts = details.filter((detail) => detail.every(isPlain));
  return [
    ...(facts.length > 0
      ? [{ type: 'FactSet' as const, facts: facts.map(([title, value]) => ({ title, value })) }]
      : []),
    ...details
      .filter((detail) => !detail.every(isPlain))
      .map(([name, value]) => block({ text: `${name}: `, weight: 'Bolder' }, { text: value })),
  ];
}

function block(...runs: readonly TextRun[]) {
  return {
    type: 'RichTextBlock' as const,
    inlines: runs.map((run) => ({
      type: 'TextRun' as const,
      ...run,
      text: within(run.text.toWellFormed(), RUN_UNITS) || ' ',
    })),
  };
}

function subtle(text: string) {
  return block({ text, isSubtle: true, size: 'Small' });
}
