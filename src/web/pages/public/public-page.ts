/** Renders the public page of a Nest: its status in one line, since when, and its Birds by name or only counted. */
import { html } from 'hono/html';
import type { Page } from '../frame/page.ts';
import { frame, type Html, when } from '../frame/page-frame.ts';
import type { Tone } from '../frame/page-words.ts';
import { KEPT_SECONDS, type PublicBird, type PublicNest, type PublicState } from './public-status.ts';

const TONES: Readonly<Record<PublicState | PublicBird['state'], Tone>> = {
  well: 'good',
  failing: 'bad',
  unknown: 'warn',
  off: 'quiet',
};

export function renderPublicPage(page: Page, nest: PublicNest): Html {
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
${state === 'unknown' ? html`<p class="notice">${words.open.blind}</p>` : ''}
${birds ? listOf(page, birds, nest) : ''}
</main>`,
  });
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
