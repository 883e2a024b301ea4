/** Renders one Bird: its status, last Flights, their durations and failures, its alerts and log. */
import { html } from 'hono/html';
import type { Event } from '../../../domain/alert/event.ts';
import { countOutcomes, nearWords, outcomeWords, zonePlace } from '../../../domain/statistics/deadlines.ts';
import { type Cause, successRatio } from '../../../domain/statistics/flight-statistics.ts';
import { alertPath, eventPath, flightPath } from '../../../http/page-path.ts';
import { type BirdReport, durationUs } from '../../../operator/bird-report.ts';
import type { FlightOverview } from '../../../store/bird-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import { alertMessage, messageLine, ownEventItem } from '../frame/items.ts';
import type { Page } from '../frame/page.ts';
import { exactly, frame, type Html, heading, when } from '../frame/page-frame.ts';
import {
  alertTitle,
  eventTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  regionWord,
  severityTone,
  severityWord,
} from '../frame/page-words.ts';
import {
  birdStatus,
  birdTitle,
  countWords,
  flightLink,
  inService,
  nestLink,
  percent,
  standingPill,
  standingTone,
  statusWords,
} from './standing-words.ts';

/** `address`: the Bird's in the service's own application. */
export function renderBirdPage(page: Page, report: BirdReport, address: string | undefined): Html {
  const { words } = page;
  const { bird } = report;
  const title = birdTitle(words, bird.name, bird.birdId);
  const tone = standingTone(bird);
  return frame({
    title: `nestwatch: ${title}`,
    tone,
    page,
    isLive: true,
    section: 'birds',
    body: html`${heading(page, {
      title: html`<bdi>${title}</bdi>`,
      lead: html`${standingPill(page, bird)} ${regionWord(words, bird.region)} · ${nestLink(page, bird)} · <code>${plainText(bird.birdId, NAME_LENGTH)}</code>${bird.present ? '' : html` · ${words.birds.notListed}`}${inService(page, address)}`,
      json: `api/v1/birds/${encodeURIComponent(bird.region)}/${encodeURIComponent(bird.birdId)}`,
    })}
<main id="main">
${facts(page, report)}
${alertSection(page, report)}
${flightSection(page, report)}
${causeSection(page, report)}
${logSection(page, report)}
</main>`,
  });
}

function facts(page: Page, report: BirdReport): Html {
  const { words, nowUs } = page;
  const { bird, counts, deadlines, durations, rhythm, switchedOff, unusual } = report;
  const ago = (us: number) => when(page, us);
  const ratios = counts.map(
    (one) => html`<span>${words.birds.hours(one.hours)}: <b>${percent(words, successRatio(one)) || '–'}</b>
<span class="small soft">${words.birds.outOf(one.succeeded + one.failed)}</span></span>`,
  );
  const rows: [string, Html | string][] = [
    [
      words.birds.status,
      html`<bdi>${birdStatus(words, bird.status)}</bdi> <span class="small soft">${words.birds.firstSeen} ${ago(bird.statusSinceUs)}</span>`,
    ],
    ...(switchedOff
      ? [[words.birds.switchedOff, switchedOffWords(page, switchedOff)] as [string, Html]]
      : []),
    [words.birds.trigger, html`<bdi>${plainText(bird.triggerType, NAME_LENGTH)}</bdi>`],
    ...(rhythm
      ? [
          [
            words.birds.next,
            html`${ago(rhythm.nextUs)} <span class="small soft">${words.birds.every(words.time.lasting(rhythm.everyUs / 1000))}${rhythm.nextUs < nowUs ? html`. ${words.birds.overdue}` : ''}</span>`,
          ] as [string, Html],
        ]
      : []),
    ...(deadlines.length > 0
      ? [[words.birds.deadlines, deadlineLines(page, deadlines)] as [string, Html]]
      : []),
    [words.birds.successRate, html`<span class="ratio">${ratios}</span>`],
    ...(unusual.length > 0
      ? [
          [words.birds.unusual, html`${unusual.map(({ text }) => html`<div>${text}</div>`)}`] as [
            string,
            Html,
          ],
        ]
      : []),
    ...(durations ? [[words.birds.durations, durationWords(page, report, durations)] as [string, Html]] : []),
  ];
  return html`<dl class="sheet">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** `Next deadline today, 07:00 (Amsterdam) · last 14: 12 met, 1 late (24 min), 1 missed` */
function deadlineLines({ words, nowUs }: Page, deadlines: BirdReport['deadlines']): Html {
  const lines = deadlines.map(({ rule, zone, nextUs, last }) => {
    const parts = [
      ...(nextUs === undefined
        ? []
        : [words.birds.nextDeadline(nearWords(nextUs, zone, nowUs), zonePlace(zone))]),
      ...(last.length === 0
        ? []
        : [words.birds.lastDeadlines(last.length, outcomeWords(countOutcomes(last)))]),
      ...(deadlines.length > 1 ? [words.birds.ofRule(plainText(rule, NAME_LENGTH))] : []),
    ];
    return html`<div><bdi>${parts.join(' · ')}</bdi></div>`;
  });
  return html`${lines}`;
}

function switchedOffWords(page: Page, event: Event): Html {
  const { root, words } = page;
  return html`<a href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a>
${initiatorOf(page, event)} <span class="small soft">${when(page, event.occurredAtUs)}</span>
${messageLine(event.message)}`;
}

function initiatorOf({ words }: Page, event: Event): Html | string {
  const initiator = plainText(String(event.attributes.initiator ?? ''), NAME_LENGTH);
  return initiator ? html`<bdi>${words.birds.by(initiator)}</bdi>` : '';
}

function durationWords(
  { words }: Page,
  { flights }: BirdReport,
  { count, p50Us, p95Us }: NonNullable<BirdReport['durations']>,
): Html {
  const lasting = (us: number) => words.time.took(us / 1000);
  const values = flights
    .flatMap((one) => (one.status === 'succeeded' ? (durationUs(one) ?? []) : []))
    .reverse();
  const said = words.birds.sparkline(lasting(Math.min(...values)), lasting(Math.max(...values)));
  return html`${values.length > 1 ? sparkline(values, said) : ''}${words.birds.p50(lasting(p50Us))}, ${words.birds.p95(lasting(p95Us))}
<span class="small soft">(${words.birds.ofSucceeded(count)})</span>`;
}

function flightSection(page: Page, { bird, flights }: BirdReport): Html {
  const { root, words } = page;
  const all = `flights?${new URLSearchParams({ region: bird.region, bird: bird.birdId })}`;
  const title = html`<h2>${words.birds.latest} <a href="${root}api/v1/${all}">${words.frame.asJson}</a></h2>`;
  if (flights.length === 0) return html`${title}<p class="sheet empty">${words.birds.noFlights}</p>`;
  const bars = flights.toReversed().map((one) => ({
    status: one.status,
    lastedUs: durationUs(one),
    title: `${statusWords(words, one.status)}, ${one.startedAtUs > 0 ? exactly(page, one.startedAtUs) : '?'}${took(page, one) && `, ${took(page, one)}`}`,
    href: `${root}${flightPath(one.region, one.flightId)}`,
  }));
  const said = countWords(
    words,
    flights.map((one) => one.status),
  );
  const columns: Column<FlightOverview>[] = [
    { title: words.flight.started, cell: (one) => startedCell(page, one) },
    { title: words.birds.status, cell: (one) => flightLink(page, one.region, one.flightId, one.status) },
    { title: words.flight.took, cell: (one) => took(page, one) },
    { title: words.flight.step, cell: (one) => html`<bdi>${plainText(one.step, NAME_LENGTH)}</bdi>` },
    { title: words.flight.error, cell: (one) => html`<bdi>${plainText(one.message, MESSAGE_LENGTH)}</bdi>` },
  ];
  return html`${title}
<div class="sheet">${flightBars(bars)}</div>
<p class="small soft after">${said}. ${words.birds.legend}</p>
<details><summary>${words.birds.asTable}</summary>${dataTable(words.birds.latest, columns, flights)}</details>`;
}

function startedCell(page: Page, { startedAtUs }: FlightOverview): Html | string {
  const { words } = page;
  return startedAtUs > 0 ? when(page, startedAtUs) : words.flight.notKnown;
}

/** Empty if unknown. */
function took({ words }: Page, flight: FlightOverview): string {
  const us = durationUs(flight);
  return us === undefined ? '' : words.time.took(us / 1000);
}

function causeSection(page: Page, { causes }: BirdReport): Html | string {
  if (causes.length === 0) return '';
  const { words } = page;
  const columns: Column<Cause<FlightOverview>>[] = [
    {
      title: words.birds.cause,
      cell: ({ error }) => html`<bdi>${plainText(error, MESSAGE_LENGTH) || words.birds.noMessage}</bdi>`,
    },
    { title: words.birds.times, cell: ({ count }) => String(count), isNumber: true },
    {
      title: words.flight.step,
      cell: ({ example }) => html`<bdi>${plainText(example.step, NAME_LENGTH)}</bdi>`,
    },
    {
      title: words.birds.lastSeen,
      cell: ({ example }) =>
        html`<a href="${page.root}${flightPath(example.region, example.flightId)}">${when(page, example.endedAtUs || example.startedAtUs)}</a>`,
    },
  ];
  return html`<h2>${words.birds.causes}</h2>${dataTable(words.birds.causes, columns, causes)}`;
}

function alertSection(page: Page, { bird, alerts }: BirdReport): Html | string {
  const { root, words } = page;
  if (alerts.length === 0) return '';
  const items = alerts.map(({ id, state, labels, annotations, startsAtUs, endsAtUs }) => {
    const severity = labels.severity ?? '';
    const isFiring = state === 'firing';
    return html`<li><div class="row"><div><a class="what" href="${root}${alertPath(id)}">${alertTitle(words, labels.alertname ?? '')}</a>
<span class="pill ${isFiring && !bird.isAcknowledged ? severityTone(severity) : 'quiet'}">${isFiring ? severityWord(words, severity) : words.birds.over}</span></div>
<span class="small soft">${when(page, isFiring ? startsAtUs : endsAtUs)}</span></div>
${alertMessage({ annotations })}</li>`;
  });
  return html`<h2>${words.birds.alerts}</h2><ul class="sheet">${items}</ul>`;
}

function logSection(page: Page, { bird, log }: BirdReport): Html {
  const { root, words } = page;
  const all = `events?${new URLSearchParams({ region: bird.region, bird: bird.birdId })}`;
  const title = html`<h2>${words.birds.log} <a href="${root}${all}">${words.birds.allEvents}</a></h2>`;
  if (log.length === 0) return html`${title}<p class="sheet empty">${words.birds.noLog}</p>`;
  return html`${title}<ul class="sheet">${log.map((event) => ownEventItem(page, event, html`<span class="soft">${initiatorOf(page, event)}</span>`))}</ul>`;
}

/**
 * Draws charts of Flights on the server. The page shows the same as a sentence and a table. The shape, and not only
 * the colour, tells how a Flight ended.
 */

interface Bar {
  readonly status: string;
  /** Undefined if unknown. */
  readonly lastedUs: number | undefined;
  readonly title: string;
  readonly href: string;
}

const WIDTH = 8;
const UP = 40;
const DOWN = 16;
/** The least height, so that even the shortest is visible. */
const LEAST = 5;

/** Bars, oldest first. They are hidden from screen readers, since a sentence and a table follow. */
function flightBars(bars: readonly Bar[]): Html {
  const longestUs = Math.max(1, ...bars.map((bar) => bar.lastedUs ?? 0));
  const drawn = bars.map((bar, index) => {
    const [y, height] = extent(bar, longestUs);
    const kind = Object.hasOwn(KINDS, bar.status) ? bar.status : 'other';
    return html`<a href="${bar.href}" tabindex="-1"><title>${bar.title}</title><rect class="${kind}" x="${index * WIDTH + 1}" y="${y}" width="${WIDTH - 2}" height="${height}"/></a>`;
  });
  const width = Math.max(30, bars.length) * WIDTH;
  return html`<svg class="bars" aria-hidden="true" viewBox="0 0 ${width} ${UP + DOWN}" preserveAspectRatio="none">
<line class="axis" x1="0" x2="${width}" y1="${UP}" y2="${UP}"/>
${drawn}</svg>`;
}

const KINDS = { succeeded: true, failed: true, cancelled: true, active: true };

/** The top and height of a bar. */
function extent({ status, lastedUs = 0 }: Bar, longestUs: number): [y: number, height: number] {
  if (status === 'failed') return [UP, DOWN];
  // The duration of cancelled and active Flights says nothing.
  const height = status === 'succeeded' ? LEAST + (UP - LEAST) * (lastedUs / longestUs) : LEAST;
  const rounded = Math.round(height * 10) / 10;
  return [UP - rounded, rounded];
}

/** A line of at least two values, oldest first. */
function sparkline(values: readonly number[], words: string): Html {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${index},${Math.round((1 - value / most) * 200) / 10}`);
  return html`<svg class="spark" role="img" aria-label="${words}" viewBox="0 -1 ${values.length - 1} 22" preserveAspectRatio="none"><polyline points="${points.join(' ')}"/></svg>`;
}
