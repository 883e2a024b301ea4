/**
 * Draws Flights on the server: how they ended over time, as a strip, and the last ones of a Bird, as bars. A sentence beside each
 * says the same, and the shape, not only the colour, tells how a Flight ended.
 */
import { html } from 'hono/html';
import type { Event } from '../../../domain/alert/event.ts';
import { percentile } from '../../../domain/statistics/flight-statistics.ts';
import { eventPath, flightPath } from '../../../http/page-path.ts';
import { durationUs } from '../../../operator/bird-report.ts';
import type { FlightEnds, FlightOverview } from '../../../store/bird-store.ts';
import type { Period } from '../../../time/zone-format.ts';
import type { Html, Page } from './page.ts';
import { at, exactly, when } from './page-frame.ts';
import { countWords, eventTitle, flightTook, said, statusWords, type Tone } from './page-words.ts';

const HOUR_US = 3_600_000_000;
/** By which ends are counted. */
const STEP_US = HOUR_US / 2;
const WIDTH = 8;
const HEIGHT = 48;
/** The least height of what there was at all. */
const LEAST = 3;

interface Bar {
  readonly fromUs: number;
  readonly untilUs: number;
  /** Whether something could not be read then. */
  readonly isBlind?: boolean;
  /** Publishes of Birds. */
  readonly publishes?: number;
  succeeded: number;
  failed: number;
}

/** What is marked at the bars. */
interface Marks {
  readonly blind: readonly Period[];
  readonly publishedUs: readonly number[];
}

/** `count` bars of `hours` each, of which the last one contains now; half an hour at least. */
export function stripBars(
  ends: readonly FlightEnds[],
  nowUs: number,
  count: number,
  hours: number,
  { blind, publishedUs }: Marks = { blind: [], publishedUs: [] },
): Bar[] {
  const lengthUs = hours * HOUR_US;
  const endUs = (Math.floor(nowUs / STEP_US) + 1) * STEP_US;
  const bars = Array.from({ length: count }, (_, index): Bar => {
    const fromUs = endUs - (count - index) * lengthUs;
    const untilUs = fromUs + lengthUs;
    const isBlind = blind.some((one) => one.fromUs < untilUs && one.untilUs > fromUs);
    const publishes = publishedUs.filter((us) => us >= fromUs && us < untilUs).length;
    return { fromUs, untilUs, isBlind, publishes, succeeded: 0, failed: 0 };
  });
  for (const { sinceUs, succeeded, failed } of ends) {
    const bar = bars[Math.floor((sinceUs - bars[0]!.fromUs) / lengthUs)];
    if (!bar) continue;
    bar.succeeded += succeeded;
    bar.failed += failed;
  }
  return bars;
}

/** `query`: what the links to the events of a bar ask for besides its time. `link`: stands beside the heading. */
export function strip(
  page: Page,
  title: string,
  bars: readonly Bar[],
  query: Readonly<Record<string, string>> = {},
  link: Html | string = '',
): Html {
  const { root, words } = page;
  const most = Math.max(1, ...bars.map(({ succeeded, failed }) => succeeded + failed));
  const drawn = bars.map((bar, index) => {
    const { fromUs, untilUs, isBlind = false, publishes = 0, succeeded, failed } = bar;
    const [whole, red] = [heightOf(succeeded + failed, most), heightOf(failed, most)];
    const x = index * WIDTH + 0.5;
    const rect = (kind: string, height: number, y = HEIGHT - height) =>
      html`<rect class="${kind}" x="${x}" y="${y}" width="${WIDTH - 1}" height="${height}"/>`;
    const search = new URLSearchParams({ ...query, since: isoOf(fromUs), until: isoOf(untilUs) });
    return html`<a href="${root}events?${search}" tabindex="-1"><title>${exactly(page, fromUs)}: ${words.strip.ends(succeeded + failed, failed)}${words.strip.marks(publishes, isBlind)}</title>${isBlind ? rect('blind', HEIGHT, 0) : ''}${
      whole === 0 ? rect('other', 1) : html`${rect('succeeded', whole)}${red > 0 ? rect('failed', red) : ''}`
    }${publishes > 0 ? rect('published', LEAST, 0) : ''}</a>`;
  });
  return html`<h2>${title} <span class="small soft">${stripWords(page, bars)}</span>${link}</h2>
<div class="sheet"><svg class="bars strip" aria-hidden="true" viewBox="0 0 ${bars.length * WIDTH} ${HEIGHT}" preserveAspectRatio="none">${drawn}</svg></div>`;
}

/** The bars of 24 h alone, small, beside what they are about. */
export function spark(page: Page, ends: readonly FlightEnds[]): Html {
  const bars = stripBars(ends, page.nowUs, 48, 0.5);
  const most = Math.max(1, ...bars.map(({ succeeded, failed }) => succeeded + failed));
  const drawn = (of: (bar: Bar) => number) =>
    bars.map((bar, index) =>
      of(bar) === 0 ? '' : `M${index * WIDTH + WIDTH / 2} ${HEIGHT}v-${heightOf(of(bar), most)}`,
    );
  return html`<svg class="bars spark" aria-hidden="true" viewBox="0 0 ${bars.length * WIDTH} ${HEIGHT}" preserveAspectRatio="none"><path class="succeeded" d="${drawn((bar) => bar.succeeded + bar.failed).join('')}"/><path class="failed" d="${drawn((bar) => bar.failed).join('')}"/></svg>`;
}

/** `1,204 Flights, 37 failed` */
export function endsWords(
  { words }: Page,
  ends: readonly Pick<FlightEnds, 'succeeded' | 'failed'>[],
): string {
  const failed = ends.reduce((sum, one) => sum + one.failed, 0);
  return words.strip.ends(
    ends.reduce((sum, one) => sum + one.succeeded, failed),
    failed,
  );
}

/** `1,204 Flights, 37 failed; the most, 12, from …` */
function stripWords(page: Page, bars: readonly Bar[]): Html {
  const { words } = page;
  const sum = (of: (bar: Bar) => number) => bars.reduce((total, bar) => total + of(bar), 0);
  const failed = sum((bar) => bar.failed);
  const worst = bars.reduce((most, bar) => (bar.failed > most.failed ? bar : most));
  const when =
    failed > worst.failed ? html`; ${words.strip.worst(worst.failed)} ${at(page, worst.fromUs)}` : '';
  return html`${endsWords(page, bars)}${when}${words.strip.marks(
    sum((bar) => bar.publishes ?? 0),
    bars.some((bar) => bar.isBlind === true),
  )}`;
}

function heightOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.round((LEAST + (HEIGHT - LEAST) * (count / most)) * 10) / 10;
}

function isoOf(us: number): string {
  return new Date(us / 1000).toISOString().slice(0, 19).concat('Z');
}

const UP = 40;
const DOWN = 16;
/** The least height, so that even the shortest is visible. */
const LEAST_BAR = 5;
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
    const started = one.startedAtUs > 0 ? exactly(page, one.startedAtUs) : '?';
    const parts = [statusWords(words, one.status), started, flightTook(words, one)];
    return html`<a href="${root}${flightPath(one.region, one.flightId)}" tabindex="-1"><title>${parts.filter(Boolean).join(', ')}</title><rect class="${kind}" x="${index * WIDTH + 1}" y="${y}" width="${WIDTH - 2}" height="${height}"/></a>`;
  });
  const marks = changes.map((change) => {
    const x = bars.filter(({ startedAtUs }) => startedAtUs <= change.occurredAtUs).length * WIDTH;
    return html`<line class="mark ${toneOf(change.type)}" x1="${x}" x2="${x}" y1="0" y2="${UP + DOWN}"><title>${eventTitle(words, change.type)}, ${exactly(page, change.occurredAtUs)}</title></line>`;
  });
  const median = medianUs === undefined ? 0 : UP - barHeight(medianUs, longestUs);
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
  const ends = first === last ? [first] : [first, last];
  const times = ends.map(({ startedAtUs }) => html`<span>${at(page, startedAtUs)}</span>`);
  return html`<p class="small soft ${bars.length < LEAST_BARS ? 'beside' : 'between'}">${times}</p>`;
}

/** `Marked: Bird published by ann@example.com 3 h ago · …` */
function changeWords(page: Page, changes: readonly Event[]): Html | string {
  if (changes.length === 0) return '';
  const items = changes.slice(0, NAMED_CHANGES).map((one) => changeLine(page, one));
  const more = changes.length - items.length;
  return html`<p class="small soft after">${page.words.chart.marked} ${items.map((item, index) => html`${index > 0 ? ' · ' : ''}${item}`)}${more > 0 ? ` ${page.words.count.more(more)}` : ''}</p>`;
}

/** `Bird published by ann@example.com 3 h ago`, linked to the entry of the log. */
export function changeLine(page: Page, { key, type, attributes, occurredAtUs }: Event): Html {
  const { root, words } = page;
  const who = String(attributes.initiator ?? '');
  return html`<a href="${root}${eventPath(key)}">${eventTitle(words, type)}</a>${who ? html` ${words.chart.by} ${said(who, 80)}` : ''} ${when(page, occurredAtUs)}`;
}

const KINDS = { succeeded: true, failed: true, cancelled: true, active: true };

/** The top and height of a bar. */
function extent(flight: FlightOverview, longestUs: number): [y: number, height: number] {
  if (flight.status === 'failed') return [UP, DOWN];
  // The duration of cancelled and active Flights says nothing.
  const height = flight.status === 'succeeded' ? barHeight(durationUs(flight) ?? 0, longestUs) : LEAST_BAR;
  return [UP - height, height];
}

function barHeight(us: number, longestUs: number): number {
  return Math.round((LEAST_BAR + (UP - LEAST_BAR) * (us / longestUs)) * 10) / 10;
}

function toneOf(type: string): Tone {
  if (/\.(Published|Activated)$/.test(type)) return 'good';
  return /\.(Suspended|Deactivated)$/.test(type) ? 'warn' : 'quiet';
}
