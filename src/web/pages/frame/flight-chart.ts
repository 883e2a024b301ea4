/**
 * Draws the last Flights of a Bird on the server, with what was done to it in between. A sentence says the same. The
 * shape, and not only the colour, tells how a Flight ended.
 */
import { html } from 'hono/html';
import type { Event } from '../../../domain/alert/event.ts';
import { percentile } from '../../../domain/statistics/flight-statistics.ts';
import { eventPath, flightPath } from '../../../http/page-path.ts';
import { durationUs } from '../../../operator/bird-report.ts';
import type { FlightOverview } from '../../../store/bird-store.ts';
import type { Page } from './page.ts';
import { at, exactly, type Html, when } from './page-frame.ts';
import { eventTitle, type Tone } from './page-words.ts';
import { said } from './said.ts';
import { countWords, statusWords } from './standing-words.ts';

const WIDTH = 8;
const UP = 40;
const DOWN = 16;
/** The least height, so that even the shortest is visible. */
const LEAST = 5;
const LEAST_BARS = 30;
const NAMED_CHANGES = 5;

/** `flights` and `changes` are newest first. */
export function flightChart(
  page: Page,
  flights: readonly FlightOverview[],
  changes: readonly Event[],
): Html | string {
  if (flights.length === 0) return '';
  const { root, words } = page;
  const bars = flights.toReversed();
  const lasted = bars.flatMap((one) => (one.status === 'succeeded' ? (durationUs(one) ?? []) : []));
  const longestUs = Math.max(1, ...lasted);
  const medianUs = percentile(lasted, 0.5);
  const width = Math.max(LEAST_BARS, bars.length) * WIDTH;
  const drawn = bars.map((one, index) => {
    const [y, height] = extent(one, longestUs);
    const kind = Object.hasOwn(KINDS, one.status) ? one.status : 'other';
    return html`<a href="${root}${flightPath(one.region, one.flightId)}" tabindex="-1"><title>${titleOf(page, one)}</title><rect class="${kind}" x="${index * WIDTH + 1}" y="${y}" width="${WIDTH - 2}" height="${height}"/></a>`;
  });
  const marks = changes.map((change) => {
    const x = bars.filter(({ startedAtUs }) => startedAtUs <= change.occurredAtUs).length * WIDTH;
    return html`<line class="mark ${toneOf(change.type)}" x1="${x}" x2="${x}" y1="0" y2="${UP + DOWN}"><title>${eventTitle(words, change.type)}, ${exactly(page, change.occurredAtUs)}</title></line>`;
  });
  const median = medianUs === undefined ? 0 : UP - heightOf(medianUs, longestUs);
  const counts = countWords(
    words,
    bars.map(({ status }) => status),
  );
  return html`<div class="sheet"><svg class="bars" aria-hidden="true" viewBox="0 0 ${width} ${UP + DOWN}" preserveAspectRatio="none">
<line class="axis" x1="0" x2="${width}" y1="${UP}" y2="${UP}"/>
${drawn}${medianUs === undefined ? '' : html`<line class="median" x1="0" x2="${bars.length * WIDTH}" y1="${median}" y2="${median}"/>`}${marks}</svg>
${axisTimes(page, bars)}</div>
<p class="small soft after">${counts}. ${medianUs === undefined ? '' : words.chart.median(words.time.took(medianUs / 1000))} ${words.chart.legend}</p>
${changeWords(page, changes)}`;
}

/** When the first and the last of the bars started, which reach the right edge if there are many. */
function axisTimes(page: Page, bars: readonly FlightOverview[]): Html | string {
  const known = bars.filter(({ startedAtUs }) => startedAtUs > 0);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last) return '';
  const ends = html`<span>${at(page, first.startedAtUs)}</span><span>${first === last ? '' : at(page, last.startedAtUs)}</span>`;
  return html`<p class="small soft ${bars.length < LEAST_BARS ? 'beside' : 'between'}">${ends}</p>`;
}

/** `Marked: Bird published by ann@example.com 3 h ago · …` */
function changeWords(page: Page, changes: readonly Event[]): Html | string {
  if (changes.length === 0) return '';
  const items = changes.slice(0, NAMED_CHANGES).map((one) => changeLine(page, one));
  const more = changes.length - items.length;
  return html`<p class="small soft after">${page.words.chart.marked} ${items.map((item, index) => html`${index > 0 ? ' · ' : ''}${item}`)}${more > 0 ? `, ${page.words.chart.more(more)}` : ''}</p>`;
}

/** `Bird published by ann@example.com 3 h ago`, linked to the entry of the log. */
export function changeLine(page: Page, { key, type, attributes, occurredAtUs }: Event): Html {
  const { root, words } = page;
  const who = String(attributes.initiator ?? '');
  return html`<a href="${root}${eventPath(key)}">${eventTitle(words, type)}</a>${who ? html` ${words.chart.by} ${said(who, 80)}` : ''} ${when(page, occurredAtUs)}`;
}

function titleOf(page: Page, flight: FlightOverview): string {
  const us = durationUs(flight);
  const started = flight.startedAtUs > 0 ? exactly(page, flight.startedAtUs) : '?';
  return [
    statusWords(page.words, flight.status),
    started,
    ...(us === undefined ? [] : [page.words.time.took(us / 1000)]),
  ].join(', ');
}

const KINDS = { succeeded: true, failed: true, cancelled: true, active: true };

/** The top and height of a bar. */
function extent(flight: FlightOverview, longestUs: number): [y: number, height: number] {
  if (flight.status === 'failed') return [UP, DOWN];
  // The duration of cancelled and active Flights says nothing.
  const height = flight.status === 'succeeded' ? heightOf(durationUs(flight) ?? 0, longestUs) : LEAST;
  return [UP - height, height];
}

function heightOf(us: number, longestUs: number): number {
  return Math.round((LEAST + (UP - LEAST) * (us / longestUs)) * 10) / 10;
}

function toneOf(type: string): Tone {
  if (/\.(Published|Activated)$/.test(type)) return 'good';
  return /\.(Suspended|Deactivated)$/.test(type) ? 'warn' : 'quiet';
}
