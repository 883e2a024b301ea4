/** Renders silences, and a form that starts a new one by choices, for people who do not know matchers. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { ALERT_KINDS } from '../../../domain/kinds/kinds.ts';
import { formatMatcher, matchersOf } from '../../../domain/matchers/matcher.ts';
import { type Silence, silenceState } from '../../../domain/muting/silence.ts';
import { silencesThatMeet } from '../../../operator/find-silences.ts';
import { FILTERS } from '../../../operator/lists.ts';
import { type RoutedAlert, readRoutedAlerts } from '../../../operator/read-alerts.ts';
import type { Filter } from '../../../store/filter.ts';
import { plainText } from '../../../text/plain-text.ts';
import { formatDuration } from '../../../time/duration.ts';
import { readQuery } from '../../requests/query.ts';
import { readFilter } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { fieldControl, filterFields, isNarrowed, selection } from '../frame/filter-form.ts';
import { problemOf } from '../frame/form.ts';
import { type Columns, dataTable, listPage } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { marked, when } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  regionWord,
  silenceWords,
} from '../frame/page-words.ts';
import type { Words } from '../frame/words.ts';

const LISTED = 200;
/** The most expired silences listed. */
const LISTED_EXPIRED = 50;
/** The most Nests to choose from. */
const LISTED_NESTS = 500;

export function addSilenceList(pages: Hono, options: PagesOptions): void {
  const { store, alerting, clock } = options;
  pages.get('/silences', async (c) => {
    const page = pageOf(c, clock);
    const { nowUs } = page;
    const given = new URL(c.req.url).searchParams;
    const regions = options.regions();
    let filter: Filter = {};
    const problem = await problemOf(c.get('words'), async () => {
      filter = readFilter(readQuery(given, FILTERS), regions, nowUs);
    });
    const view = await store.transaction(async (tx) => {
      const muting = await options.muting(tx, nowUs);
      const all = await silencesThatMeet(tx, muting, await tx.silences.list(), filter, nowUs);
      const nests: string[] = [];
      for (const region of regions) {
        const present = (await tx.inventory.nests(region)).filter((nest) => nest.present);
        nests.push(...present.map(({ name }) => name));
      }
      const expired = all.filter(({ endsAtUs }) => endsAtUs <= nowUs).toReversed();
      return {
        silences: shownSilences(all, await readRoutedAlerts(tx, muting, alerting), nowUs, LISTED),
        expired: expired.slice(0, LISTED_EXPIRED),
        regions,
        nests: [...new Set(nests)].sort().slice(0, LISTED_NESTS),
        given,
        problem,
      };
    });
    return c.html(renderSilencesPage(page, view), problem ? 400 : 200);
  });
}

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

function renderSilencesPage(page: Page, view: SilencesView): Html {
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
${expired.length > 0 ? html`<h2>${words.alert.isOver}</h2>${dataTable(words.alert.isOver, columnsOf(page), expired)}` : ''}`;
  return listPage(
    page,
    { ...view, items: shown },
    {
      ...{ section: 'silences', title: words.frame.silences, lead: words.silences.lead },
      ...{ json: 'api/v2/silences', list },
      fields: ['region', 'severity', 'name', 'nest', 'bird', 'text', 'since', 'until'],
      below: html`<h2>${words.silence.title}</h2>
${choiceForm(page, view)}`,
    },
  );
}

/** Leads to the page that shows the resulting matchers, and which alerts they hide. */
function choiceForm(page: Page, { regions, nests }: SilencesView): Html {
  const { root, words } = page;
  const given = new URLSearchParams();
  const fields = [
    selection('alertname', words.silence.scope, ALERT_KINDS, (one) => alertTitle(words, one)),
    ...filterFields(page, { regions, given }, ['severity', 'region']),
    selection('nest', words.list.nest, nests, (one) => plainText(one, NAME_LENGTH)),
    { name: 'bird', label: words.list.bird, hint: words.silences.birdHint },
  ];
  return html`<form action="${root}silence" class="sheet fields">
<div class="pair">${fields.map((field) => fieldControl(page, field, given, 'choose'))}</div>
<div class="buttons"><button class="main">${words.silences.look}</button> <a class="button" href="${root}silence">${words.silences.byMatchers}</a></div>
</form>`;
}

function columnsOf(page: Page): Columns<Silence> {
  const { words } = page;
  return {
    [words.silences.matchers]: ({ matchers }) =>
      html`<bdi>${plainText(matchers.map(formatMatcher).join(', '), MESSAGE_LENGTH)}</bdi>`,
    [words.silences.why]: (one) => html`<bdi>${silenceWords(words, one)}</bdi>`,
    [words.list.ended]: ({ endsAtUs }) => when(page, endsAtUs),
  };
}

/** The labels that can be chosen. */
const CHOSEN = ['alertname', 'severity', 'region', 'nest', 'bird'];

/** The matchers for the choices, one per line; empty if nothing was chosen. */
export function chosenMatchers(given: URLSearchParams): string {
  return matchersOf(Object.fromEntries([...given].map(([name, value]) => [name, value.trim()])), CHOSEN);
}

/** A silence, with the number of firing alerts that it hides now, and the acknowledgements that are folded with it. */
interface ShownSilence {
  readonly silence: Silence;
  readonly hides: number;
  readonly others: readonly Silence[];
}

/** The silences that are shown, in the order of their ends, and the number of all entries. */
export interface ShownSilences {
  readonly shown: readonly ShownSilence[];
  readonly total: number;
}

/**
 * Among the silences that have not expired, acknowledgements come last, since they belong to their alerts. Those of one
 * person and comment are one entry.
 */
export function shownSilences(
  silences: readonly Silence[],
  routed: readonly RoutedAlert[],
  nowUs: number,
  most: number,
): ShownSilences {
  const lasting = silences.filter((silence) => silenceState(silence, nowUs) !== 'expired');
  const [plain, own] = [lasting.filter(isPlain), lasting.filter((one) => !isPlain(one))];
  const byWhom = Map.groupBy(own, ({ createdBy, comment }) => JSON.stringify([createdBy, comment]));
  const inOrder = [...plain.map((one) => [one]), ...byWhom.values()];
  const hides = new Map<string, number>();
  for (const { silencedBy } of routed) {
    for (const id of silencedBy) hides.set(id, (hides.get(id) ?? 0) + 1);
  }
  return {
    shown: inOrder.slice(0, most).map(([silence, ...others]) => ({
      silence: silence!,
      hides: hides.get(silence!.id) ?? 0,
      others,
    })),
    total: inOrder.length,
  };
}

function isPlain({ alertId }: Silence): boolean {
  return alertId === null;
}

/** Of acknowledgements that are folded. */
const SHOWN_INSIDE = 50;

export function silenceItem(page: Page, { silence, hides, others }: ShownSilence): Html {
  const { root, words, nowUs } = page;
  const { silences } = words;
  if (others.length > 0) {
    const inside = [silence, ...others].slice(0, SHOWN_INSIDE);
    const more = others.length + 1 - inside.length;
    return html`<li><details><summary>${words.count.alerts(others.length + 1)} <bdi>${silenceWords(words, silence)}</bdi></summary>
<ul>${inside.map((one) => silenceItem(page, { silence: one, hides: 0, others: [] }))}${more > 0 ? html`<li class="soft">${words.silences.moreAlerts(more)}</li>` : ''}</ul></details></li>`;
  }
  const { id, startsAtUs, endsAtUs, recurrence, alertId } = silence;
  const isPending = silenceState(silence, nowUs) === 'pending';
  const title = matcherText(words, silence);
  const ends = html`${silences.ends} ${when(page, endsAtUs)}`;
  const lasts =
    alertId !== null
      ? silences.untilResolved
      : isPending
        ? html`${silences.begins} ${when(page, startsAtUs)}, ${ends}`
        : ends;
  const windows = recurrence
    ? plainText(
        silences.recurring(formatDuration(recurrence.durationMs), recurrence.cron, recurrence.timezone),
        NAME_LENGTH,
      )
    : '';
  return html`<li id="silence-${id}"><div class="row"><div><span class="what matchers"><bdi>${title}</bdi></span>
${isPending ? html`<span class="pill quiet">${silences.notYet}</span>` : ''}
${hides > 0 ? html`<span class="pill warn">${silences.hides(hides)}</span>` : ''}</div>
<form method="post" action="${root}expire-silence"><input type="hidden" name="id" value="${id}">
<button class="small" aria-label="${silences.endThat(title)}">${silences.end}</button></form></div>
<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi> · ${lasts}${windows ? ` · ${windows}` : ''}</p></li>`;
}

function matcherText(words: Words, { matchers, alertId }: Silence): string {
  // An acknowledgement has a matcher for every label of its alert. The alert's name and place are shorter.
  const labels = Object.fromEntries(matchers.map(({ name, value }) => [name, value]));
  return alertId === null
    ? plainText(matchers.map(formatMatcher).join(', '), MESSAGE_LENGTH)
    : [alertTitle(words, labels.alertname ?? ''), alertPlace(labels)].filter(Boolean).join(' · ');
}

const SHOWN_PREVIEW = 20;

/** The firing alerts that would be hidden. */
export function previewList({ words }: Page, hidden: readonly RoutedAlert[]): Html {
  if (hidden.length === 0) {
    return html`<p class="sheet empty">${words.silences.hidesNothing}</p>`;
  }
  const items = hidden.slice(0, SHOWN_PREVIEW).map(
    ({ alert: { labels } }) => html`<li><span class="what">${alertTitle(words, labels.alertname ?? '')}</span>
<span class="soft"><bdi>${[regionWord(words, labels.region ?? ''), alertPlace(labels)].filter(Boolean).join(' · ')}</bdi></span></li>`,
  );
  const more = hidden.length - items.length;
  return html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.silences.moreAlerts(more)}</li>` : ''}</ul>`;
}
