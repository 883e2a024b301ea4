/** What all pages share: head, navigation and search, and how times and places are shown. */
import { html, raw } from 'hono/html';
import type { Page } from './page.ts';
import { SCRIPT } from './page-script.ts';
import { STYLE } from './page-style.ts';
import { regionWord, type Tone } from './page-words.ts';

export type Html = ReturnType<typeof html>;

/** The entries of the navigation, each with where it leads. */
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
  /** A `<header>` with the `<h1>`, and a `<main id="main">`, to which the first link of the page leads. */
  readonly body: Html;
  readonly page: Page;
  /** False for those who may see this one page alone: there is no navigation. */
  readonly hasNavigation?: boolean;
  /** The entry of the navigation that the page belongs to. */
  readonly section?: Section;
  /** Whether the page changes by itself while it is open. */
  readonly isLive?: boolean;
  /** Without a script, after how many seconds the browser asks for it again. */
  readonly refreshSeconds?: number;
  /** Stands at the end of the page, before what every page says there. */
  readonly footing?: Html;
  /** What is searched for, to be searched for again. */
  readonly searched?: string;
}

export function frame(given: Frame): Html {
  const { title, tone, body, page, hasNavigation = true, section, searched = '', footing = '' } = given;
  const { isLive = false, refreshSeconds } = given;
  return html`<!doctype html>
<html lang="${page.words.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${icon(tone)}">
<style>${raw(STYLE)}</style>
${refreshSeconds === undefined ? '' : html`<noscript><meta http-equiv="refresh" content="${refreshSeconds}"></noscript>`}
</head>
<body data-zone="${page.zone}"${isLive ? html` data-stream="${page.root}api/v1/stream"` : ''}>
${hasNavigation ? navigation(page, section, searched) : ''}
${body}
${foot(page, footing, isLive)}
<script>${raw(SCRIPT)}</script>
</body>
</html>
`;
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
  /** Beneath the title. */
  readonly lead?: Html | string;
  /** Where a program finds the same. */
  readonly json?: string;
  /** What has to be changed first; empty for nothing. */
  readonly problem?: string;
}

/** The head of a page's own content. */
export function heading({ root, words }: Page, { title, tone, lead, json, problem }: Heading): Html {
  return html`<header>
<div class="headline"><h1${tone ? html` class="text ${tone}"` : ''}>${title}</h1>
${json === undefined ? '' : html`<a class="small" href="${root}${json}">${words.frame.asJson}</a>`}</div>
${lead ? html`<p class="lead">${lead}</p>` : ''}
${problem ? html`<p class="notice" role="alert">${problem}</p>` : ''}
</header>`;
}

/** The end of a page: in which zone its times are, and the other languages that it could be in. */
function foot(page: Page, footing: Html | string, isLive: boolean): Html {
  const { words, zone, languages, query } = page;
  const others = [...languages.values()].filter(({ language }) => language !== words.language);
  const links = others.map(({ language, name }) => {
    const chosen = new URLSearchParams(query);
    chosen.set('lang', language);
    return html` · <a href="?${chosen}" lang="${language}" hreflang="${language}">${name}</a>`;
  });
  // Only the script shows it, which it is for.
  const pause = html` · <button type="button" class="plain" data-own="pause" aria-pressed="false" hidden>${words.frame.pause}</button>`;
  return html`<footer>${footing}${words.frame.times(zone)}${links}${isLive ? pause : ''}</footer>`;
}

/** `EU · Marketing / Translate blog`; names keep the direction of their own script. */
export function where({ words }: Page, region: string, place: string): Html {
  const name = regionWord(words, region);
  return html`<span class="soft">${name}${place ? ' ·' : ''}</span> <bdi>${place}</bdi>`;
}

/** A relative time that shows the exact one when pointed at. */
export function when(page: Page, us: number): Html {
  return timed(page, us, page.words.time.ago(us, page.nowUs));
}

/** Words that stand for an instant, which show it in UTC when pointed at. */
export function timed({ words }: Page, us: number, shown: string): Html {
  const title = words.time.instant(us, 'UTC');
  return html`<time datetime="${isoTime(us)}" title="${title}">${shown}</time>`;
}

/** An instant in the reader's zone, which shows it in UTC when pointed at. */
export function at(page: Page, us: number): Html {
  return timed(page, us, exactly(page, us));
}

/** An instant in the reader's zone, where no markup can stand. */
export function exactly({ words, zone }: Page, us: number): string {
  return words.time.instant(us, zone);
}

/** A sentence of the catalogue, whose `code` is marked by backticks. */
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

/** A dot in the colour of the whole, so that a tab among many shows it. */
function icon(tone: Tone): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="${ICON_COLOURS[tone]}"/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
