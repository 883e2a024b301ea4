/** The pages for people: the overview, and the two that ask before an alert is acknowledged or silenced. */
import { type Context, Hono } from 'hono';
import type { AcknowledgeLinks } from '../acknowledge-link.ts';
import { isAcknowledgementOver, type Recurrences } from '../alerts/silence.ts';
import type { Clock } from '../clock.ts';
import { NestwatchError } from '../errors.ts';
import { loadMuting } from '../store/load-muting.ts';
import type { Store } from '../store/store.ts';
import { renderAcknowledgePage } from './acknowledge-page.ts';
import { REFRESH_SECONDS, renderPage } from './page.ts';
import { readPageView } from './page-view.ts';
import { refuse } from './query.ts';
import type { SilenceDesk } from './silence-desk.ts';
import {
  matchersFor,
  readFormMatchers,
  readSilenceForm,
  renderSilencePage,
  requestOf,
  type SilenceForm,
} from './silence-page.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from './silence-request.ts';
import { type AlertingConfig, readStandings } from './standing.ts';
import type { StatusView } from './status-view.ts';

export interface PagesOptions {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly alerting: AlertingConfig;
  readonly recurrences: Recurrences;
  readonly desk: SilenceDesk;
  readonly links: AcknowledgeLinks;
  readonly clock: Clock;
}

export function createPages(options: PagesOptions): Hono {
  const { store, status, alerting, recurrences, desk, links, clock } = options;
  const pages = new Hono();

  const standings = () =>
    store.transaction(async (tx) =>
      readStandings(tx, await loadMuting(tx, alerting, recurrences, clock.nowUs()), alerting),
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
    const alert = alertId === null ? undefined : await store.transaction((tx) => tx.alert(alertId));
    const typed = readSilenceForm(given);
    const form = alert ? { ...typed, matchers: matchersFor(alert.labels) } : typed;
    const problem = await problemOf(async () => void readFormMatchers(form.matchers));
    return c.html(renderSilencePage({ form, problem, standings: await standings() }));
  });

  pages.post('/silence', async (c) => {
    const form = readSilenceForm(await fieldsOf(c));
    const problem = await problemOf(() => makeSilence(form));
    if (problem === '') return c.redirect('./#silences', 303);
    return c.html(renderSilencePage({ form, problem, standings: await standings() }), 400);
  });

  async function makeSilence(form: SilenceForm): Promise<void> {
    const result = await desk.set(requestOf(form, clock.nowUs()));
    if (!result.ok) throw refuse(sentence(result.message));
  }

  pages.post('/expire-silence', async (c) => {
    // One that is not known any more is over as well.
    await desk.expire((await fieldsOf(c)).get('id') ?? '');
    return c.redirect('./#silences', 303);
  });

  pages.get('/acknowledge', (c) => acknowledgePage(c, { author: '', comment: '', problem: '' }, 200));

  pages.post('/acknowledge', async (c) => {
    const fields = await fieldsOf(c);
    const author = (fields.get('author') ?? '').trim();
    const comment = (fields.get('comment') ?? '').trim();
    const problem = await problemOf(async () => {
      if (author === '') throw refuse('Your name is missing: others see who takes care of it.');
      if (author.length > MAX_AUTHOR_LENGTH || comment.length > MAX_COMMENT_LENGTH) {
        throw refuse('Your name or the comment is too long.');
      }
      const { id, startsAtUs } = meant(c);
      const result = await desk.acknowledge(id, { createdBy: author, comment }, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf(c), 303);
    return acknowledgePage(c, { author, comment, problem }, 400);
  });

  /** The alert that a request is about, by a signed link or by its id; a link names the episode as well. */
  function meant(c: Context): { readonly id: string; readonly startsAtUs?: number } {
    const link = c.req.query('link');
    if (link === undefined) return { id: c.req.query('alert') ?? '' };
    const episode = links.read(link, clock.nowUs());
    if (!episode) throw refuse('This link is not valid any more: open the page instead.');
    return episode;
  }

  async function acknowledgePage(
    c: Context,
    typed: { readonly author: string; readonly comment: string; readonly problem: string },
    code: 200 | 400,
  ): Promise<Response> {
    const { id, startsAtUs } = meant(c);
    const found = await store.transaction(async (tx) => {
      const [last] = await tx.alertEvents(id, 0, 1);
      return {
        alert: await tx.alert(id),
        lastEvent: last?.event,
        silences: await tx.silences(clock.nowUs()),
      };
    });
    const { alert, lastEvent } = found;
    const isOpen = alert?.state === 'firing' && (startsAtUs === undefined || alert.startsAtUs === startsAtUs);
    const acknowledgement = found.silences.find(
      (one) => alert !== undefined && one.alertId === id && !isAcknowledgementOver(one, alert),
    );
    const page = renderAcknowledgePage({
      ...typed,
      alert,
      isOpen,
      lastEvent,
      acknowledgement,
      action: actionOf(c),
      hasHome: c.req.query('link') === undefined,
      nowUs: clock.nowUs(),
    });
    return c.html(page, code);
  }

  return pages;
}

/** The same page, from wherever it is: a relative address that a proxy's path does not break. */
function actionOf(c: Context): string {
  return `acknowledge${new URL(c.req.url).search}`;
}

async function fieldsOf(c: Context): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** What a person has to change; empty when it worked. */
async function problemOf(act: () => Promise<void>): Promise<string> {
  try {
    await act();
    return '';
  } catch (error) {
    if (error instanceof NestwatchError && error.code === 'usage') return error.message;
    throw error;
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
