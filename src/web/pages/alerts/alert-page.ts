/**
 * Shows one alert as a person in trouble asks: why, since when and how often, what to do, who knows of it, and what
 * happened, where notes are added. Its labels, ids and other episodes are folded away.
 */
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { mayFly } from '../../../config/sections/regions-section.ts';
import { type Alert, fingerprint, type Labels, MAX_NOTE_LENGTH } from '../../../domain/alert/alert.ts';
import { signatureWords } from '../../../domain/alert/error-signature.ts';
import { type Event, wireText } from '../../../domain/alert/event.ts';
import { flightFailed } from '../../../domain/kinds/failures/flight-failed.ts';
import { isMoment } from '../../../domain/kinds/kinds.ts';
import { alertPath, birdPath, eventPath, flightPath, idOfPath } from '../../../http/page-path.ts';
import type { WrittenNote } from '../../../operator/act-on-alerts.ts';
import {
  type AlertRecord,
  type AlertSurroundings,
  readAlertRecord,
  readAlertSurroundings,
} from '../../../operator/alert-record.ts';
import { acknowledgementOf } from '../../../operator/read-alerts.ts';
import type { SentNotification } from '../../../store/outbox-store.ts';
import type { Transaction } from '../../../store/store.ts';
import { instantsIn } from '../../../text/instant-words.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import { refuse } from '../../requests/query.ts';
import { birdPlace } from '../../service-place.ts';
import type { NameOf, PagesOptions } from '../../web-options.ts';
import { changeLine, flightChart } from '../frame/charts.ts';
import { authorOf, checkSignature, fieldsOf, nameField, problemOf, sentence } from '../frame/form.ts';
import {
  deliveryLinks,
  factList,
  foldedItem,
  lineItem,
  messageLine,
  saidActions,
  saySame,
} from '../frame/items.ts';
import { type Columns, dataTable } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { at, marked, titledPage, unknownPage, when } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  birdTitle,
  flyLink,
  inReadersZone,
  listsEvents,
  NAME_LENGTH,
  nestLink,
  placeName,
  receiverPlace,
  regionWord,
  said,
  saidInLines,
  saidStep,
  severityTone,
  severityWord,
  silenceWords,
  suppressionWords,
} from '../frame/page-words.ts';
import { actsLine, alertActions, endedBy, lasting, mutePills, undoForm } from './alert-item.ts';

/** The most actions shown on the page of one alert. */
const MOST_ACTIONS = 10;

export function addAlert(pages: Hono, options: PagesOptions): void {
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

const TEXT_LENGTH = 2_000;
const NAMED_MEMBERS = 8;

interface Beside {
  readonly nameOf: NameOf;
  /** Leads to what starts its Bird again; empty if nothing does. */
  readonly again: Html | string;
}

function renderAlertPage(
  page: Page,
  stored: AlertRecord,
  around: AlertSurroundings,
  { nameOf, again }: Beside,
  note: NoteForm,
): Html {
  const { words, zone } = page;
  const record = { ...stored, alert: inReadersZone(zone, stored.alert) };
  const { alert, silencedBy } = record;
  const { labels, annotations } = alert;
  const shown = { alert, silencedBy, isInhibited: record.inhibitedBy.length > 0, lastEvent: undefined };
  const title = alertTitle(words, labels.alertname ?? '', annotations);
  const place = alertPlace(labels);
  const isFiring = alert.state === 'firing';
  const tone = isFiring && silencedBy.length === 0 ? severityTone(labels.severity ?? '') : 'quiet';
  const { summary = '', description = '' } = annotations;
  const isList = listsEvents(labels);
  const last = isList ? undefined : (record.events[0]?.event ?? around.failures[0]);
  const message = isList ? `${summary}\n${description}` : last?.message || description || summary;
  return titledPage(page, {
    ...{ section: 'alerts', tone, isLive: note.problem === '', problem: note.problem },
    tab: `${title}${place ? `, ${place}` : ''}`,
    title: place ? html`${title}: ${placeLinks(page, labels)}` : title,
    lead: html`${regionWord(words, labels.region ?? '')} · ${standing(page, record, last)} ${flightLink(page, last)}`,
    json: `api/v1/alerts/${encodeURIComponent(alert.id)}`,
    main: html`<p class="pills"><span class="pill ${tone}">${severityWord(words, labels.severity ?? '')}</span> ${mutePills(page, shown)}</p>
${silencedBy.map((silence) => html`<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi></p>`)}
${shown.isInhibited ? html`<p class="small soft">${words.alerts.inhibitedWhy}</p>` : ''}
${isFiring ? html`<p class="actions">${alertActions(page, shown)}</p>` : ''}${again}
${whySection(page, record, last, message)}
${oftenSection(page, record, around)}
${isFiring ? helpSection(page, alert) : ''}
${whoSection(page, record, around)}
${timeline(page, record, around, message, nameOf)}
${noteForm(page, alert.id, note)}
${detailSection(page, record)}`,
  });
}

/** `Marketing / Translate blog`, each linked to its page. */
function placeLinks(page: Page, labels: Labels): Html {
  const { region = '', nest_id: nestId, nest = '', bird_id: birdId, bird = '', entity_name: entity } = labels;
  const parts = [
    ...(nestId === undefined ? [] : [nestLink(page, { region, nestId, nest })]),
    ...(birdId === undefined
      ? []
      : [
          html`<a href="${page.root}${birdPath(region, birdId)}"><bdi>${birdTitle(page.words, bird, birdId)}</bdi></a>`,
        ]),
    ...(birdId === undefined && entity !== undefined ? [said(entity, NAME_LENGTH)] : []),
    ...(receiverPlace(labels) ? [html`<bdi>${receiverPlace(labels)}</bdi>`] : []),
    ...(listsEvents(labels) ? [said(signatureWords(labels.error ?? ''), NAME_LENGTH)] : []),
  ];
  return html`${parts.map((part, index) => html`${index > 0 ? ' / ' : ''}${part}`)}`;
}

function standing(page: Page, { alert, isKept }: AlertRecord, last: Event | undefined): Html {
  const { words } = page;
  const { startsAtUs, endsAtUs, state } = alert;
  if (isMoment(alert) && startsAtUs > 0)
    return html`${words.alert.happened} ${when(page, last?.occurredAtUs ?? startsAtUs)}.`;
  if (state === 'firing') return html`${words.alert.isFiring} ${lasting(page, startsAtUs)}.`;
  if (state === 'pending' && startsAtUs === 0) return html`${words.alert.isPending}.`;
  const lasted = words.alerts.lasted(words.time.lasting((endsAtUs - startsAtUs) / 1000));
  const by = endedBy(page, alert);
  return html`${words.alert.isOver} ${when(page, endsAtUs)}, ${lasted}${by ? html`: ${by}` : ''}. ${isKept ? '' : words.alert.letGo}`;
}

function flightLink({ root, words }: Page, event: Event | undefined): Html | string {
  const flightId = event?.attributes.flight_id;
  if (!event || flightId === undefined) return '';
  return html`<a href="${root}${flightPath(event.region, String(flightId))}">${words.alert.lastFlight}</a>`;
}

/** The last message, where it failed, and what is known about why now, with links to what says so. */
function whySection(
  page: Page,
  { alert, findings }: AlertRecord,
  last: Event | undefined,
  message: string,
): Html | string {
  const { words } = page;
  const [scope, step] = [last?.attributes.scope, last?.attributes.step_id].map((one) => String(one ?? ''));
  const items = findings.flatMap((one) => ('text' in one ? [one] : []));
  // Without a notification, nothing says it.
  const isSaid = alert.state === 'firing' || items.some(({ sort }) => sort === 'who_acts');
  const acts = isSaid ? '' : actsLine(alert, last);
  if (!message && items.length === 0) return '';
  return html`<h2>${words.alert.reasons}</h2>
<div class="sheet">${message ? html`<pre>${saidInLines(message, TEXT_LENGTH)}</pre>` : ''}
<ul>${scope || step ? html`<li>${words.alert.atStep} ${saidStep({ scope: scope!, step: step! })}</li>` : ''}
${items.map(({ text, eventKey, alertId }) => {
  const local = instantsIn(text, page.zone);
  const clause = said(local.charAt(0).toUpperCase() + local.slice(1), TEXT_LENGTH);
  const path = eventKey === undefined ? alertId && alertPath(alertId) : eventPath(eventKey);
  return html`<li>${path === undefined ? clause : html`<a href="${page.root}${path}">${clause}</a>`}</li>`;
})}${acts && html`<li>${acts}</li>`}</ul></div>`;
}

function oftenSection(page: Page, { alert, episodes }: AlertRecord, around: AlertSurroundings): Html {
  const { words } = page;
  const earlier = episodes.filter(({ startsAtUs }) => startsAtUs !== alert.startsAtUs);
  const parts = [
    ...(alert.startsAtUs > 0 ? [html`${words.alert.beganColumn} ${at(page, alert.startsAtUs)}`] : []),
    ...(alert.eventsTotal > 0 ? [words.count.events(alert.eventsTotal)] : []),
    ...(earlier.length > 0 ? [words.alert.before(earlier.length)] : []),
  ];
  const columns: Columns<AlertRecord['episodes'][number]> = {
    [words.alert.beganColumn]: (one) => at(page, one.startsAtUs),
    [words.alert.lastedColumn]: (one) => words.time.lasting((one.endsAtUs - one.startsAtUs) / 1000),
    [words.alert.ending]: (one) => words.alert.ended(one.ending ?? '', one.alertname),
    [words.frame.events]: (one) => one.events,
  };
  return html`<h2>${words.alert.often}</h2>
<p class="small soft">${parts.map((part, index) => html`${index > 0 ? ' · ' : ''}${part}`)}</p>
${flightChart(page, around.flights, around.changes)}
${earlier.length > 0 ? html`<details><summary>${words.alert.history}</summary>${dataTable(words.alert.history, columns, earlier)}</details>` : ''}`;
}

function helpSection({ words }: Page, { alertname, annotations }: Alert): Html | string {
  const [look, act] = [words.look(alertname), words.act(alertname)];
  const url = plainText(annotations.runbook_url ?? '', TEXT_LENGTH);
  const link = /^https?:\/\//.test(url) ? html`<li><a href="${url}" rel="noreferrer">${url}</a></li>` : '';
  if (look === '' && !link) return '';
  return html`<h2>${words.alert.help}</h2>
<ul class="sheet">${link}${look === '' ? '' : html`<li><b>${words.alert.look}</b> ${marked(look)}</li><li><b>${words.alert.act}</b> ${marked(act)}</li>`}</ul>`;
}

function whoSection(
  page: Page,
  { alert, receivers, acknowledgements }: AlertRecord,
  { members, changes }: AlertSurroundings,
): Html {
  const { words } = page;
  const names = receivers.map((name) => plainText(name, NAME_LENGTH)).join(', ');
  const acknowledged = acknowledgementOf(alert, acknowledgements, page.nowUs);
  const publish = changes.find(({ type }) => /\.(Published|Activated)$/.test(type));
  const more = members.length - NAMED_MEMBERS;
  const facts = {
    [words.alerts.acknowledged]:
      acknowledged &&
      html`<bdi>${silenceWords(words, acknowledged)}</bdi>${alert.state === 'firing' ? undoForm(page, acknowledged) : ''}`,
    [words.alert.published]: publish && changeLine(page, publish),
    [words.alert.members]:
      members.length === 0
        ? ''
        : html`${members
            .slice(0, NAMED_MEMBERS)
            .map(
              (one, index) => html`${index > 0 ? ', ' : ''}${said(one, NAME_LENGTH)}`,
            )}${more > 0 ? ` ${words.count.more(more)}` : ''}`,
    [words.alert.receiver]: names || words.alert.noReceiver,
  };
  return html`<h2>${words.writes.who}</h2>
${factList(facts)}`;
}

interface NoteForm extends WrittenNote {
  /** Whether everybody can see the note if its author wants that. */
  readonly isOpen: boolean;
  /** What has to be corrected first; empty for nothing. */
  readonly problem: string;
}

function noteForm({ root, words }: Page, id: string, note: NoteForm): Html {
  const { isOpen, author, text, isPublic, problem } = note;
  const own = words.note;
  return html`<details${problem === '' ? '' : html` open`}><summary>${own.title}</summary>
<form method="post" action="${root}note?${new URLSearchParams({ alert: id })}" class="sheet fields after">
${nameField(words, author)}
<label for="text">${own.text}</label>
<textarea id="text" name="text" rows="4" required maxlength="${MAX_NOTE_LENGTH}">${manyLines(text, MAX_NOTE_LENGTH)}</textarea>
${isOpen ? html`<label class="choice"><input type="checkbox" name="public" value="true"${isPublic ? html` checked` : ''}>${own.isPublic}</label>` : ''}
<div class="buttons"><button class="main">${own.button}</button></div>
</form></details>`;
}

/** What programs see. */
function detailSection({ words }: Page, { alert }: AlertRecord): Html {
  const rows = (names: Labels) =>
    Object.entries(names).map(
      ([name, value]) =>
        html`<dt><code>${plainText(name, NAME_LENGTH)}</code></dt><dd><bdi>${plainText(value, TEXT_LENGTH)}</bdi></dd>`,
    );
  return html`<details><summary>${words.alert.details}</summary>
<dl class="sheet after">${rows({ id: alert.id, fingerprint: fingerprint(alert.labels), ...alert.labels })}</dl>
<dl class="sheet after">${rows(alert.annotations)}</dl></details>`;
}

// What happened around the alert, as one timeline, the newest first.

interface Moment {
  readonly atUs: number;
  /** What happened, unless it is an event. */
  readonly shown?: Html;
  readonly event?: Event;
  readonly below?: Html;
}

/** The most rows of the timeline; events that say the same are one row. */
const MOST_MOMENTS = 60;

/** `message` stands above, so events with it do not repeat it. */
function timeline(
  page: Page,
  record: AlertRecord,
  around: AlertSurroundings,
  message: string,
  nameOf: NameOf,
): Html {
  const { words } = page;
  const rows: Moment[][] = [];
  for (const moment of momentsOf(page, record, around, nameOf).sort((a, b) => b.atUs - a.atUs)) {
    const last = rows.at(-1);
    const before = last?.[0]?.event;
    if (last && before && moment.event && saySame(before, moment.event)) last.push(moment);
    else rows.push([moment]);
  }
  const items = rows.slice(0, MOST_MOMENTS).map((row) => {
    const events = row.flatMap(({ event }) => event ?? []);
    const { shown, atUs, below } = row[0]!;
    if (events.length === 0) return lineItem(shown!, when(page, atUs), below);
    const text = events[0]!.message;
    const place = record.alert.labels.bird_id === undefined ? placeName(events[0]!) : '';
    const where = place && html`<bdi>${place}</bdi>`;
    return foldedItem(page, events, where, text === message ? '' : messageLine(text));
  });
  const known = record.events.length + around.failures.length;
  const more = rows.slice(MOST_MOMENTS).flat().length + Math.max(0, record.alert.eventsTotal - known);
  return html`<h2>${words.overview.happened}</h2>
<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.alert.moreEvents(more)}</li>` : ''}</ul>`;
}

function momentsOf(
  page: Page,
  { alert, events, notifications, suppressions, acknowledgements, notes }: AlertRecord,
  { changes, failures }: AlertSurroundings,
  nameOf: NameOf,
): Moment[] {
  const { words } = page;
  const name = (text: string) => plainText(text, NAME_LENGTH);
  const moment = (atUs: number, what: string, more: Html | string = '') => ({
    atUs,
    shown: html`<span class="what">${what}</span> <span class="soft">${more}</span>`,
  });
  const facts = [...events.map(({ event }) => event), ...failures, ...changes];
  return [
    ...new Map(facts.map((event) => [event.key, { atUs: event.occurredAtUs, event }])).values(),
    // Each integration of a receiver has a notification of its own.
    ...[
      ...Map.groupBy(notifications, (one) => `${one.createdAtUs} ${one.reason} ${one.receiver}`).values(),
    ].map((all) => {
      const [{ createdAtUs, reason, receiver }] = all as [SentNotification];
      const sent = all.flatMap(({ deliveries }) => deliveries);
      const isFirst = notifications.every(
        (one) =>
          one.receiver !== receiver || one.createdAtUs >= createdAtUs || one.createdAtUs < alert.startsAtUs,
      );
      const what = words.alert.why(reason === 'new_alerts' && !isFirst ? 'others' : name(reason));
      const why = html`${what} ${deliveryLinks(page, sent, nameOf)}`;
      return moment(createdAtUs, words.alert.told(name(receiver)), why);
    }),
    ...suppressions.map((one) => {
      const why = html`<bdi>${suppressionWords(words, one.reason, one.detail)}</bdi>`;
      return moment(one.atUs, words.alert.notTold(name(one.receiver)), why);
    }),
    ...acknowledgements.map((one) => {
      const muted = silenceWords(words, one);
      return moment(one.startsAtUs, `${muted.charAt(0).toUpperCase()}${muted.slice(1)}`);
    }),
    ...notes.map((one) => ({
      ...moment(
        one.atUs,
        words.alert.notedBy(name(one.author)),
        one.isPublic ? words.alert.isPublicNote : '',
      ),
      below: html`<p class="note">${saidInLines(one.text, MAX_NOTE_LENGTH)}</p>`,
    })),
    ...(alert.state === 'firing' || alert.endsAtUs === 0
      ? []
      : [moment(alert.endsAtUs, words.alert.isOver, endedBy(page, alert))]),
  ];
}
