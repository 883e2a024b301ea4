/** Serves the pages of alerts, and those that ask for confirmation before an alert is acknowledged or resolved. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { mayFly } from '../../../config/sections/regions-section.ts';
import { wireText } from '../../../domain/alert/event.ts';
import { flightFailed } from '../../../domain/kinds/failures/flight-failed.ts';
import { isAcknowledgementOver } from '../../../domain/muting/silence.ts';
import { madeTogether } from '../../../domain/muting/silence-change.ts';
import { alertPath, idOfPath } from '../../../http/page-path.ts';
import type { AcknowledgeLinks } from '../../../operator/acknowledge-link.ts';
import type { MeantAlert, Signature, WrittenNote } from '../../../operator/act-on-alerts.ts';
import { type AlertRecord, readAlertRecord, readAlertSurroundings } from '../../../operator/alert-record.ts';
import { countFiring } from '../../../operator/read-alerts.ts';
import { loadMuting } from '../../../store/load-muting.ts';
import type { Store, Transaction } from '../../../store/store.ts';
import type { Clock } from '../../../time/clock.ts';
import { refuse } from '../../requests/query.ts';
import { birdPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import {
  authorOf,
  backTo,
  checkSignature,
  fieldsOf,
  problemOf,
  sentence,
  signatureOf,
} from '../frame/form.ts';
import { saidActions } from '../frame/items.ts';
import { addListPage } from '../frame/list-page.ts';
import { type Page, pageOf } from '../frame/page.ts';
import { unknownPage } from '../frame/page-frame.ts';
import { flyLink } from '../frame/page-words.ts';
import { renderAcknowledgePage, renderAcknowledgeSeveral, renderResolvePage } from './acknowledge-page.ts';
import { renderAlertPage } from './alert-page.ts';
import { listEntries, renderAlertsPage } from './alerts-page.ts';

export function addAlerts(pages: Hono, options: PagesOptions): void {
  addList(pages, options);
  addOne(pages, options);
  addAcknowledging(pages, options);
  addResolving(pages, options);
}

const LISTED = 50;
/** Of one alert. */
const MOST_ACTIONS = 10;

function addList(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences } = options;
  addListPage(pages, options, '/alerts', {
    limit: LISTED,
    read: (search, context) =>
      listEntries(search, context, (tx, nowUs) => loadMuting(tx, alerting, recurrences, nowUs)),
    render: async (page, view) => {
      const { counts, done } = await store.transaction(async (tx) => {
        const muting = await loadMuting(tx, alerting, recurrences, page.nowUs);
        const silences = view.done === undefined ? [] : await tx.silences.list(page.nowUs);
        const made = silences.find(({ id }) => id === view.done);
        return {
          counts: await countFiring(tx, muting, page.nowUs),
          done: made ? madeTogether(made, silences) : [],
        };
      });
      return renderAlertsPage(page, view, counts, done);
    },
  });
}

function addOne(pages: Hono, options: PagesOptions): void {
  const { store, alerting, recurrences, messages, clock, serviceLinks, noteWriter } = options;

  /** What can be done about failed Flights, and what was done, or not, and why; empty for other alerts. */
  async function again(tx: Transaction, page: Page, { alert, events }: AlertRecord) {
    const { region = '', bird_id: birdId = '' } = alert.labels;
    const isMeant =
      alert.alertname === flightFailed.name && alert.state === 'firing' && mayFly(alerting, region);
    const bird = isMeant ? await tx.birds.find(region, birdId) : undefined;
    if (!bird) return '';
    const flightId = String(events[0]?.event.attributes.flight_id ?? '');
    const actions = await tx.actions.ofBird(region, birdId, MOST_ACTIONS);
    const ofEpisode = actions.filter(({ wantedAtUs }) => wantedAtUs >= alert.startsAtUs);
    return html`${saidActions(page, ofEpisode)}${flyLink(page, bird, flightId, serviceLinks(birdPlace(bird)).bird)}`;
  }

  async function show(
    c: Context,
    id: string | undefined,
    note: WrittenNote,
    problem = '',
  ): Promise<Response> {
    const page = pageOf(c, clock);
    const { unknown, unknownLead } = page.words.alert;
    const found =
      id === undefined
        ? undefined
        : await store.transaction(async (tx) => {
            const muting = await loadMuting(tx, alerting, recurrences, page.nowUs);
            const record = await readAlertRecord(tx, id, alerting, muting);
            return (
              record && {
                record,
                around: await readAlertSurroundings(tx, record),
                fly: await again(tx, page, record),
              }
            );
          });
    if (!found) return c.html(unknownPage(page, 'alerts', unknown, unknownLead), 404);
    const { record, around } = found;
    const form = { ...note, problem, isOpen: noteWriter.isOpen(record.alert.labels) };
    const beside = { nameOf: messages.nameOf, again: found.fly };
    return c.html(renderAlertPage(page, record, around, beside, form), problem === '' ? 200 : 400);
  }

  pages.get('/alerts/*', (c) => {
    const { pathname } = new URL(c.req.url);
    return show(c, idOfPath(pathname.slice('/alerts/'.length)), noteOf(c, new URLSearchParams()));
  });

  pages.post('/note', async (c) => {
    const id = c.req.query('alert') ?? '';
    const note = noteOf(c, await fieldsOf(c));
    const problem = await problemOf(c.get('words'), async () => {
      checkSignature(c.get('words'), { createdBy: note.author, comment: '' });
      const result = await noteWriter.add(id, note);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    return problem === '' ? c.redirect(alertPath(id), 303) : show(c, id, note, problem);
  });
}

function noteOf(c: Context, fields: URLSearchParams): WrittenNote {
  const text = wireText(fields.get('text') ?? '');
  return { author: wireText(authorOf(c, fields)), text, isPublic: fields.get('public') === 'true' };
}

function addAcknowledging(pages: Hono, options: PagesOptions): void {
  const { store, silenceEditor, links, clock } = options;

  async function showSeveral(c: Context, ids: readonly string[], fields: URLSearchParams, problem: string) {
    const { createdBy: author, comment } = signatureOf(c, fields);
    const alerts = await store.transaction(async (tx) => {
      const found = [];
      for (const id of ids) found.push(await tx.alerts.find(id));
      return found.flatMap((one) => (one?.state === 'firing' ? [one] : []));
    });
    const given = givenIn(c, fields);
    const page = renderAcknowledgeSeveral(pageOf(c, clock), {
      ...{ alerts, author, comment, problem, back: given.get('back') },
      cancel: backTo(given) ?? 'alerts',
    });
    return c.html(page, problem === '' ? 200 : 400);
  }

  async function show(c: Context, fields: URLSearchParams, problem = ''): Promise<Response> {
    const ids = chosenIn(c, fields);
    if (ids) return showSeveral(c, ids, fields, problem);
    const by = signatureOf(c, fields);
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
      together: acknowledgement ? madeTogether(acknowledgement, silences).length : 0,
      action: actionOf('acknowledge', c),
      cancel: backTo(givenIn(c, fields)) ?? alertPath(id),
      hasHome: c.req.query('link') === undefined,
    });
    return c.html(page, problem === '' ? 200 : 400);
  }

  pages.get('/acknowledge', (c) => show(c, new URLSearchParams()));
  pages.post('/acknowledge-preview', async (c) => show(c, await fieldsOf(c)));

  pages.post('/acknowledge', async (c) => {
    const fields = await fieldsOf(c);
    const by = signatureOf(c, fields);
    const ids = chosenIn(c, fields);
    let done: string | undefined;
    const problem = await problemOf(c.get('words'), async () => {
      checkSignature(pageOf(c, clock).words, by);
      const meant = ids ? ids.map((id) => ({ id })) : [requested(c, links, clock)];
      const result = await silenceEditor.acknowledge(meant, by);
      if (!result.ok) throw refuse(sentence(result.message));
      // Where nothing was acknowledged now, "Undo" would take back what somebody else did.
      done = backTo(givenIn(c, fields), result.write.length > 0 ? result.id : undefined);
    });
    if (problem === '') return c.redirect(done ?? actionOf('acknowledge', c), 303);
    return show(c, fields, problem);
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
      cancel: backTo(new URL(c.req.url).searchParams) ?? alertPath(id),
    });
    return c.html(page, code);
  }

  pages.get('/resolve', (c) => show(c, signatureOf(c, new URLSearchParams()), '', 200));

  pages.post('/resolve', async (c) => {
    const by = signatureOf(c, await fieldsOf(c));
    const problem = await problemOf(c.get('words'), async () => {
      checkSignature(pageOf(c, clock).words, by);
      const { id, startsAtUs } = ofOverview(c);
      const result = await alertResolver.resolve(id, by, startsAtUs);
      if (!result.ok) throw refuse(sentence(result.message));
    });
    if (problem === '') return c.redirect(actionOf('resolve', c), 303);
    return show(c, by, problem, 400);
  });
}

/** The fields of a form, and what its address gives. */
function givenIn(c: Context, fields: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...fields, ...new URL(c.req.url).searchParams]);
}

/** The ids of the alerts that were chosen; undefined if the address names a single one. */
function chosenIn(c: Context, fields: URLSearchParams): readonly string[] | undefined {
  if (c.req.query('link') !== undefined) return undefined;
  const ids = new Set(givenIn(c, fields).getAll('alert'));
  return ids.size > 1 || fields.has('alert') ? [...ids] : undefined;
}

/** The alert of a request, by a signed link or by its id. A link names the episode as well. */
function requested(c: Context, links: AcknowledgeLinks, clock: Clock): MeantAlert {
  const link = c.req.query('link');
  if (link === undefined) return ofOverview(c);
  const episode = links.read(link, clock.nowUs());
  if (!episode) throw refuse(pageOf(c, clock).words.mistakes.oldLink);
  return episode;
}

/** An alert with its last event; `isOpen` while the requested episode still fires. */
function readAlert(store: Store, id: string, startsAtUs: number | undefined) {
  return store.transaction(async (tx) => {
    const alert = await tx.alerts.find(id);
    const [last] = await tx.alerts.events(id, 0, 1, alert?.lastSeq);
    const isMeant = startsAtUs === undefined || alert?.startsAtUs === startsAtUs;
    return { alert, lastEvent: last?.event, isOpen: alert?.state === 'firing' && isMeant };
  });
}

/** The alert that the overview links to, with the episode that it showed. */
function ofOverview(c: Context): MeantAlert {
  const began = c.req.query('began');
  const id = c.req.query('alert') ?? '';
  return began === undefined ? { id } : { id, startsAtUs: Number(began) };
}

/** The address of the same page. It is relative, so that it also works under a proxy's path. */
function actionOf(page: 'acknowledge' | 'resolve', c: Context): string {
  return `${page}${new URL(c.req.url).search}`;
}
