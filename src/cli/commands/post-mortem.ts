/** Writes the first page of a post-mortem of an alert, in Markdown, from what is stored. People add the rest. */
import { durationWords } from '../../text/instant-words.ts';
import { parseInstant } from '../../time/instant.ts';
import type { recordJson } from '../../web/api/alert-json.ts';
import { shown, shownTime } from '../terminal-text.ts';

export type ShownAlert = ReturnType<typeof recordJson>;

/** Later rows say the least about how it began and ended. */
const MOST_ROWS = 100;

/** Text from outside, on one line, of which nothing is markup. */
function said(text: string): string {
  const escaped = shown(text).replaceAll(/[\\`*_{}[\]<>#!|~&]/g, '\\$&');
  // No list begins, no address becomes a link, and nobody is called: a zero-width space keeps that from being seen.
  return escaped
    .replaceAll('://', ':\\/\\/')
    .replace(/^([-+]|\d+(?=[.)]))/, (start) => (/\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replaceAll(/@|www(?=\.)/gi, '$&\u200B');
}

export function postMortem(data: ShownAlert): string {
  const { labels, annotations, startsAt, endsAt } = data;
  const isOver = data.state === 'resolved';
  const lastedMs = isOver ? (usOf(endsAt) - usOf(startsAt)) / 1000 : undefined;
  const ended =
    lastedMs === undefined
      ? 'not yet'
      : `${shownTime(endsAt)}, after ${durationWords(lastedMs, 'two units')}${annotations.resolved_by ? `: ${said(annotations.resolved_by)}` : ''}`;
  const place = [labels.region, labels.nest, labels.bird ?? labels.entity_name].filter(Boolean);
  const facts = [
    ['Began', shownTime(startsAt)],
    ['Ended', ended],
    ['Where', said(place.join(' / ')) || 'nestwatch'],
    ['Severity', said(labels.severity ?? '')],
    ['Events', String(data.events_total)],
    ['Alert', said(data.id)],
  ];
  const why = data.findings.flatMap(({ text }) => (text === null ? [] : [`- ${said(text)}`]));
  return [
    `# ${said(annotations.title ?? annotations.summary ?? labels.alertname ?? data.id)}`,
    tableOf(['', ''], facts),
    ...(annotations.description ? [`> ${said(annotations.description)}`] : []),
    ...(why.length > 0 ? ['## Why', why.join('\n')] : []),
    '## Timeline',
    tableOf(['Time', 'What'], timelineOf(data)),
    '## Who was told',
    tableOf(['Time', 'Receiver', 'Why', 'Through'], data.notifications.map(toldRow)),
    ...(data.suppressions.length > 0
      ? ['## Who was not told', tableOf(['Time', 'Receiver', 'Why'], data.suppressions.map(untoldRow))]
      : []),
    ...(data.episodes.length > (isOver ? 1 : 0)
      ? ['## Before', tableOf(['From', 'To', 'Ended'], data.episodes.slice(isOver ? 1 : 0).map(episodeRow))]
      : []),
    '## Cause',
    '',
    '## What we change',
    '',
  ].join('\n\n');
}

function usOf(text: string | null): number {
  return (text && parseInstant(text)?.us) || 0;
}

function tableOf(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return 'Nobody.';
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(titles), line(titles.map(() => '---')), ...rows.map(line)].join('\n');
}

type Row = readonly [time: string, ...cells: string[]];

/** Oldest first. */
function timelineOf({
  startsAt,
  endsAt,
  state,
  events,
  notifications,
  acknowledgements,
  notes,
}: ShownAlert): Row[] {
  const rows: Row[] = [
    [startsAt ?? '', 'The alert fires'],
    ...events.map((one): Row => [one.occurred_at, `${said(one.type)} ${said(one.message)}`.trim()]),
    ...notifications.map((one): Row => [one.created_at, `${said(one.receiver)} is told`]),
    ...acknowledgements.map((one): Row => [one.at, `${said(one.author)} acknowledges: ${said(one.comment)}`]),
    ...notes.map((one): Row => [one.at, `${said(one.author)} notes: ${said(one.text)}`]),
    ...(state === 'resolved' ? [[endsAt, 'The alert is resolved'] as const] : []),
  ];
  const sorted = rows.toSorted(([a], [b]) => usOf(a) - usOf(b));
  const left = sorted.length - MOST_ROWS;
  const shown = sorted.slice(0, MOST_ROWS).map(([at, what]): Row => [shownTime(at), what!]);
  return left > 0 ? [...shown, ['', `and ${left} more`]] : shown;
}

function toldRow({ created_at: at, receiver, reason, deliveries }: ShownAlert['notifications'][number]): Row {
  const through = deliveries.map((one) => `${said(one.integration_name)} ${said(one.state)}`).join(', ');
  return [shownTime(at), said(receiver), said(reason.replaceAll('_', ' ')), through];
}

function untoldRow({ at, receiver, reason, detail }: ShownAlert['suppressions'][number]): Row {
  return [shownTime(at), said(receiver), said(`${reason.replaceAll('_', ' ')} ${detail}`)];
}

function episodeRow({ startsAt, endsAt, ending }: ShownAlert['episodes'][number]): Row {
  return [shownTime(startsAt), shownTime(endsAt), said((ending ?? '').replaceAll('_', ' '))];
}
