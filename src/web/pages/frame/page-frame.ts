/**
 * What every page knows about its request, and what all share: head, navigation and search, and how times and
 * places are shown.
 */
import { html, raw } from 'hono/html';
import type { Html, Page } from './page.ts';
import { SCRIPT } from './page-script.ts';
import { STYLE } from './page-style.ts';
import { regionWord, type Tone } from './page-words.ts';

/** The entries of the navigation, with their addresses. */
const SECTIONS = [
  ['overview', ''],
  ['alerts', 'alerts'],
  ['birds', 'birds'],
  ['nests', 'nests'],
  ['events', 'events'],
  ['deliveries', 'deliveries'],
  ['silences', 'silences'],
  ['config', 'config'],
] as const;
export type Section = (typeof SECTIONS)[number][0];

interface Frame {
  readonly title: string;
  readonly tone: Tone;
  /** A `<header>` with the `<h1>`, and a `<main id="main">`, the target of the page's first link. */
  readonly body: Html;
  readonly page: Page;
  /** False for readers who may only see this page. Then there is no navigation. */
  readonly hasNavigation?: boolean;
  /** The entry of the navigation that the page belongs to. */
  readonly section?: Section;
  /** Whether it is large and hides what is to be pressed. */
  readonly isWall?: boolean;
  /** Whether the page updates itself while it is open. */
  readonly isLive?: boolean;
  /** After how many seconds a browser without scripts reloads the page. */
  readonly refreshSeconds?: number;
  /** Comes at the end of the page, before the common footer. */
  readonly footing?: Html;
  /** The text of the search box. */
  readonly searched?: string;
}

export function frame(given: Frame): Html {
  const { title, tone, body, page, hasNavigation = true, section, searched = '', footing = '' } = given;
  const { isLive = false, isWall = false, refreshSeconds } = given;
  // Whoever may only see this page has no stream.
  const stream = hasNavigation ? `${page.root}api/v1/stream` : '';
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon(tone)}">
${hasNavigation ? html`<link rel="manifest" href="${page.root}manifest.webmanifest" crossorigin="use-credentials">` : ''}
<style>${raw(STYLE)}</style>
${refreshSeconds === undefined ? '' : html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
</head>
<body${isWall ? html` class="wall"` : ''} data-zone="${page.zone}"${isLive ? html` data-stream="${stream}"` : ''}>
${hasNavigation ? navigation(page, section, searched) : ''}
${isLive ? staleNotice(page) : ''}
${body}
${foot(page, footing, isLive)}
${hasNavigation ? keyHelp(page) : ''}
<script>${raw(SCRIPT)}</script>
</body>
</html>
`;
}

/** Shown by the script once the page could not be updated for a while (`page-script.ts`). */
function staleNotice(page: Page): Html {
  const { stale } = page.words.frame;
  return html`<p class="notice stale" role="alert" data-title="${stale.title}" data-icon="${icon('quiet')}">${stale.since} ${at(page, page.nowUs)}. ${stale.act}</p>`;
}

function navigation(page: Page, here: Section | undefined, searched: string): Html {
  const { root, words } = page;
  const entries = SECTIONS.map(
    ([section, path]) =>
      html`<li><a href="${root}${path || (root === '' ? './' : '')}"${section === here ? html` aria-current="page"` : ''}>${words.frame[section]}</a></li>`,
  );
  return html`<a class="skip" href="#main">${words.frame.skip}</a>
<div class="top"><div class="bar">
<nav aria-label="${words.frame.pages}"><ul>${entries}</ul></nav>
<form class="search" role="search" action="${root}search">
<input type="search" name="text" value="${searched}" aria-label="${words.frame.search}" placeholder="${words.frame.searchHint}" autocomplete="off" spellcheck="false">
<button>${words.frame.search}</button>
</form>
</div></div>`;
}

interface Heading {
  readonly title: Html | string;
  readonly tone?: Tone;
  /** Below the title. */
  readonly lead?: Html | string;
  /** The address of the same content for programs. */
  readonly json?: string;
  /** What has to be corrected first; empty for nothing. */
  readonly problem?: string;
}

export interface TitledPage extends Omit<Frame, 'page' | 'title' | 'tone' | 'body'>, Heading {
  /** The title of the tab; that of the content by default. */
  readonly tab?: string;
  /** The colour of the tab's icon; that of the title by default. */
  readonly icon?: Tone;
  readonly isNarrow?: boolean;
  /** What stands below the heading. */
  readonly main: Html;
}

export function titledPage(page: Page, given: TitledPage): Html {
  const { title, tab = title, icon = given.tone ?? 'quiet', isNarrow = false, main } = given;
  const body = html`${heading(page, given)}
<main id="main"${isNarrow ? html` class="narrow"` : ''}>
${main}
</main>`;
  return frame({ ...given, page, title: `nestwatch: ${tab}`, tone: icon, body });
}

/** The head of a page's own content. */
function heading({ root, words }: Page, { title, tone, lead, json, problem }: Heading): Html {
  return html`<header>
<div class="headline"><h1${tone ? html` class="text ${tone}"` : ''}>${title}</h1>
${json === undefined ? '' : html`<a class="small" href="${root}${json}">${words.frame.asJson}</a>`}</div>
${lead ? html`<p class="lead">${typeof lead === 'string' ? marked(lead) : lead}</p>` : ''}
${problem ? html`<p class="notice" role="alert">${marked(problem)}</p>` : ''}
</header>`;
}

/** A page that says that there is no such thing, with a link to the list of its section. */
export function unknownPage(page: Page, section: Section, title: string, lead: string): Html {
  const main = html`<p><a class="button" href="${page.root}${section}">${page.words.frame[section]}</a></p>`;
  return titledPage(page, { title, lead, section, main });
}

/** A page that says that nothing is at its own address. */
export function noPage(page: Page): Html {
  const { noAddress, noAddressLead, overview } = page.words.frame;
  const main = html`<p><a class="button" href="${page.root || './'}">${overview}</a></p>`;
  return titledPage(page, { title: noAddress, lead: noAddressLead, main });
}

/** The end of a page, with the time zone of its times. */
function foot({ root, words, zone, loggedIn }: Page, footing: Html | string, isLive: boolean): Html {
  // The script shows the button, which is useless without it.
  const pause = html` · <button type="button" class="plain" data-own="pause" aria-pressed="false" hidden>${words.frame.pause}</button>`;
  const out =
    loggedIn === undefined
      ? ''
      : html`<form method="post" action="${root}logout"><bdi>${loggedIn}</bdi> <button class="plain">${words.frame.logOut}</button></form>`;
  return html`<footer>${footing}${words.frame.times(zone)}${isLive ? pause : ''}${out}</footer>`;
}

/** Opened by a key (`page-script.ts`). */
function keyHelp({ words: { frame: words } }: Page): Html {
  const rows = Object.entries(words.keys).map(
    ([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`,
  );
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">${words.keysTitle}</h2><dl>${rows}</dl>
<form method="dialog" class="actions"><button class="small">${words.close}</button> <button type="button" class="small" data-own="keys" aria-pressed="false">${words.keysOff}</button></form></dialog>`;
}

/** `EU · Marketing / Translate blog`. Names keep the writing direction of their script. */
export function where({ words }: Page, region: string, place: string): Html {
  const name = regionWord(words, region);
  return html`<span class="soft">${name}${place ? ' ·' : ''}</span> <bdi>${place}</bdi>`;
}

/** A relative time, with the exact one as tooltip. */
export function when(page: Page, us: number): Html {
  return timed(page, us, page.words.time.ago(us, page.nowUs));
}

/** Words for an instant, with the time in UTC as tooltip. */
export function timed({ words }: Page, us: number, shown: string): Html {
  const title = words.time.instant(us, 'UTC');
  return html`<time datetime="${isoTime(us)}" title="${title}">${shown}</time>`;
}

/** An instant in the reader's zone, with the time in UTC as tooltip. */
export function at(page: Page, us: number): Html {
  return timed(page, us, exactly(page, us));
}

/** An instant in the reader's zone, for places without markup. */
export function exactly({ words, zone }: Page, us: number): string {
  return words.time.instant(us, zone);
}

/** A sentence of the catalogue whose `code` is marked by backticks. */
export function marked(sentence: string): Html {
  const parts = sentence.split('`');
  return html`${parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

const isoTime = (us: number) => new Date(us / 1000).toISOString();

const ICON_COLOURS: Readonly<Record<Tone, string>> = {
  good: '#2e9e66',
  warn: '#d9962b',
  bad: '#d64545',
  quiet: '#8a949c',
};

/** A dot in the colour of the overall status, which identifies the tab among others. */
function icon(tone: Tone): string {
  return `data:image/svg+xml,${encodeURIComponent(iconSvg(tone))}`;
}

export function iconSvg(tone: Tone): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="${ICON_COLOURS[tone]}"/></svg>`;
}
