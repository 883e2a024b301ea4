import type { Cluster } from '../message/alert-clusters.ts';
import type { EventLine } from '../message/event-line.ts';
import { fitting, MAX_EVENTS, MAX_PART_BYTES } from '../message/fitting.ts';
import { type ClusterWriter, fittingClusters } from '../message/fitting-clusters.ts';
import { fittingView } from '../message/fitting-view.ts';
import { historyLine } from '../message/flight-history.ts';
import type { EachAlert } from '../message/frame/each-alert.ts';
import type { MailView } from '../message/message-view.ts';
import { MAX_SECTIONS, sectionText } from '../message/section.ts';

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
    ...paragraph(each.kept.length > 0 ? ['Each by itself:', ...each.kept] : []),
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
