/** Writes what a digest says to people: the day in two lines and a few figures, then the details. */
import { GUARDS, type Guard } from '../../domain/action/action.ts';
import { type Digest, digestTitle, type OpenAlert, type Watch } from '../../domain/digest/digest.ts';
import type { Failures, Place } from '../../domain/digest/flight-tally.ts';
import {
  alertsSince,
  ENDING_WORDS,
  figureName,
  figureText,
  monthName,
  type ReportRow,
  type SentReport,
} from '../../domain/digest/report-figures.ts';
import type { DigestNotification, GroupNotification } from '../../domain/grouping/notification.ts';
import { unmetWords } from '../../domain/statistics/deadlines.ts';
import { alertPath, birdPath } from '../../http/page-path.ts';
import { dayAndTime, durationWords, exactZoneTime, howMany, instantsIn } from '../../text/instant-words.ts';
import { plainText, regionName } from '../../text/plain-text.ts';
import type { Tone } from './alert-clusters.ts';
import { isOfStep, NAME_CODE_POINTS, placeOf, stateWords, subjectOf } from './alert-subject.ts';
import { type EventLine, reasonLine } from './event-line.ts';
import { linkableOf, whySent } from './frame/links.ts';
import { type MailView, mailView } from './message-view.ts';
import { linkable, NO_ALERTS, type Row, type Section } from './section.ts';

/** Notifications that people can read: all but forwarded events. */
export type Readable = GroupNotification | DigestNotification;

const CAUSE_CODE_POINTS = 160;
/** What takes less is not slow to people, even if it is the slowest. */
const SLOW_US = 300_000_000;

/**
 * What a message says. `zone` is the reader's time zone. Without it times are in UTC, and in a digest in the digest's
 * own time zone.
 */
export function viewOf(notification: Readable, externalUrl: string, zone?: string): MailView {
  const view =
    notification.kind === 'digest'
      ? digestView(notification, externalUrl)
      : mailView(notification, externalUrl);
  return viewInZone(view, zone ?? (notification.kind === 'digest' ? notification.timezone : undefined));
}

/** `[nestwatch] Digest daily: 12 Flights failed, 3 alerts open` */
export function digestSubject({ digest }: DigestNotification): string {
  if ('report' in digest)
    return plainText(`[nestwatch] Report ${name(digest.name)}: ${reportTitle(digest)}`, 200);
  return plainText(`[nestwatch] Digest ${name(digest.name)}: ${digestTitle(digest)}`, 200);
}

export function digestView(notification: DigestNotification, externalUrl: string): MailView {
  const { digest, timezone = 'UTC' } = notification;
  if ('report' in digest) return reportView(notification, digest, externalUrl);
  const title = digestTitle(digest);
  const month = exactZoneTime(digest.fromUs, timezone).slice(0, '2026-11'.length);
  return {
    tone: toneOf(digest),
    headline: title.charAt(0).toUpperCase() + title.slice(1),
    subject: `Digest ${name(digest.name)}: ${title}`,
    context: `Digest ${name(digest.name)} · ${dayAndTime(digest.fromUs)} to ${dayAndTime(digest.toUs)}`,
    ...NO_ALERTS,
    sections: sectionsOf(digest, externalUrl).filter(({ rows }) => rows.length > 0),
    links: linkableOf([
      { text: 'Open nestwatch', url: `${externalUrl}/` },
      { text: 'What is open', url: `${externalUrl}/alerts` },
      { text: 'Report of the month', url: `${externalUrl}/report?month=${month}` },
    ]),
    footer: whySent(notification, externalUrl),
  };
}

function toneOf({ open, flights, openTotal, watch }: Digest): Tone {
  if (open.some(({ labels }) => labels.severity === 'critical')) return 'critical';
  const isImpaired = watch.some(({ impaired }) => impaired.length > 0);
  return openTotal > 0 || flights.failed > 0 || isImpaired ? 'warning' : 'resolved';
}

function sectionsOf(digest: Digest, externalUrl: string): Section[] {
  const { flights, toUs, silenced, silencedTotal, deadlines, deadlinesTotal } = digest;
  const { unusual, unusualTotal } = digest;
  const slow = flights.slowest.filter(({ p95Us }) => p95Us >= SLOW_US);
  const pageOf = (path: string) => linkable(`${externalUrl}/${path}`);
  return [
    { title: 'In short', rows: figures(digest), more: 0 },
    {
      title: 'Still open',
      rows: digest.open.map((alert) => ({
        lead: durationWords((toUs - alert.startsAtUs) / 1000, 'two units'),
        what: alertWords(alert),
        note: `since ${dayAndTime(alert.startsAtUs)}${alert.hidden ? `, ${alert.hidden}` : ''}`,
        url: alert.id === undefined ? undefined : pageOf(alertPath(alert.id)),
      })),
      more: digest.openTotal - digest.open.length,
    },
    {
      title: 'Silenced',
      rows: silenced.map(({ times, isOpen, ...alert }) => ({
        lead: `${times} ×`,
        what: alertWords(alert),
        note: isOpen ? 'still open' : '',
      })),
      more: silencedTotal - silenced.length,
    },
    { title: 'Flown again by rules', rows: actedRows(digest), more: 0 },
    {
      title: 'Deadlines',
      rows: deadlines.map(({ met, late, missed, latestUs, ...place }) => ({
        lead: `${met} of ${met + late + missed} met`,
        what: wherePlain(place),
        note: unmetWords({ met, late, missed, latestUs }).join(', '),
      })),
      more: deadlinesTotal - deadlines.length,
    },
    {
      title: 'Top causes',
      rows: flights.causes.map(({ error, message, failed, birds, examples }) => ({
        lead: `${failed} ×`,
        what: plainText(reasonLine(message ?? '') || error, CAUSE_CODE_POINTS) || 'without a message',
        note: others(
          examples.map(({ bird }) => name(bird)),
          birds,
        ),
      })),
      more: flights.causesTotal - flights.causes.length,
    },
    {
      title: 'Birds with the most failures',
      rows: flights.birds.map(({ birdId, ...bird }) => ({
        ...failures(bird),
        url: birdId === undefined ? undefined : pageOf(birdPath(bird.region, birdId)),
      })),
      more: flights.birdsFailing - flights.birds.length,
    },
    {
      title: 'Nests with the most failures',
      rows: flights.nestsFailing > 1 ? flights.nests.map(failures) : [],
      more: flights.nestsFailing - flights.nests.length,
    },
    {
      title: 'Slowest Birds (95th percentile)',
      rows: slow.map(({ p95Us, beforeUs, ...place }) => ({
        lead: durationWords(p95Us / 1000, 'two units'),
        what: wherePlain(place),
        note:
          beforeUs === null ? '' : `${durationWords(beforeUs / 1000, 'two units')} in the previous period`,
      })),
      more: 0,
    },
    {
      title: 'Unusual',
      rows: unusual.map(({ sort, text, ...place }) => ({ lead: sort, what: wherePlain(place), note: text })),
      more: unusualTotal - unusual.length,
    },
    lost('Connections lost', digest.connectionsLost, digest.connectionsLostTotal),
    lost('Birds deactivated', digest.deactivated, digest.deactivatedTotal),
    { title: 'Completeness', rows: digest.watch.map(watched), more: 0 },
  ];
}

function figures({ flights, waiting, recovered, acted, suppressed, dead }: Digest): Row[] {
  const { failed, succeeded, cancelled = 0, birdsFailing, nestsFailing, before } = flights;
  const where = `${howMany(birdsFailing, 'Bird')} in ${howMany(nestsFailing, 'Nest')}`;
  const reasons = suppressed
    .map(({ reason, count }) => `${count} ${REASONS.get(reason) ?? reason}`)
    .join(', ');
  const rows: Row[] = [
    {
      lead: 'Flights',
      what: `${failed} failed, ${succeeded} succeeded${cancelled > 0 ? `, ${cancelled} cancelled` : ''}`,
      note: failed > 0 ? where : '',
    },
    {
      lead: 'Period before',
      what: before ? `${before.failed} failed, ${before.succeeded} succeeded` : '',
      note: before ? comparison(failed, before.failed) : '',
    },
    {
      lead: 'Waiting for people',
      what: waiting
        ? `${howMany(waiting.flights, 'Flight')}, median ${durationWords(waiting.medianUs / 1000, 'one unit')}, longest ${durationWords(waiting.longestUs / 1000, 'one unit')}`
        : '',
      note: waiting ? placeOf(waiting.longest, undefined) : '',
    },
    {
      lead: 'Recovered',
      what:
        recovered.alerts === 0
          ? 'nothing'
          : `${howMany(recovered.alerts, 'alert')}, after ${durationWords(recovered.meanUs / 1000, 'two units')}${recovered.alerts > 1 ? ' on average' : ''}`,
      note: '',
    },
    {
      lead: 'Healed by itself',
      what: acted?.healed ? howMany(acted.healed, 'alert') : '',
      note: 'after a rule flew the Bird again',
    },
    { lead: 'Not notified', what: reasons, note: '' },
    {
      lead: 'Not delivered',
      what: dead > 0 ? howMany(dead, 'message') : '',
      note: 'see nestwatch deliveries --dead',
    },
  ];
  return rows.filter(({ what }) => what !== '');
}

function actedRows({ acted: { flown, withheld } = { flown: 0, healed: 0, withheld: {} } }: Digest): Row[] {
  const row = (count: number, what: string) => ({ lead: `${count} ×`, what, note: '' });
  return [
    ...(flown > 0 ? [row(flown, 'flown again')] : []),
    ...Object.entries(withheld).map(([guard, count]) =>
      row(count, `not flown again: ${GUARDS[guard as Guard]}`),
    ),
  ];
}

function comparison(failed: number, before: number): string {
  if (failed === before) return 'as many failures';
  const difference = Math.abs(failed - before);
  return howMany(difference, failed > before ? 'more failure' : 'fewer failure');
}

/** Reasons for which something was suppressed, in words. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['silenced', 'silenced'],
  ['inhibited', 'explained by another alert'],
  ['time_interval', 'muted by a time interval'],
  ['too_old', 'only summarised, as too old'],
  ['no_integration', 'with nobody to notify'],
]);

function lost(title: string, alerts: readonly OpenAlert[], total: number): Section {
  const rows = alerts.map((alert) => ({
    lead: regionName(alert.labels.region ?? ''),
    what: alertPlace(alert),
    note: dayAndTime(alert.startsAtUs),
  }));
  return { title, rows, more: total - rows.length };
}

function watched({ region, verifiedUntilUs, impaired }: Watch): Row {
  const troubles = impaired.map(({ alertname, us, isOpen }) => {
    const words = stateWords({ status: 'firing', labels: { alertname }, annotations: {} }, false);
    return `${words} for ${durationWords(us / 1000, 'two units')}${isOpen ? ', still' : ''}`;
  });
  return {
    lead: regionName(region),
    what: verifiedUntilUs > 0 ? `nothing missing until ${dayAndTime(verifiedUntilUs)}` : 'not proven yet',
    note: troubles.join('; '),
  };
}

function failures({ failed, succeeded, ...place }: Failures): Row {
  return { lead: `${failed} of ${failed + succeeded}`, what: wherePlain(place), note: '' };
}

/** `Flight failed: EU · Marketing / Translate blog` */
function alertWords({ labels }: Pick<OpenAlert, 'labels'>): string {
  const { alertname = 'Alert' } = labels;
  const words = stateWords({ status: 'firing', labels: { alertname }, annotations: {} }, false);
  return [words, placeOf(labels, undefined), entityOf({ labels })].filter((part) => part !== '').join(': ');
}

function alertPlace({ labels }: Pick<OpenAlert, 'labels'>): string {
  const { region: _, ...rest } = labels;
  return [entityOf({ labels }), placeOf(rest, undefined)].filter((part) => part !== '').join(', ');
}

/** What it is about besides a place. */
function entityOf({ labels }: Pick<OpenAlert, 'labels'>): string {
  if (isOfStep(labels)) return `step ${name(labels.step ?? '')}`;
  const subject = subjectOf({ labels });
  return placeOf(labels, undefined).endsWith(subject) ? '' : subject;
}

function wherePlain({ region, nest, bird }: Place): string {
  return placeOf({ region, nest, ...(bird && { bird }) }, undefined);
}

function name(text: string): string {
  return plainText(text, NAME_CODE_POINTS);
}

/** `Translate blog, Contracts and 2 more` */
function others(names: readonly string[], total: number): string {
  return names.join(', ') + (total > names.length ? ` and ${total - names.length} more` : '');
}

/** `zone` must be a valid time zone; without it the view stays in UTC. */
function viewInZone(view: MailView, zone: string | undefined): MailView {
  if (zone === undefined) return view;
  const local = (text: string) => instantsIn(text, zone);
  const line = (one: EventLine) => ({ ...one, when: local(one.when) });
  return {
    ...view,
    headline: local(view.headline),
    subject: local(view.subject),
    context: local(view.context),
    lead: view.lead.map(local),
    notices: view.notices.map(local),
    details: view.details.map(([name, value]) => [name, local(value)] as const),
    clusters: view.clusters.map((one) => ({
      ...one,
      context: local(one.context),
      lines: one.lines.map(line),
    })),
    events: view.events.map(line),
    ...(view.sections && {
      sections: view.sections.map((section) => ({
        ...section,
        rows: section.rows.map((row) => ({ ...row, what: local(row.what), note: local(row.note) })),
      })),
    }),
  };
}

// Writes what a report of a month says to people: how many Flights succeeded, then the figures of the page.

const SHOWN_ROWS = 10;
const SHOWN_CAUSES = 3;
const TEXT_CODE_POINTS = 160;
/** `days` is drawn as a strip on the page; `month` is the figures above. */
const NOT_LISTED = new Set(['month', 'days']);

/** `Customer 4: 97.5 % of 400 Flights succeeded in November 2026` */
function reportTitle({ report: { month, nest, tables } }: SentReport): string {
  const { flights = 0, success } = tables.month?.[0]?.figures ?? {};
  const of =
    flights === 0
      ? 'no Flights'
      : `${figureText('success', success)} of ${howMany(flights, 'Flight')} succeeded`;
  const place = name(nest.nest ?? '');
  return `${place && `${place}: `}${of} in ${monthName(month)}`;
}

function reportView(notification: DigestNotification, sent: SentReport, externalUrl: string): MailView {
  const { fromUs, toUs, report } = sent;
  const { nest, month, tables, alertsUs } = report;
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
      return {
        title: figureName(table),
        rows: shown.map((row) => rowOf(table, row)),
        more: rows.length - shown.length,
      };
    }),
  ];
  return {
    tone: 'neutral',
    headline: title.charAt(0).toUpperCase() + title.slice(1),
    subject: `Report ${name(sent.name)}: ${title}`,
    context: `Report ${name(sent.name)} · ${dayAndTime(fromUs)} to ${dayAndTime(toUs)}`,
    ...NO_ALERTS,
    notices: alertsUs === undefined ? [] : [alertsSince(dayAndTime(alertsUs))],
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

function rowOf(table: string, { labels, text = '', figures }: ReportRow): Row {
  const [[first = '', value] = [], ...others] = Object.entries(figures);
  const note = others.map(([name, one]) => `${figureName(name).toLowerCase()} ${figureText(name, one)}`);
  const said = table === 'how_alerts_ended' ? (ENDING_WORDS.get(text) ?? text) : text;
  const about = [labels ? placeOf(labels, undefined) : '', plainText(said, TEXT_CODE_POINTS)];
  const one = value === 1 && first !== 'objective' ? first.replace(/s$/, '') : first;
  const words = [figureText(first, value), figureName(one).toLowerCase()];
  return {
    // A number stands before its name (`12 failed`), a word behind it (`objective met`).
    lead: (first === 'objective' ? words.toReversed() : words).join(' '),
    what: about.filter(Boolean).join(': ') || 'without a message',
    note: note.filter((one) => !one.endsWith(' ')).join(', '),
  };
}
