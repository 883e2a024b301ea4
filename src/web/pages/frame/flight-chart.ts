/**
 * Draws charts of Flights on the server. The page shows the same as a sentence and a table. The shape, and not only
 * the colour, tells how a Flight ended.
 */
import { html } from 'hono/html';
import type { Html } from './page-frame.ts';

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
export function flightBars(bars: readonly Bar[]): Html {
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
export function sparkline(values: readonly number[], words: string): Html {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${index},${Math.round((1 - value / most) * 200) / 10}`);
  return html`<svg class="spark" role="img" aria-label="${words}" viewBox="0 -1 ${values.length - 1} 22" preserveAspectRatio="none"><polyline points="${points.join(' ')}"/></svg>`;
}
