/**
 * Draws how Flights ended over time: a bar for each half hour or day, as high as there were Flights, red as far as they
 * failed, with marks for publishes and for what could not be read. A sentence says the same.
 */
import { html } from 'hono/html';
import type { FlightEnds } from '../../../store/bird-store.ts';
import type { Period } from '../../../time/calendar-period.ts';
import type { Page } from './page.ts';
import { at, exactly, type Html } from './page-frame.ts';

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

/** `query`: what the links to the events of a bar ask for besides its time. */
export function strip(page: Page, bars: readonly Bar[], query: Readonly<Record<string, string>> = {}): Html {
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
  return html`<div class="sheet"><svg class="bars strip" aria-hidden="true" viewBox="0 0 ${bars.length * WIDTH} ${HEIGHT}" preserveAspectRatio="none">${drawn}</svg>
<p class="small soft between"><span>${at(page, bars[0]!.fromUs)}</span><span>${stripWords(page, bars)}</span></p></div>`;
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
