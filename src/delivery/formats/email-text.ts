import type { Cluster } from './email-clusters.ts';
import type { EventLine, MailView } from './email-view.ts';
import { fitting, MAX_CLUSTERS, MAX_EVENTS, MAX_PART_BYTES } from './fitting.ts';
import { historyLine } from './flight-history.ts';
import { MAX_SECTIONS, sectionText } from './section.ts';

/** The text part: written to be read by itself, on a phone's lock screen as well. */
export function emailText(view: MailView): string {
  const message = view.message.map((line) => `    ${line}`);
  const details = view.details.map(([name, value]) => `${name}: ${value}`);
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
    ...paragraph(details),
  ].join('\n');
  const tail = [
    ...paragraph(view.links.map(({ text, url }) => `${text}: ${url}`)),
    '-- ',
    view.footer,
    '',
  ].join('\n');

  let room = MAX_PART_BYTES - Buffer.byteLength(head + tail) - 200;
  const sections = fitting(view.sections ?? [], sectionText, room, MAX_SECTIONS);
  room -= sections.bytes;
  const clusters = fitting(view.clusters, clusterText, room, MAX_CLUSTERS);
  room -= clusters.bytes;
  const events = fitting(view.events, eventText, room, MAX_EVENTS);

  const moreAlerts = view.alertsMore + clusters.rest.reduce((total, { alerts }) => total + alerts, 0);
  const moreEvents = view.eventsMore + events.rest.reduce((total, line) => total + line.events, 0);
  const news = [...events.kept, ...more(moreEvents, 'events')];
  return [
    head,
    ...sections.kept,
    ...more(sections.rest.length, 'parts'),
    ...paragraph([...clusters.kept, ...more(moreAlerts, 'alerts')]),
    ...paragraph(news.length > 0 ? [`${view.eventsTitle}:`, ...news] : []),
    tail,
  ].join('\n');
}

function clusterText({ title, cause, places, placesMore, context }: Cluster): string {
  const where = places.join(', ') + (placesMore > 0 ? ` and ${placesMore} more` : '');
  return [
    `* ${title}: ${where}`,
    ...(cause ? [`    ${cause}`] : []),
    ...(context ? [`  ${context}`] : []),
  ].join('\n');
}

function eventText({ time, where, what, events }: EventLine): string {
  const count = events > 1 ? `${events} ×` : '';
  return `  ${[time, count, where, what].filter((part) => part !== '').join(' ')}`;
}

function more(count: number, noun: string): string[] {
  return count > 0 ? [`  … and ${count} more ${noun}`] : [];
}

/** The lines and an empty one behind them; nothing for none. */
function paragraph(lines: readonly string[]): string[] {
  return lines.length > 0 ? [...lines, ''] : [];
}
