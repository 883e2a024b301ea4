/**
 * Renders one alert as a person in trouble asks: why, since when and how often, what to do, who knows of it, and what
 * happened. Its labels, ids and other episodes are folded away.
 */
import { html } from 'hono/html';
import { type Alert, fingerprint, type Labels, MAX_NOTE_LENGTH } from '../../../domain/alert/alert.ts';
import { signatureWords } from '../../../domain/alert/error-signature.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { alertPath, birdPath, eventPath, flightPath } from '../../../http/page-path.ts';
import type { WrittenNote } from '../../../operator/act-on-alerts.ts';
import type { AlertRecord, AlertSurroundings } from '../../../operator/alert-record.ts';
import { instantsIn } from '../../../text/instant-words.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../web-options.ts';
import { changeLine, flightChart } from '../frame/charts.ts';
import { nameField } from '../frame/form.ts';
import { factList } from '../frame/items.ts';
import { type Columns, dataTable } from '../frame/list-page.ts';
import type { Html, Page } from '../frame/page.ts';
import { at, marked, titledPage, when } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  birdTitle,
  inReadersZone,
  listsEvents,
  NAME_LENGTH,
  nestLink,
  receiverPlace,
  regionWord,
  said,
  saidInLines,
  saidStep,
  severityTone,
  severityWord,
  silenceWords,
} from '../frame/page-words.ts';
import {
  acknowledgementOf,
  actsLine,
  alertActions,
  endedBy,
  lasting,
  mutePills,
  undoForm,
} from './alert-item.ts';
import { timeline } from './alert-timeline.ts';

const TEXT_LENGTH = 2_000;
const NAMED_MEMBERS = 8;

interface Beside {
  readonly nameOf: NameOf;
  /** Leads to what starts its Bird again; empty if nothing does. */
  readonly again: Html | string;
}

export function renderAlertPage(
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
    lead: html`${regionWord(words, labels.region ?? '')} · ${standing(page, record)} ${flightLink(page, last)}`,
    json: `api/v1/alerts/${encodeURIComponent(alert.id)}`,
    main: html`<p class="pills"><span class="pill ${tone}">${severityWord(words, labels.severity ?? '')}</span> ${mutePills(page, shown)}</p>
${silencedBy.map((silence) => html`<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi></p>`)}
${shown.isInhibited ? html`<p class="small soft">${words.alerts.inhibitedWhy}</p>` : ''}
${isFiring ? html`<p class="actions">${alertActions(page, shown)}</p>` : ''}${again}
${whySection(page, record, last, message)}
${oftenSection(page, record, around)}
${helpSection(page, alert)}
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

function standing(page: Page, { alert, isKept }: AlertRecord): Html {
  const { words } = page;
  const { startsAtUs, endsAtUs, state } = alert;
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
  // Findings are looked for as long as it fires.
  const acts = alert.state === 'firing' ? '' : actsLine(alert);
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
            )}${more > 0 ? words.alert.moreMembers(more) : ''}`,
    [words.alert.receiver]: names || words.alert.noReceiver,
  };
  return html`<h2>${words.writes.who}</h2>
${factList(facts)}`;
}

export interface NoteForm extends WrittenNote {
  /** Whether everybody can see the note if its author wants that. */
  readonly isOpen: boolean;
  /** What has to be corrected first; empty for nothing. */
  readonly problem: string;
}

function noteForm({ root, words }: Page, id: string, note: NoteForm): Html {
  const { isOpen, author, text, isPublic, problem } = note;
  const said = words.note;
  return html`<details${problem === '' ? '' : html` open`}><summary>${said.title}</summary>
<form method="post" action="${root}note?${new URLSearchParams({ alert: id })}" class="sheet fields after">
${nameField(words, author)}
<label for="text">${said.text}</label>
<textarea id="text" name="text" rows="4" required maxlength="${MAX_NOTE_LENGTH}">${manyLines(text, MAX_NOTE_LENGTH)}</textarea>
${isOpen ? html`<label class="choice"><input type="checkbox" name="public" value="true"${isPublic ? html` checked` : ''}>${said.isPublic}</label>` : ''}
<div class="buttons"><button class="main">${said.button}</button></div>
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
