import type { Context, Hono } from 'hono';
import { type Matcher, matchesAll } from '../../../domain/matchers/matcher.ts';
import { silencesThatMeet } from '../../../operator/find-silences.ts';
import { FILTERS } from '../../../operator/lists.ts';
import { type RoutedAlert, readRoutedAlerts } from '../../../operator/routed-alert.ts';
import type { Filter } from '../../../store/filter.ts';
import { loadMuting } from '../../../store/load-muting.ts';
import { readQuery, refuse } from '../../requests/query.ts';
import { readFilter } from '../../requests/read-lists.ts';
import { select } from '../../select-alerts.ts';
import type { PagesOptions } from '../../web-options.ts';
import { fieldsOf, problemOf, sentence } from '../frame/form.ts';
import { pageOf } from '../frame/page.ts';
import {
  firstHidingUs,
  matchersFor,
  readFormMatchers,
  readSilenceForm,
  renderSilencePage,
  requestOf,
  type SilenceForm,
} from './silence-page.ts';
import { shownSilences } from './silence-view.ts';
import { chosenMatchers, renderSilencesPage } from './silences-page.ts';

const LISTED = 200;
/** The most expired silences listed. */
const LISTED_EXPIRED = 50;
/** The most Nests to choose from. */
const LISTED_NESTS = 500;

/** The pages that list, create and end silences. */
export function addSilencing(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences, silenceEditor, clock } = options;

  async function show(c: Context, form: SilenceForm, problem: string) {
    const page = pageOf(c, clock);
    const { nowUs } = page;
    const routed = await store.transaction(async (tx) =>
      readRoutedAlerts(tx, await loadMuting(tx, alerting, recurrences, nowUs), alerting),
    );
    let matchers: readonly Matcher[] = [];
    let hidden: readonly RoutedAlert[] = [];
    const mistake = await problemOf(c.get('words'), async () => {
      matchers = readFormMatchers(page.words, form.matchers);
      hidden = await select(routed, ({ alert }) => matchesAll(matchers, alert.labels), options);
    });
    return renderSilencePage(page, {
      form,
      problem: problem || mistake,
      hidden,
      recurrences,
    });
  }

  pages.get('/silences', async (c) => {
    const page = pageOf(c, clock);
    const { nowUs } = page;
    const given = new URL(c.req.url).searchParams;
    const regions = options.status().regions.map(({ region }) => region);
    let filter: Filter = {};
    const problem = await problemOf(c.get('words'), async () => {
      filter = readFilter(readQuery(given, FILTERS), regions, nowUs);
    });
    const view = await store.transaction(async (tx) => {
      const muting = await loadMuting(tx, alerting, recurrences, nowUs);
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

  pages.get('/silence', async (c) => {
    const page = pageOf(c, clock);
    const given = new URL(c.req.url).searchParams;
    const alertId = given.get('alert');
    const alert = alertId === null ? undefined : await store.transaction((tx) => tx.alerts.find(alertId));
    const typed = readSilenceForm(c, given, page.zone);
    const chosen = alert ? matchersFor(alert.labels) : chosenMatchers(given);
    const form = chosen === '' ? typed : { ...typed, matchers: chosen };
    const problem = await problemOf(c.get('words'), async () => {
      readFormMatchers(page.words, form.matchers);
      firstHidingUs(page.words, form, page.nowUs, recurrences);
    });
    return c.html(await show(c, form, problem));
  });

  pages.post('/silence', async (c) => {
    const page = pageOf(c, clock);
    const form = readSilenceForm(c, await fieldsOf(c), page.zone);
    let id = '';
    const problem = await problemOf(c.get('words'), async () => {
      const result = await silenceEditor.set(requestOf(page.words, form, page.nowUs));
      if (!result.ok) throw refuse(sentence(result.message));
      id = result.id;
    });
    if (problem === '') return c.redirect(`silences#silence-${id}`, 303);
    return c.html(await show(c, form, problem), 400);
  });

  pages.post('/expire-silence', async (c) => {
    // A silence that no longer exists has ended as well.
    await silenceEditor.expire((await fieldsOf(c)).get('id') ?? '');
    return c.redirect('silences', 303);
  });
}
