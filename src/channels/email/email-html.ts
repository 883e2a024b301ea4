import type { FlightOutcome } from '../../domain/grouping/notification.ts';
import { shortGuid } from '../../text/plain-text.ts';
import type { Cluster, Tone } from '../message/alert-clusters.ts';
import { fitting, MAX_EVENTS, MAX_PART_BYTES } from '../message/bounded.ts';
import type { EventLine } from '../message/event-line.ts';
import { type ClusterWriter, fittingClusters, fittingView } from '../message/fitting-view.ts';
import type { EachAlert } from '../message/frame/links.ts';
import type { MailView } from '../message/message-view.ts';
import { escapeHtml, MAX_SECTIONS, sectionHtml, titleHtml } from '../message/section.ts';

/** Room for the markup around the lists. */
const MARKUP_BYTES = 1_500;

/**
 * Writes the HTML part: one column that fits a phone, nothing loaded from elsewhere, dark if the reader's device is.
 * Everything that matters is also styled inline, for mail programs that drop the style sheet.
 */
export function emailHtml(whole: MailView): string {
  const view = fittingView(whole, escapeHtml);
  const head = [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    `<title>${escapeHtml(view.headline)}</title>`,
    `<style>${STYLE}</style></head>`,
    `<body class="page" style="margin:0;padding:0;background:#f2f4f7;color:#101828;font:15px/1.5 ${SANS}">`,
    '<div style="max-width:640px;margin:0 auto;padding:16px 12px">',
    `<div class="card" style="background:#ffffff;border:1px solid #e4e7ec;border-left:6px solid ${COLOURS[view.tone]};border-radius:8px;padding:20px;${WRAPS}">`,
    `<h1 class="${view.tone}" style="margin:0;font-size:20px;line-height:1.3;color:${COLOURS[view.tone]}">${escapeHtml(view.headline)}</h1>`,
    `<p class="quiet" style="margin:6px 0 0;color:#475467">${escapeHtml(view.context)}</p>`,
    ...[...view.notices, ...view.lead].map((one) => `<p style="margin:12px 0 0">${escapeHtml(one)}</p>`),
    ...messageHtml(view),
    ...linksHtml(view),
    ...historyHtml(view),
  ].join('\n');
  const details = detailsHtml(view).join('\n');
  const tail = [
    '</div>',
    `<p class="quiet" style="margin:12px 4px;font-size:12px;color:#475467">${escapeHtml(view.footer)}</p>`,
    '</div></body></html>',
    '',
  ].join('\n');

  let room = MAX_PART_BYTES - Buffer.byteLength(head + details + tail) - MARKUP_BYTES;
  const sections = fitting(view.sections ?? [], sectionHtml, room, MAX_SECTIONS);
  room -= sections.bytes;
  const clusters = fittingClusters(view.clusters, clusterWriter(view.page), room);
  room -= clusters.bytes;
  const each = fitting(view.each, eachRow, room, view.each.length);
  room -= each.bytes;
  const events = fitting(view.events, eventHtml, room, MAX_EVENTS);

  const moreAlerts = view.alertsMore + clusters.rest.reduce((total, { alerts }) => total + alerts, 0);
  const moreEvents = view.eventsMore + events.rest.reduce((total, line) => total + line.events, 0);
  const hasNews = events.kept.length + moreEvents > 0;
  return [
    head,
    ...sections.kept,
    ...more(sections.rest.length, 'parts'),
    ...clusters.kept,
    ...more(moreAlerts, 'alerts'),
    details,
    ...eachHtml(each.kept, view.eachMore + each.rest.length),
    ...(hasNews ? [titleHtml(view.eventsTitle)] : []),
    ...listHtml(events.kept),
    ...more(moreEvents, 'events'),
    tail,
  ].join('\n');
}

const SANS = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const MONO = 'ui-monospace,Menlo,Consolas,monospace';
/** Inherited by all of the card: whatever is said in it may be one long word. */
const WRAPS = 'overflow-wrap:anywhere;word-break:break-word';
const NO_BREAK = '\u00A0';
const TABLE = 'cellpadding="0" cellspacing="0" style="border-collapse:collapse;width:100%"';
const COLOURS: Readonly<Record<Tone, string>> = {
  critical: '#b42318',
  warning: '#b54708',
  resolved: '#067647',
  neutral: '#475467',
};
const STYLE = [
  ':root{color-scheme:light dark}',
  '@media (prefers-color-scheme:dark){',
  '.page{background:#0c111d!important;color:#f2f4f7!important}',
  '.card{background:#161b26!important;border-top-color:#333741!important;border-right-color:#333741!important;border-bottom-color:#333741!important}',
  '.quiet{color:#a3aab5!important}.code{background:#0c111d!important;color:#f2f4f7!important}',
  '.line{border-color:#333741!important}.critical{color:#fda29b!important}.warning{color:#fec84b!important}',
  '.resolved{color:#75e0a7!important}.neutral{color:#a3aab5!important}.link{color:#84caff!important}',
  '.button{background:#84caff!important;color:#0c111d!important}}',
].join('');

function messageHtml({ message, messageTitle }: MailView): string[] {
  if (message.length === 0) return [];
  const text = message.map(saidHtml).join('\n');
  return [
    titleHtml(messageTitle),
    `<pre class="code" style="margin:0;padding:10px 12px;background:#f2f4f7;color:#101828;border-radius:6px;font:13px/1.5 ${MONO};white-space:pre-wrap">${text}</pre>`,
  ];
}

const GUIDS = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;

/** What was said, its GUIDs by their first eight signs with the whole as tooltip. */
function saidHtml(text: string): string {
  return escapeHtml(text).replace(GUIDS, (id) => `<span title="${id}">${shortGuid(id)}</span>`);
}

/** Shows the history as marks, and in words for everybody. */
function historyHtml({ history }: MailView): string[] {
  if (!history) return [];
  const marks = history.marks.map(
    ({ mark, outcome }) =>
      `<span class="${TONES[outcome]}" style="display:inline-block;width:20px;text-align:center;color:${COLOURS[TONES[outcome]]}">${mark}</span>`,
  );
  return [
    titleHtml('Last Flights, the newest last'),
    `<p style="margin:0;line-height:1.3"><span aria-hidden="true" style="margin-left:-4px;font-size:18px">${marks.join('')}</span><br>`,
    `<span class="quiet" style="font-size:13px;color:#475467">${escapeHtml(history.words)}</span></p>`,
  ];
}

const TONES: Readonly<Record<FlightOutcome, Tone>> = {
  succeeded: 'resolved',
  failed: 'critical',
  cancelled: 'neutral',
};

function detailsHtml({ details }: MailView): string[] {
  if (details.length === 0) return [];
  const rows = details.map(
    ([name, value]) =>
      `<tr><td class="quiet" style="padding:2px 14px 2px 0;color:#475467;vertical-align:top;white-space:nowrap">${escapeHtml(name)}</td>` +
      `<td style="padding:2px 0;width:100%">${escapeHtml(value)}</td></tr>`,
  );
  return [titleHtml('Details'), `<table role="presentation" ${TABLE}>`, ...rows, '</table>'];
}

/** The links of each of several alerts: tall enough for a thumb. */
function eachHtml(rows: readonly string[], rest: number): string[] {
  if (rows.length === 0) return [];
  const table = [`<table role="presentation" ${TABLE}>`, ...rows, '</table>'];
  return [titleHtml('Each by itself'), ...table, ...more(rest, 'alerts')];
}

function eachRow({ name, url, acknowledgeUrl }: EachAlert): string {
  const link = (text: string, href: string) =>
    `<a class="link" href="${escapeHtml(href)}" style="display:inline-block;padding:6px 14px 6px 0;color:#175cd3">${escapeHtml(text)}</a>`;
  const acknowledge = acknowledgeUrl === undefined ? '' : link('Acknowledge', acknowledgeUrl);
  return `<tr><td style="width:100%">${link(name, url)}</td><td>${acknowledge}</td></tr>`;
}

function clusterWriter(page: string | undefined): ClusterWriter {
  return {
    head: clusterHtml,
    line: eventHtml,
    more(count) {
      const words = `… and ${count} more`;
      const link = `<a class="link" href="${escapeHtml(page ?? '')}" style="color:#175cd3">${words}</a>`;
      return `<div style="font-size:13px">${page === undefined ? words : link}</div>`;
    },
    whole: (head, lines, rest) =>
      [
        '<div class="line" style="margin:14px 0 0;padding:12px 0 0;border-top:1px solid #e4e7ec">',
        head,
        ...listHtml(lines),
        ...(rest === '' ? [] : [rest]),
        '</div>',
      ].join('\n'),
  };
}

function clusterHtml({ tone, title: what, cause, places, placesMore, context }: Cluster): string {
  const where = escapeHtml(places.join(', ')) + (placesMore > 0 ? ` and ${placesMore} more` : '');
  return [
    `<strong class="${tone}" style="color:${COLOURS[tone]}">${escapeHtml(what)}</strong> · ${where}`,
    ...(cause ? [`<div style="font:13px/1.5 ${MONO}">${saidHtml(cause)}</div>`] : []),
    ...(context
      ? [`<div class="quiet" style="font-size:13px;color:#475467">${escapeHtml(context)}</div>`]
      : []),
  ].join('\n');
}

function listHtml(lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [`<ul style="margin:6px 0;padding:0 0 0 18px;font-size:13px">`, ...lines, '</ul>'];
}

function eventHtml({ where, when, step, message, ids }: EventLine): string {
  const place = where === '' ? [] : [`<strong>${escapeHtml(where)}</strong>`];
  const facts = [...place, ...[inOnePiece(when), step].filter((part) => part !== '').map(escapeHtml)].join(
    ' · ',
  );
  const known = ids.map((id) => escapeHtml(id.replaceAll(' ', NO_BREAK))).join(' · ');
  return [
    `<li style="margin:0 0 5px">${facts}`,
    ...(message ? [`<div style="font-family:${MONO}">${saidHtml(message)}</div>`] : []),
    ...(known ? [`<div class="quiet" style="font-size:12px;color:#475467">${known}</div>`] : []),
    '</li>',
  ].join('');
}

/** Keeps a number and its unit on one line: `15 min`. */
function inOnePiece(times: string): string {
  return times.replaceAll(/(?<=\d) /g, NO_BREAK);
}

const BUTTON = 'padding:9px 18px;border-radius:6px;font-weight:600;text-decoration:none';

/** The first link as a button, the others tall enough for a thumb, even if they wrap. */
function linksHtml({ links }: MailView): string[] {
  if (links.length === 0) return [];
  const anchors = links.map(({ text, url }, index) => {
    const [own, style] =
      index === 0
        ? ['button', `${BUTTON};background:#175cd3;color:#ffffff`]
        : ['link', 'padding:9px 0;color:#175cd3'];
    return `<a class="${own}" href="${escapeHtml(url)}" style="display:inline-block;margin:0 16px 4px 0;${style}">${escapeHtml(text)}</a>`;
  });
  return [`<p style="margin:16px 0 0">${anchors.join(' ')}</p>`];
}

function more(count: number, noun: string): string[] {
  return count > 0
    ? [`<p class="quiet" style="margin:8px 0 0;color:#475467">… and ${count} more ${noun}</p>`]
    : [];
}
