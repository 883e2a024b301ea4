/** The pages for people: the overview, and those that ask before an alert is acknowledged, resolved or silenced. */
import { type Context, Hono } from 'hono';
import { isOpenToAll, type WebConfig } from '../../config/sections/web-section.ts';
import { type Matcher, matchesAll } from '../../domain/matchers/matcher.ts';
import { isAcknowledgementOver, type Recurrences } from '../../domain/muting/silence.ts';
import { isStoreFailure } from '../../errors.ts';
import type { HealthAnswer } from '../../health/health.ts';
import type { AcknowledgeLinks } from '../../operator/acknowledge-link.ts';
import type { SilenceEditor } from '../../operator/edit-silences.ts';
import type { Signature } from '../../operator/find-alert.ts';
import type { AlertResolver } from '../../operator/resolve-alerts.ts';
import { type AlertingConfig, type RoutedAlert, readRoutedAlerts } from '../../operator/routed-alert.ts';
import type { Report } from '../../report.ts';
import { loadMuting } from '../../store/load-muting.ts';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../../time/clock.ts';
import { refuse } from '../query.ts';
import { select } from '../select-alerts.ts';
import type { StatusView } from '../status-view.ts';
import { renderAcknowledgePage } from './acknowledge-page.ts';
import { addBirdPages } from './birds/bird-routes.ts';
import { checkSignature, fieldsOf, problemOf, sentence, signatureOf } from './frame/form.ts';
import { pageOf } from './frame/page.ts';
import { readPageView, storelessView } from './overview.ts';
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

interface PagesOptions {
  readonly config: WebConfig;
  readonly store: Store;
  readonly status: () => StatusView;
  /** What impairs the watch. */
  readonly impairments: () => Promise<HealthAnswer>;
  readonly alerting: AlertingConfig;
  readonly recurrences: Recurrences;
  readonly silenceEditor: SilenceEditor;
  readonly alertResolver: AlertResolver;
  readonly links: AcknowledgeLinks;
  readonly clock: Clock;
  readonly report: Report;
}

export function createPages(options: PagesOptions): Hono {
  const pages = new Hono();
  addOverview(pages, options);
  addSilencing(pages, options);
  addAcknowledging(pages, options);
  addResolving(pages, options);
  addBirdPages(pages, options);
  return pages;
}

function addOverview(
  pages: Hono,
  { store, config, status, impairments, alerting, recurrences, clock, report }: PagesOptions,
): void {
  pages.get('/', async (c) => {
    const isLive = c.req.query('paused') === undefined;
    const asked = {
      nowUs: clock.nowUs(),
      isLive,
      isOpen: isOpenToAll(config),
      status: status(),
      impairments: (await impairments()).impairments,
      alerting,
      recurrences,
    };
    const view = await readPageView(store, asked).catch((error: unknown) => {
      // A store that fails is just when somebody looks.
      if (!isStoreFailure(error)) throw error;
      report({ what: 'trouble', stage: 'store', error });
      return storelessView(asked);
    });
    if (isLive) c.header('refresh', String(REFRESH_SECONDS));
    return c.html(renderPage(pageOf(c, clock), view));
  });
}

function addSilencing(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences, silenceEditor, clock } = options;

  async function show(c: Context, form: SilenceForm, problem: string) {
    const nowUs = clock.nowUs();
    const routed = await store.transaction(async (tx) =>
      readRoutedAlerts(tx, await loadMuting(tx, alerting, recurrences, nowUs), alerting),
    );
    let matchers: readonly Matcher[] = [];
    let hidden: readonly RoutedAlert[] = [];
    const mistake = await problemOf(async () => {
      matchers = readFormMatchers(form.matchers);
      hidden = await select(routed, ({ alert }) => matchesAll(matchers, alert.labels), options);
    });
    return renderSilencePage(pageOf(c, clock), {
      form,
      problem: problem || mistake,
      hidden,
      recurrences,
      nowUs,
    });
  }

  pages.get('/silence', async (c) => {
    const given = new URL(c.req.url).searchParams;
    const alertId = given.get('alert');
    const alert = alertId === null ? undefined : await store.transaction((tx) => tx.alerts.find(alertId));
    const typed = readSilenceForm(c, given);
    const form = alert ? { ...typed, matchers: matchersFor(alert.labels) } : typed;
    const problem = await problemOf(async () => {
      readFormMatchers(form.matchers);
      firstHidingUs(form, clock.nowUs(), recurrences);
    });
    return c.html(await show(c, form, problem));
  });

  pages.post('/silence', async (c) => {
    const form = readSilenceForm(c, await fieldsOf(c));
    const problem = await problemOf(async () => {
      const result = await silenceEditor.set(requestOf(form, clock.nowUs()));
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect('./#silences', 303);
    return c.html(await show(c, form, problem), 400);
  });

  pages.post('/expire-silence', async (c) => {
    // A silence that is not known any more is over as well.
    await silenceEditor.expire((await fieldsOf(c)).get('id') ?? '');
    return c.redirect('./#silences', 303);
  });
}

function addAcknowledging(pages: Hono, options: PagesOptions): void {
  const { store, silenceEditor, links, clock } = options;

  async function show(c: Context, by: Signature, problem: string, code: 200 | 400): Promise<Response> {
    const { id, startsAtUs } = requested(c, links, clock);
    const found = await readAlert(store, id, startsAtUs);
    const { alert } = found;
    const silences = await store.transaction((tx) => tx.silences.list(clock.nowUs()));
    const acknowledgement = silences.find(
      (one) => alert !== undefined && one.alertId === id && !isAcknowledgementOver(one, alert),
    );
    const page = renderAcknowledgePage(pageOf(c, clock), {
      ...found,
      author: by.createdBy,
      comment: by.comment,
      problem,
      acknowledgement,
      action: actionOf('acknowledge', c),
      hasHome: c.req.query('link') === undefined,
      nowUs: clock.nowUs(),
    });
    return c.html(page, code);
  }

  pages.get('/acknowledge', (c) => show(c, signatureOf(c, new URLSearchParams()), '', 200));

  pages.post('/acknowledge', async (c) => {
    const by = signatureOf(c, await fieldsOf(c));
    const problem = await problemOf(async () => {
      checkSignature(by, 'who takes care of it');
      const { id, startsAtUs } = requested(c, links, clock);
      const result = await silenceEditor.acknowledge(id, by, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf('acknowledge', c), 303);
    return show(c, by, problem, 400);
  });
}

function addResolving(pages: Hono, { store, alertResolver, clock }: PagesOptions): void {
  async function show(c: Context, by: Signature, problem: string, code: 200 | 400): Promise<Response> {
    const { id, startsAtUs } = ofOverview(c);
    const page = renderResolvePage(pageOf(c, clock), {
      ...(await readAlert(store, id, startsAtUs)),
      author: by.createdBy,
      comment: by.comment,
      problem,
      action: actionOf('resolve', c),
      nowUs: clock.nowUs(),
    });
    return c.html(page, code);
  }

  pages.get('/resolve', (c) => show(c, signatureOf(c, new URLSearchParams()), '', 200));

  pages.post('/resolve', async (c) => {
    const by = signatureOf(c, await fieldsOf(c));
    const problem = await problemOf(async () => {
      checkSignature(by, 'who says that it is over');
      const { id, startsAtUs } = ofOverview(c);
      const result = await alertResolver.resolve(id, by, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf('resolve', c), 303);
    return show(c, by, problem, 400);
  });
}

/** An alert, and the episode of it that is meant; without one, the present episode. */
interface Requested {
  readonly id: string;
  readonly startsAtUs?: number;
}

/** The alert that a request is about, by a signed link or by its id; a link names the episode as well. */
function requested(c: Context, links: AcknowledgeLinks, clock: Clock): Requested {
  const link = c.req.query('link');
  if (link === undefined) return ofOverview(c);
  const episode = links.read(link, clock.nowUs());
  if (!episode) throw refuse('This link is not valid any more: open the page instead.');
  return episode;
}

/** An alert with its last event; `isOpen` while the episode that is meant still fires. */
function readAlert(store: Store, id: string, startsAtUs: number | undefined) {
  return store.transaction(async (tx) => {
    const alert = await tx.alerts.find(id);
    const [last] = await tx.alerts.events(id, 0, 1, alert?.lastSeq);
    const isMeant = startsAtUs === undefined || alert?.startsAtUs === startsAtUs;
    return { alert, lastEvent: last?.event, isOpen: alert?.state === 'firing' && isMeant };
  });
}

/** The alert that the overview names, with the episode that it showed. */
function ofOverview(c: Context): Requested {
  const began = c.req.query('began');
  const id = c.req.query('alert') ?? '';
  return began === undefined ? { id } : { id, startsAtUs: Number(began) };
}

/** The same page, from wherever it is: a relative address that a proxy's path does not break. */
function actionOf(page: 'acknowledge' | 'resolve', c: Context): string {
  return `${page}${new URL(c.req.url).search}`;
}
