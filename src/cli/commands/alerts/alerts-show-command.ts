import type { Edge } from '../../../process-io.ts';
import { type DaemonOptions, daemonJson } from '../../daemon-client.ts';
import { jsonText, layoutOf, shown, shownTime } from '../../terminal-text.ts';
import { findingLines } from '../finding-lines.ts';
import { EVENTS, listText, shownIntegration } from '../printed-lists.ts';
import { postMortem } from './post-mortem.ts';
import { recordShape, type ShownAlert } from './shown-alert.ts';

/** Prints everything known about one alert, even after it has been resolved. */
export async function alertsShow(
  edge: Edge,
  id: string,
  options: DaemonOptions & { readonly json: boolean; readonly format?: 'text' | 'markdown' },
): Promise<number> {
  const path = `/api/v1/alerts/${encodeURIComponent(id)}`;
  const { json, data } = await daemonJson(edge, options, { method: 'GET', path }, recordShape);
  if (options.format === 'markdown' && !options.json) {
    edge.stdout.write(postMortem(data));
    return 0;
  }
  edge.stdout.write(options.json ? jsonText(json) : `${linesOf(data).join('\n')}\n`);
  if (!options.json && data.events.length > 0)
    edge.stdout.write(`\n${listText(EVENTS, data.events, layoutOf(edge, {}))}`);
  return 0;
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
          `  by ${shownIntegration(delivery)}: ${delivery.state} (${shown(delivery.id)})${delivery.last_error ? `: ${shown(delivery.last_error)}` : ''}`,
      ),
    ]),
    ...data.episodes.map(
      (one) =>
        `episode    from ${shownTime(one.startsAt)} to ${shownTime(one.endsAt)}${one.ending === null ? '' : `, ${shown(one.ending.replaceAll('_', ' '))}`}`,
    ),
    `events     ${data.events_total}${data.events_total > data.events.length ? `, the newest ${data.events.length} of them` : ''}`,
  ];
}
