/** Renders all silences, and a form that starts a new one by choices, for people who do not know matchers. */
import { html } from 'hono/html';
import { ALERT_KINDS } from '../../../domain/kinds/kinds.ts';
import { formatMatcher, matchersOf } from '../../../domain/matchers/matcher.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { plainText } from '../../../text/plain-text.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import {
  alertFields,
  type FilterField,
  filterField,
  isNarrowed,
  regionField,
  SEVERITIES,
} from '../frame/filter-form.ts';
import { listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, marked, when } from '../frame/page-frame.ts';
import {
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  regionWord,
  severityWord,
  silenceWords,
} from '../frame/page-words.ts';
import { type ShownSilences, silenceItem } from './silence-view.ts';

interface SilencesView {
  readonly silences: ShownSilences;
  /** The latest expired ones. */
  readonly expired: readonly Silence[];
  readonly regions: readonly string[];
  /** Names of Nests to choose from. */
  readonly nests: readonly string[];
  /** The parameters of the address. */
  readonly given: URLSearchParams;
  /** What is wrong with them; empty for nothing. */
  readonly problem: string;
}

export function renderSilencesPage(page: Page, view: SilencesView): Html {
  const { words } = page;
  const { expired, given } = view;
  const { shown, total } = view.silences;
  const more = total - shown.length;
  const list = () => html`<h2>${words.silences.now}</h2>
${
  shown.length > 0
    ? html`<ul class="sheet" id="silences">${shown.map((one) => silenceItem(page, one))}</ul>`
    : html`<p class="sheet empty">${isNarrowed(given) ? words.list.nothing : words.silences.none}</p>`
}
${more > 0 ? html`<p class="small soft after">${marked(words.silences.more(more))}</p>` : ''}
${expired.length > 0 ? html`<h2>${words.silences.over}</h2>${dataTable(words.silences.over, columnsOf(page), expired)}` : ''}`;
  return listPage(
    page,
    { ...view, items: shown },
    {
      ...{ section: 'silences', title: words.frame.silences, lead: words.silences.lead },
      ...{ json: 'api/v2/silences', fields: fieldsOf(page, view), list },
      below: html`<h2>${words.silences.make}</h2>
${choiceForm(page, view)}`,
    },
  );
}

function fieldsOf(page: Page, { regions }: SilencesView): FilterField[] {
  return [
    regionField(page, regions),
    ...alertFields(page),
    ...(['nest', 'bird', 'text', 'since', 'until'] as const).map((name) => filterField(page, name)),
  ];
}

/** Leads to the page that shows the resulting matchers, and which alerts they hide. */
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
  SEVERITIES.map((one) => [one, severityWord(words, one)]),
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

/** The matchers for the choices, one per line; empty if nothing was chosen. */
export function chosenMatchers(given: URLSearchParams): string {
  return matchersOf(Object.fromEntries([...given].map(([name, value]) => [name, value.trim()])), CHOSEN);
}
