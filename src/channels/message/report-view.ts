/** Writes what a report of a month says to people: how many Flights succeeded, then the figures of the page. */
import {
  figureName,
  figureText,
  monthName,
  type ReportRow,
  type SentReport,
} from '../../domain/digest/report-figures.ts';
import type { DigestNotification } from '../../domain/grouping/notification.ts';
import { dayAndTime, howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { NAME_CODE_POINTS, placeOf } from './alert-subject.ts';
import { linkableOf, whySent } from './frame/links.ts';
import type { MailView } from './message-view.ts';
import { NO_ALERTS, type Row, type Section } from './section.ts';

const SHOWN_ROWS = 10;
const SHOWN_CAUSES = 3;
const TEXT_CODE_POINTS = 160;
/** The strip of the page is too long for a list. */
const NOT_LISTED = new Set(['month', 'days']);

/** `Customer 4: 97.5 % of 400 Flights succeeded in November 2026` */
export function reportTitle({ report: { month, nest, tables } }: SentReport): string {
  const { flights = 0, success } = tables.month?.[0]?.figures ?? {};
  const of =
    flights === 0
      ? 'no Flights'
      : `${figureText('success', success)} of ${howMany(flights, 'Flight')} succeeded`;
  const place = plainText(nest.nest ?? '', NAME_CODE_POINTS);
  return `${place && `${place}: `}${of} in ${monthName(month)}`;
}

export function reportView(
  notification: DigestNotification,
  sent: SentReport,
  externalUrl: string,
): MailView {
  const { name, fromUs, toUs, report } = sent;
  const { nest, month, tables } = report;
  const title = reportTitle(sent);
  const own = new URLSearchParams({
    month,
    ...(nest.region !== undefined && { region: nest.region }),
    ...(nest.nest_id !== undefined && { nest: nest.nest_id }),
  });
  const isOfNest = nest.region !== undefined;
  const lists = Object.entries(tables).filter(
    ([table]) => !NOT_LISTED.has(table) && !(isOfNest && table === 'worst_nests'),
  );
  const sections: Section[] = [
    { title: 'In short', rows: figuresOf(tables.month?.[0]), more: 0 },
    ...lists.map(([table, rows]) => {
      const shown = rows.slice(0, table === 'causes' ? SHOWN_CAUSES : SHOWN_ROWS);
      return { title: figureName(table), rows: shown.map(rowOf), more: rows.length - shown.length };
    }),
  ];
  return {
    tone: 'neutral',
    headline: title.charAt(0).toUpperCase() + title.slice(1),
    subject: `Report ${plainText(name, NAME_CODE_POINTS)}: ${title}`,
    context: `Report ${plainText(name, NAME_CODE_POINTS)} · ${dayAndTime(fromUs)} to ${dayAndTime(toUs)}`,
    ...NO_ALERTS,
    sections: sections.filter(({ rows }) => rows.length > 0),
    links: report.isForOthers
      ? []
      : linkableOf([{ text: 'Open the report', url: `${externalUrl}/report?${own}` }]),
    footer: whySent(notification, report.isForOthers ? 'none' : externalUrl),
  };
}

function figuresOf(row: ReportRow | undefined): Row[] {
  return Object.entries(row?.figures ?? {}).flatMap(([name, value]) => {
    const lead = figureText(name, value);
    return lead === '' ? [] : [{ lead, what: figureName(name), note: '' }];
  });
}

function rowOf({ labels, text = '', figures }: ReportRow): Row {
  const [[first = '', value] = [], ...others] = Object.entries(figures);
  const note = others.map(([name, one]) => `${figureName(name).toLowerCase()} ${figureText(name, one)}`);
  const about = [labels ? placeOf(labels, undefined) : '', plainText(text, TEXT_CODE_POINTS)];
  const words = [figureText(first, value), figureName(first).toLowerCase()];
  return {
    // The only figure that is no number: objective met.
    lead: (first === 'objective' ? words.toReversed() : words).join(' '),
    what: about.filter(Boolean).join(': ') || 'without a message',
    note: note.filter((one) => !one.endsWith(' ')).join(', '),
  };
}
