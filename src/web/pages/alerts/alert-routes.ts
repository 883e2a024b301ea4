/** Serves the list of alerts and the page of each, where notes are added. */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { mayFly } from '../../../config/sections/regions-section.ts';
import { wireText } from '../../../domain/alert/event.ts';
import { flightFailed } from '../../../domain/kinds/failures/flight-failed.ts';
import { madeTogether } from '../../../domain/muting/silence-change.ts';
import { alertPath, idOfPath } from '../../../http/page-path.ts';
import type { WrittenNote } from '../../../operator/act-on-alerts.ts';
import { type AlertRecord, readAlertRecord, readAlertSurroundings } from '../../../operator/alert-record.ts';
import { countFiring } from '../../../operator/read-alerts.ts';
import type { Transaction } from '../../../store/store.ts';
import { refuse } from '../../requests/query.ts';
import { birdPlace } from '../../service-place.ts';
import type { PagesOptions } from '../../web-options.ts';
import { authorOf, checkSignature, fieldsOf, problemOf, sentence } from '../frame/form.ts';
import { saidActions } from '../frame/items.ts';
import { addListPage } from '../frame/list-page.ts';
import { type Page, pageOf } from '../frame/page.ts';
import { unknownPage } from '../frame/page-frame.ts';
import { flyLink } from '../frame/page-words.ts';
import { renderAlertPage } from './alert-page.ts';
import { listEntries, renderAlertsPage } from './alerts-page.ts';
import { addAsking } from './asking-pages.ts';

export function addAlerts(pages: Hono, options: PagesOptions): void {
  addList(pages, options);
  addOne(pages, options);
  addAsking(pages, options);
}

const LISTED = 50;
/** Of one alert. */
const MOST_ACTIONS = 10;

function addList(pages: Hono, options: PagesOptions): void {
  const { store, muting } = options;
  addListPage(pages, options, '/alerts', {
    limit: LISTED,
    read: (search, context) => listEntries(search, context, muting),
    render: async (page, view) => {
      const { counts, done } = await store.transaction(async (tx) => {
        const silences = view.done === undefined ? [] : await tx.silences.list(page.nowUs);
        const made = silences.find(({ id }) => id === view.done);
        return {
          counts: await countFiring(tx, await muting(tx, page.nowUs), page.nowUs),
          done: made ? madeTogether(made, silences) : [],
        };
      });
      return renderAlertsPage(page, view, counts, done);
    },
  });
}

function addOne(pages: Hono, options: PagesOptions): void {
  const { store, alerting, muting, messages, clock, serviceLinks, noteWriter } = options;

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
            const record = await readAlertRecord(tx, id, alerting, await muting(tx, page.nowUs));
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
