/** All silences, and the beginning of a new one by choices, for those who do not know matchers. */
import { html } from 'hono/html';
import { ALERT_KINDS } from '../../../domain/kinds/kinds.ts';
import { formatMatcher } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { plainText } from '../../../text/plain-text.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html, heading, marked, when } from '../frame/page-frame.ts';
import {
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  regionWord,
  severityWord,
  silenceWords,
} from '../frame/page-words.ts';
import { type ShownSilences, silenceItem } from './silence-view.ts';

export interface SilencesView {
  readonly silences: ShownSilences;
  /** The latest of those that are over. */
  readonly expired: readonly Silence[];
  readonly regions: readonly string[];
  /** Names of Nests, to choose from. */
  readonly nests: readonly string[];
}

export function renderSilencesPage(page: Page, view: SilencesView): Html {
  const { words } = page;
  const { expired } = view;
  const { shown, total } = view.silences;
  const more = total - shown.length;
  return frame({
    title: `nestwatch: ${words.frame.silences}`,
    tone: 'quiet',
    page,
    isLive: true,
    section: 'silences',
    body: html`${heading(page, { title: words.frame.silences, lead: words.silences.lead, json: 'api/v2/silences' })}
<main id="main">
<h2>${words.silences.now}</h2>
${
  shown.length > 0
    ? html`<ul class="sheet" id="silences">${shown.map((one) => silenceItem(page, one))}</ul>`
    : html`<p class="sheet empty">${words.silences.none}</p>`
}
${more > 0 ? html`<p class="small soft after">${marked(words.silences.more(more))}</p>` : ''}
<h2>${words.silences.make}</h2>
${choiceForm(page, view)}
${expired.length > 0 ? html`<h2>${words.silences.over}</h2>${dataTable(words.silences.over, columnsOf(page), expired)}` : ''}
</main>`,
  });
}

/** Leads to the page that shows the matchers that the choices make, and what they hide. */
function choiceForm({ root, words }: Page, { regions, nests }: SilencesView): Html {
  const select = (
    name: string,
    label: string,
    choices: readonly (readonly [value: string, text: string])[],
  ) =>
    html`<div><label for="choose-${name}">${label}</label>
<select id="choose-${name}" name="${name}"><option value="">${words.list.any}</option>${choices.map(([value, text]) => html`<option value="${value}">${text}</option>`)}</select></div>`;
  return html`<form action="${root}silence" class="sheet fields">
<div class="pair">
${select(
  'alertname',
  words.silences.what,
  ALERT_KINDS.map((name) => [name, alertTitle(words, name)]),
)}
${select(
  'severity',
  words.list.severity,
  ['critical', 'warning', 'info'].map((one) => [one, severityWord(words, one)]),
)}
${select(
  'region',
  words.list.region,
  regions.map((one) => [one, regionWord(words, one)]),
)}
${select(
  'nest',
  words.list.nest,
  nests.map((one) => [one, plainText(one, NAME_LENGTH)]),
)}
<div><label for="choose-bird">${words.list.bird}</label>
<input id="choose-bird" name="bird" autocomplete="off" placeholder="${words.silences.birdHint}"></div>
</div>
<div class="buttons"><button class="main">${words.silences.look}</button> <a class="button" href="${root}silence">${words.silences.byMatchers}</a></div>
</form>`;
}

function columnsOf(page: Page): Column<Silence>[] {
  const { words } = page;
  return [
    {
      title: words.silences.matchers,
      cell: ({ matchers }) =>
        html`<bdi>${plainText(matchers.map(formatMatcher).join(', '), MESSAGE_LENGTH)}</bdi>`,
    },
    { title: words.silences.why, cell: (one) => html`<bdi>${silenceWords(words, one)}</bdi>` },
    { title: words.silences.ended, cell: ({ endsAtUs }) => when(page, endsAtUs) },
  ];
}

/** The labels that can be chosen. */
const CHOSEN = ['alertname', 'severity', 'region', 'nest', 'bird'];

/** The matchers that the choices of the form make, one in each line; empty where none was made. */
export function chosenMatchers(given: URLSearchParams): string {
  return CHOSEN.flatMap((name) => {
    const value = given.get(name)?.trim();
    return value ? [formatMatcher({ name, op: '=', value })] : [];
  }).join('\n');
}
