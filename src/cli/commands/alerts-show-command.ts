import type { Edge } from '../../process-io.ts';
import { type PrintOptions, printAnswer } from '../daemon-client.ts';
import { layoutOf, shown, shownSentence, shownTime } from '../terminal-text.ts';
import { postMortem, type ShownAlert } from './post-mortem.ts';
import { EVENTS, listText } from './printed-lists.ts';

/** Prints everything known about one alert, even after it has been resolved. */
export async function alertsShow(
  edge: Edge,
  id: string,
  options: PrintOptions & { readonly format?: 'text' | 'markdown' },
): Promise<number> {
  const path = `/api/v1/alerts/${encodeURIComponent(id)}`;
  await printAnswer<ShownAlert>(edge, options, { method: 'GET', path }, 'labels', (alert) => {
    if (options.format === 'markdown') return postMortem(alert);
    const events = alert.events.length > 0 ? `\n${listText(EVENTS, alert.events, layoutOf(edge, {}))}` : '';
    return `${linesOf(alert).join('\n')}\n${events}`;
  });
  return 0;
}

/** What was looked for to say why an alert fires now. */
export function findingLines(findings: ShownAlert['findings']): string[] {
  return findings.map(
    ({ annotation, text, missing }) =>
      `context    ${shown(annotation)}: ${text === null ? `not said, because ${shownSentence(missing ?? '')}` : shownSentence(text)}`,
  );
}

function linesOf(data: ShownAlert): string[] {
  const labels = Object.entries(data.labels).map(([name, value]) => `${shown(name)}=${shown(value)}`);
  const ended = data.state === 'resolved' ? `, ended ${shownTime(data.endsAt)}` : '';
  return [
    `${shown(data.id)}: ${data.state} since ${shownTime(data.startsAt)}${ended}${data.kept ? '' : ', no longer kept itself'}`,
    `labels     ${labels.join(', ')}`,
    ...Object.entries(data.annotations).map(([name, value]) => `${shown(name).padEnd(10)} ${shown(value)}`),
    ...data.silenced_by.map(
      (one) =>
        `${one.acknowledgement ? 'acknowledged' : 'silenced  '} by ${shown(one.author)}: ${shown(one.comment)}`,
    ),
    ...data.notes.map(
      (one) =>
        `noted      by ${shown(one.author)} at ${shownTime(one.at)}${one.public ? ', for everybody' : ''}: ${shown(one.text)}`,
    ),
    ...(data.inhibited_by.length > 0 ? [`inhibited  by ${data.inhibited_by.map(shown).join(', ')}`] : []),
    ...findingLines(data.findings),
    `routed     to ${data.receivers.map(shown).join(', ') || 'no receiver'}`,
    ...data.notifications.flatMap((one) => [
      `notified   ${shown(one.receiver)} at ${shownTime(one.created_at)} as ${shown(one.reason)}`,
      ...one.deliveries.map(
        (delivery) =>
          `  by ${shown(delivery.integration_name)}: ${delivery.state} (${shown(delivery.id)})${delivery.last_error ? `: ${shown(delivery.last_error)}` : ''}`,
      ),
    ]),
    ...data.episodes.map(
      (one) =>
        `episode    from ${shownTime(one.startsAt)} to ${shownTime(one.endsAt)}${one.ending === null ? '' : `, ${shown(one.ending.replaceAll('_', ' '))}`}`,
    ),
    `events     ${data.events_total}${data.events_total > data.events.length ? `, the newest ${data.events.length} of them` : ''}`,
  ];
}
