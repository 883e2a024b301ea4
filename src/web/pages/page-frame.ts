/** What all pages share: the frame, and how times and places are shown. */
import { html, raw } from 'hono/html';
import { ago, exactTime } from '../../text/instant-words.ts';
import { regionName } from '../../text/region-name.ts';
import { STYLE } from './page-style.ts';
import type { Tone } from './page-words.ts';

export type Html = ReturnType<typeof html>;

interface Frame {
  readonly title: string;
  readonly tone: Tone;
  readonly body: Html;
}

export function frame({ title, tone, body }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon(tone)}">
<style>${raw(STYLE)}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** `EU · Marketing / Translate blog`; names keep the direction of their own script. */
export function where(region: string, place: string): Html {
  const name = regionName(region);
  return html`<span class="soft">${name}${place ? ' ·' : ''}</span> <bdi>${place}</bdi>`;
}

/** A relative time that shows the exact one when pointed at. */
export function when(us: number, nowUs: number): Html {
  return html`<time datetime="${isoTime(us)}" title="${exactTime(us)}">${ago(us, nowUs)}</time>`;
}

export const isoTime = (us: number) => new Date(us / 1000).toISOString();

const ICON_COLOURS: Readonly<Record<Tone, string>> = {
  good: '#2e9e66',
  warn: '#d9962b',
  bad: '#d64545',
  quiet: '#8a949c',
};

/** A dot in the colour of the whole, so that a tab among many shows it. */
function icon(tone: Tone): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="${ICON_COLOURS[tone]}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
