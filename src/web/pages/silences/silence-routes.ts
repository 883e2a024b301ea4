import type { Context, Hono } from 'hono';
import type { Labels } from '../../../domain/alert/alert.ts';
import { matchesAll } from '../../../domain/matchers/matcher.ts';
import { alertPath } from '../../../http/page-path.ts';
import { silencesThatMeet } from '../../../operator/find-silences.ts';
import { FILTERS } from '../../../operator/lists.ts';
import { type RoutedAlert, readRoutedAlerts } from '../../../operator/read-alerts.ts';
import type { Filter } from '../../../store/filter.ts';
import { select } from '../../bounded-work.ts';
import { readQuery, refuse } from '../../requests/query.ts';
import { readFilter } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { backTo, checkSignature, fieldsOf, problemOf, sentence } from '../frame/form.ts';
import { type Page, pageOf } from '../frame/page.ts';
import {
  firstHidingUs,
  matchersOfChosen,
  readFormMatchers,
  readSilenceForm,
  renderSilencePage,
  requestOf,
  type SilenceForm,
  UNTIL_LANDED,
  usualMatchers,
} from './silence-page.ts';
import { chosenMatchers, renderSilencesPage, shownSilences } from './silences-page.ts';

const LISTED = 200;
/** The most expired silences listed. */
const LISTED_EXPIRED = 50;
/** The most Nests to choose from. */
const LISTED_NESTS = 500;

/** The pages that list, create and end silences. */
export function addSilencing(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences, silenceEditor, clock } = options;

  const readRouted = (nowUs: number) =>
    store.transaction(async (tx) => readRoutedAlerts(tx, await options.muting(tx, nowUs), alerting));

  /** The alert that led to the form. */
  async function alertOf({ alert: id }: SilenceForm) {
    return id === '' ? undefined : store.transaction((tx) => tx.alerts.find(id));
  }

  async function labelsOfSome(ids: readonly string[]): Promise<Labels[]> {
    return store.transaction(async (tx) => {
      const found = [];
      for (const id of ids) found.push((await tx.alerts.find(id))?.labels);
      return found.filter((labels) => labels !== undefined);
    });
  }

  /** Throws `usage` for invalid matchers. */
  async function matched({ words }: Page, form: SilenceForm, routed: readonly RoutedAlert[]) {
    const matchers = readFormMatchers(words, form.matchers);
    return select(routed, ({ alert }) => matchesAll(matchers, alert.labels), options);
  }

  /** Acknowledges what fires and matches, so that it ends with the alerts. Returns the page that takes it back. */
  async function acknowledgeAll(page: Page, form: SilenceForm) {
    const by = { createdBy: form.author, comment: form.comment };
    checkSignature(page.words, by);
    if (readFormMatchers(page.words, form.matchers).length === 0) throw refuse(page.words.mistakes.noMatcher);
    const shown = await matched(page, form, await readRouted(page.nowUs));
    if (shown.length === 0) throw refuse(page.words.mistakes.noAlert);
    const result = await silenceEditor.acknowledge(
      shown.map(({ alert }) => alert),
      by,
    );
    if (!result.ok) throw refuse(sentence(result.message));
    return { id: result.id, page: `acknowledge?${new URLSearchParams({ alert: shown[0]!.alert.id })}` };
  }

  async function show(c: Context, form: SilenceForm, problem: string) {
    const page = pageOf(c, clock);
    const routed = await readRouted(page.nowUs);
    let hidden: readonly RoutedAlert[] = [];
    const mistake = await problemOf(c.get('words'), async () => {
      hidden = await matched(page, form, routed);
    });
    return renderSilencePage(page, {
      form,
      labels: (await alertOf(form))?.labels,
      problem: problem || mistake,
      hidden,
      recurrences,
    });
  }

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

  /** Nothing is silenced before somebody has seen what that mutes. */
  async function ask(c: Context, given: URLSearchParams) {
    const page = pageOf(c, clock);
    const typed = readSilenceForm(c, given, page.zone);
    const alert = typed.matchers === '' ? await alertOf(typed) : undefined;
    const several = await labelsOfSome(given.getAll('alert'));
    const chosen =
      several.length > 1 && typed.matchers === ''
        ? matchersOfChosen(several)
        : alert
          ? usualMatchers(page, alert.labels)
          : chosenMatchers(given);
    const form = chosen === '' ? typed : { ...typed, matchers: chosen };
    const problem = await problemOf(c.get('words'), async () => {
      readFormMatchers(page.words, form.matchers);
      firstHidingUs(page.words, form, page.nowUs, recurrences);
    });
    return c.html(await show(c, form, problem));
  }

  pages.get('/silence', (c) => ask(c, new URL(c.req.url).searchParams));
  pages.post('/silence-preview', async (c) => ask(c, await fieldsOf(c)));

  pages.post('/silence', async (c) => {
    const page = pageOf(c, clock);
    const fields = await fieldsOf(c);
    const form = readSilenceForm(c, fields, page.zone);
    let done = '';
    const problem = await problemOf(c.get('words'), async () => {
      if (form.until === UNTIL_LANDED) {
        const made = await acknowledgeAll(page, form);
        done = backTo(fields, made.id) ?? made.page;
        return;
      }
      const result = await silenceEditor.set(requestOf(page.words, form, page.nowUs));
      if (!result.ok) throw refuse(sentence(result.message));
      done = backTo(fields, result.id) ?? `silences#silence-${result.id}`;
    });
    if (problem === '') return c.redirect(done, 303);
    return c.html(await show(c, form, problem), 400);
  });

  pages.post('/expire-silence', async (c) => {
    // A silence that no longer exists has ended as well.
    const fields = await fieldsOf(c);
    const isWhole = fields.has('whole');
    await silenceEditor.expire(fields.get('id') ?? '', isWhole);
    const alert = fields.get('alert') ?? '';
    const usual = isWhole ? 'alerts' : alert === '' ? 'silences' : alertPath(alert);
    return c.redirect(backTo(fields) ?? usual, 303);
  });
}
