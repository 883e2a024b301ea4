/** The pages for people: the overview, and those that ask before an alert is acknowledged, resolved or silenced. */
import { type Context, Hono } from 'hono';
import { isAcknowledgementOver, type Recurrences } from '../../domain/muting/silence.ts';
import type { AcknowledgeLinks } from '../../operator/acknowledge-link.ts';
import type { AlertDesk } from '../../operator/alert-desk.ts';
import type { Signature } from '../../operator/find-alert.ts';
import { type AlertingConfig, readRoutedAlerts } from '../../operator/routed-alert.ts';
import type { SilenceDesk } from '../../operator/silence-desk.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import { refuse } from '../query.ts';
import type { StatusView } from '../status-view.ts';
import { renderAcknowledgePage } from './acknowledge-page.ts';
import { checkSignature, fieldsOf, problemOf, sentence, signatureOf } from './form.ts';
import { readPageView } from './overview.ts';
import { REFRESH_SECONDS, renderPage } from './overview-page.ts';
import { renderResolvePage } from './resolve-page.ts';
import {
  firstHidingUs,
  matchersFor,
  readFormMatchers,
  readSilenceForm,
  renderSilencePage,
  requestOf,
  type SilenceForm,
} from './silence-page.ts';

export interface PagesOptions {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly alerting: AlertingConfig;
  readonly recurrences: Recurrences;
  readonly desk: SilenceDesk;
  readonly alertDesk: AlertDesk;
  readonly links: AcknowledgeLinks;
  readonly clock: Clock;
}

export function createPages(options: PagesOptions): Hono {
  const { store, status, alerting, recurrences, desk, alertDesk, links, clock } = options;
  const pages = new Hono();

  const routed = () =>
    store.transaction(async (tx) =>
      readRoutedAlerts(tx, await loadMuting(tx, alerting, recurrences, clock.nowUs()), alerting),
    );

  pages.get('/', async (c) => {
    const isLive = c.req.query('paused') === undefined;
    const view = await readPageView(store, {
      nowUs: clock.nowUs(),
      isLive,
      status: status(),
      alerting,
      recurrences,
    });
    if (isLive) c.header('refresh', String(REFRESH_SECONDS));
    return c.html(renderPage(view));
  });

  pages.get('/silence', async (c) => {
    const given = new URL(c.req.url).searchParams;
    const alertId = given.get('alert');
    const alert = alertId === null ? undefined : await store.transaction((tx) => tx.alerts.find(alertId));
    const typed = readSilenceForm(given);
    const form = alert ? { ...typed, matchers: matchersFor(alert.labels) } : typed;
    const problem = await problemOf(async () => {
      readFormMatchers(form.matchers);
      firstHidingUs(form, clock.nowUs(), recurrences);
    });
    return c.html(await silencePage(form, problem));
  });

  pages.post('/silence', async (c) => {
    const form = readSilenceForm(await fieldsOf(c));
    const problem = await problemOf(() => makeSilence(form));
    if (problem === '') return c.redirect('./#silences', 303);
    return c.html(await silencePage(form, problem), 400);
  });

  async function silencePage(form: SilenceForm, problem: string) {
    const nowUs = clock.nowUs();
    return renderSilencePage({ form, problem, routed: await routed(), recurrences, nowUs });
  }

  async function makeSilence(form: SilenceForm): Promise<void> {
    const result = await desk.set(requestOf(form, clock.nowUs()));
    if (!result.ok) throw refuse(sentence(result.message));
  }

  pages.post('/expire-silence', async (c) => {
    // One that is not known any more is over as well.
    await desk.expire((await fieldsOf(c)).get('id') ?? '');
    return c.redirect('./#silences', 303);
  });

  pages.get('/acknowledge', (c) => acknowledgePage(c, UNSIGNED, '', 200));

  pages.post('/acknowledge', async (c) => {
    const by = signatureOf(await fieldsOf(c));
    const problem = await problemOf(async () => {
      checkSignature(by, 'who takes care of it');
      const { id, startsAtUs } = meant(c);
      const result = await desk.acknowledge(id, by, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf('acknowledge', c), 303);
    return acknowledgePage(c, by, problem, 400);
  });

  pages.get('/resolve', (c) => resolvePage(c, UNSIGNED, '', 200));

  pages.post('/resolve', async (c) => {
    const by = signatureOf(await fieldsOf(c));
    const problem = await problemOf(async () => {
      checkSignature(by, 'who says that it is over');
      const { id, startsAtUs } = ofOverview(c);
      const result = await alertDesk.resolve(id, by, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf('resolve', c), 303);
    return resolvePage(c, by, problem, 400);
  });

  async function resolvePage(
    c: Context,
    { createdBy: author, comment }: Signature,
    problem: string,
    code: 200 | 400,
  ): Promise<Response> {
    const { id, startsAtUs } = ofOverview(c);
    const action = actionOf('resolve', c);
    const known = { ...(await readAlert(id, startsAtUs)), action, nowUs: clock.nowUs() };
    return c.html(renderResolvePage({ ...known, author, comment, problem }), code);
  }

  /** The alert that a request is about, by a signed link or by its id; a link names the episode as well. */
  function meant(c: Context): { readonly id: string; readonly startsAtUs?: number } {
    const link = c.req.query('link');
    if (link === undefined) return ofOverview(c);
    const episode = links.read(link, clock.nowUs());
    if (!episode) throw refuse('This link is not valid any more: open the page instead.');
    return episode;
  }

  async function readAlert(id: string, startsAtUs: number | undefined) {
    return store.transaction(async (tx) => {
      const alert = await tx.alerts.find(id);
      const [last] = await tx.alerts.events(id, 0, 1, alert?.lastSeq);
      const isMeant = startsAtUs === undefined || alert?.startsAtUs === startsAtUs;
      return { alert, lastEvent: last?.event, isOpen: alert?.state === 'firing' && isMeant };
    });
  }

  async function acknowledgePage(
    c: Context,
    { createdBy: author, comment }: Signature,
    problem: string,
    code: 200 | 400,
  ): Promise<Response> {
    const { id, startsAtUs } = meant(c);
    const found = await readAlert(id, startsAtUs);
    const { alert } = found;
    const silences = await store.transaction((tx) => tx.silences.list(clock.nowUs()));
    const acknowledgement = silences.find(
      (one) => alert !== undefined && one.alertId === id && !isAcknowledgementOver(one, alert),
    );
    const page = renderAcknowledgePage({
      ...found,
      author,
      comment,
      problem,
      acknowledgement,
      action: actionOf('acknowledge', c),
      hasHome: c.req.query('link') === undefined,
      nowUs: clock.nowUs(),
    });
    return c.html(page, code);
  }

  return pages;
}

const UNSIGNED: Signature = { createdBy: '', comment: '' };

/** The alert that the overview names, with the episode that it showed. */
function ofOverview(c: Context): { readonly id: string; readonly startsAtUs?: number } {
  const began = c.req.query('began');
  const id = c.req.query('alert') ?? '';
  return began === undefined ? { id } : { id, startsAtUs: Number(began) };
}

/** The same page, from wherever it is: a relative address that a proxy's path does not break. */
function actionOf(page: 'acknowledge' | 'resolve', c: Context): string {
  return `${page}${new URL(c.req.url).search}`;
}
