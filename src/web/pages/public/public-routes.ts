/**
 * Serves the only pages that everybody may see even if `web.auth` is set, and the badge that any page may show.
 * Nothing else is under `/public/`, and nothing here writes.
 */
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { PublicStatusConfig } from '../../../config/sections/web-section.ts';
import { MAX_NOTE_LENGTH } from '../../../domain/alert/alert.ts';
import type { HealthAnswer } from '../../../health/health.ts';
import type { Store } from '../../../store/store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Clock } from '../../../time/clock.ts';
import type { StatusView } from '../../status-view.ts';
import { lineItem } from '../frame/items.ts';
import { type Page, pageOf, withWords } from '../frame/page.ts';
import { frame, type Html, when } from '../frame/page-frame.ts';
import type { Tone } from '../frame/page-words.ts';
import { saidInLines } from '../frame/said.ts';
import { ENGLISH, type Words } from '../frame/words.ts';
import {
  createPublicStatus,
  KEPT_SECONDS,
  type PublicBird,
  type PublicNest,
  type PublicState,
} from './public-status.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** Whether the answer is public, and may be cached and embedded anywhere. */
    isPublic: boolean;
  }
}

/** Replaces the headers of other answers. */
export const PUBLIC_HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', `public, max-age=${KEPT_SECONDS}`],
  ['cross-origin-resource-policy', 'cross-origin'],
];

interface Options {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly clock: Clock;
}

export function createPublicPages(config: PublicStatusConfig, options: Options): Hono {
  const pages = new Hono();
  const statusOf = createPublicStatus(config, options);
  pages.use(withWords(ENGLISH));

  const nestOf = (c: Context) => statusOf(c.req.param('region') ?? '', c.req.param('nest') ?? '');
  const nothing = (c: Context) => c.text('There is no public Nest at this address.\n', 404);

  pages.get('/:region/:nest', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    return c.html(renderPublicPage(pageOf(c, options.clock), nest));
  });

  pages.get('/:region/:nest/badge.svg', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    const svg = await renderBadge(ENGLISH, nest);
    return c.body(svg.toString(), 200, { 'content-type': 'image/svg+xml; charset=utf-8' });
  });

  return pages;
}

/** White text has a contrast of at least 4.5 on each. */
const COLOURS: Readonly<Record<PublicState, string>> = {
  well: '#1a7f4b',
  failing: '#c02b2b',
  late: '#66717a',
  unknown: '#66717a',
};
const NAME_COLOUR = '#3d454c';

const NAME_LENGTH = 40;
const HEIGHT = 20;
const PADDING = 6;

function renderBadge({ open }: Words, nest: PublicNest): Html {
  const { state, counts } = nest;
  const name = plainText(nest.name, NAME_LENGTH);
  const total = counts.well + counts.failing + counts.off;
  const said = state === 'failing' ? open.badgeFailing(counts.failing, total) : open.badge[state];
  const [left, right] = [widthOf(name), widthOf(said)];
  const title = `${name}: ${said}`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${title}">
<title>${title}</title>
<rect width="${left}" height="${HEIGHT}" fill="${NAME_COLOUR}"/>
<rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[state]}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
${label(name, PADDING, left)}
${label(said, left + PADDING, right)}
</g>
</svg>
`;
}

/** The text is stretched to its computed width, whatever the font. */
function label(text: string, x: number, width: number): Html {
  return html`<text x="${x}" y="14" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${text}</text>`;
}

/** Roughly the width in Verdana. Characters of other scripts, and emoji, are as wide as they are high. */
function widthOf(text: string): number {
  const points = [...text];
  const wide = points.filter((point) => point > '\u2E7F').length;
  return Math.ceil((points.length - wide) * 6.6 + wide * 11) + 2 * PADDING;
}

const TONES: Readonly<Record<PublicState | PublicBird['state'], Tone>> = {
  well: 'good',
  failing: 'bad',
  late: 'warn',
  unknown: 'warn',
  off: 'quiet',
};

function renderPublicPage(page: Page, nest: PublicNest): Html {
  const { words } = page;
  const { name, state, sinceUs, counts, birds } = nest;
  const tone = TONES[state];
  const headline = words.open.states[state];
  const since = sinceUs > 0 ? html` · ${words.open.began} ${when(page, sinceUs)}` : '';
  return frame({
    title: `${name}: ${headline}`,
    tone,
    page,
    hasNavigation: false,
    refreshSeconds: KEPT_SECONDS,
    body: html`<header>
<p class="brand"><b><bdi>${name}</bdi></b></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${words.open.counts(counts)}${since}</p>
</header>
<main id="main">
${state === 'unknown' || state === 'late' ? html`<p class="notice">${words.open.lastKnown[state]}</p>` : ''}
${notesOf(page, nest)}
${birds ? listOf(page, birds, nest) : ''}
</main>`,
  });
}

function notesOf(page: Page, { notes }: PublicNest): Html | string {
  if (notes.length === 0) return '';
  const rows = notes.map(({ text, atUs }) =>
    lineItem(html`<p class="note">${saidInLines(text, MAX_NOTE_LENGTH)}</p>`, when(page, atUs)),
  );
  return html`<h2>${page.words.open.notes}</h2>
<ul class="sheet">${rows}</ul>`;
}

function listOf(page: Page, birds: readonly PublicBird[], { counts }: PublicNest): Html {
  const { open } = page.words;
  const more = counts.well + counts.failing + counts.off - birds.length;
  const rows = birds.map(
    ({
      name,
      state,
      sinceUs,
    }) => html`<li><span class="pill ${TONES[state]}">${open.birds[state]}</span> <bdi>${name}</bdi>
${sinceUs > 0 ? html`<span class="small soft">${open.began} ${when(page, sinceUs)}</span>` : ''}</li>`,
  );
  return html`<h2>${open.list}</h2>
<ul class="sheet">${rows}</ul>
${more > 0 ? html`<p class="small soft">${open.more(more)}</p>` : ''}`;
}
