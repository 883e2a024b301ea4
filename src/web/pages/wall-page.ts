/** Renders the overview for a screen on a wall: large, without anything to press. */
import { html } from 'hono/html';
import { problemList } from './alerts/alerts-page.ts';
import type { Page } from './frame/page.ts';
import { at, frame, type Html } from './frame/page-frame.ts';
import { strip, stripBars } from './frame/strip.ts';
import type { PageView } from './overview.ts';
import { leadOf, nestTiles, standingOf } from './overview-page.ts';

const SHOWN_CAUSES = 5;

export function renderWall(page: Page, view: PageView): Html {
  const { words, nowUs } = page;
  const { tone, headline } = standingOf(page, view);
  return frame({
    title: `nestwatch: ${headline}`,
    tone,
    page,
    hasNavigation: false,
    isWall: true,
    isLive: true,
    refreshSeconds: 10,
    body: html`<header><p class="brand"><a class="plain" href="./">nestwatch</a><span>${at(page, nowUs)}</span></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${leadOf(page, view)}</p></header>
<main id="main">
<h2>${words.strip.day}</h2>${strip(page, stripBars(view.ends, nowUs, 48, 0.5, view))}
<div class="columns">
<section><h2>${words.overview.alerts}</h2>
${view.problems.length > 0 ? html`<ul class="sheet">${problemList(page, view.problems.slice(0, SHOWN_CAUSES))}</ul>` : html`<p class="sheet empty">${words.overview.noAlerts}</p>`}</section>
${nestTiles(page, view)}
</div>
</main>`,
  });
}
