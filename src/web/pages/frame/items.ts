/** Renders what appears on several pages: events, messages, the outcome of deliveries, and who was not notified. */
import { html } from 'hono/html';
import { type Action, sayAction } from '../../../domain/action/action.ts';
import type { Alert } from '../../../domain/alert/alert.ts';
import { reasonFirst, signature } from '../../../domain/alert/error-signature.ts';
import type { Event } from '../../../domain/alert/event.ts';
import type { Suppression } from '../../../domain/muting/suppression.ts';
import { alertPath, deliveryPath, eventPath } from '../../../http/page-path.ts';
import type { Delivery } from '../../../store/outbox-store.ts';
import type { EventQuery } from '../../../store/sql/watched/event-pages.ts';
import type { Transaction } from '../../../store/store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../web-options.ts';
import type { Html, Page } from './page.ts';
import { exactly, timed, when, where } from './page-frame.ts';
import {
  alertOver,
  alertPlace,
  alertTitle,
  DELIVERY_TONES,
  eventTitle,
  eventTone,
  listsEvents,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
  said,
  severityTone,
  severityWord,
  suppressionWords,
} from './page-words.ts';

/** A message from outside, as a paragraph, after words of our own; nothing for an empty one. */
export function messageLine(message: string, before = ''): Html | string {
  if (message.trim() === '') return '';
  return html`<p class="message">${before && html`<b>${before}</b> `}${said(reasonFirst(message, MESSAGE_LENGTH), MESSAGE_LENGTH)}</p>`;
}

/** The service's last message, or else nestwatch's own. */
export function alertMessage({ labels, annotations }: Pick<Alert, 'labels' | 'annotations'>, last = '') {
  if (listsEvents(labels)) return messageLine(annotations.summary ?? '');
  return messageLine(last || annotations.description || annotations.summary || '');
}

/** What an alert is about, linked to its page. */
function alertLink(
  { root, words }: Page,
  { id, labels, annotations }: Pick<Alert, 'id' | 'labels' | 'annotations'>,
): Html {
  return html`<a class="what" href="${root}${alertPath(id)}">${alertTitle(words, labels.alertname ?? '', annotations)}</a>`;
}

/** The same, with where it is. */
export function alertLine(page: Page, alert: Pick<Alert, 'id' | 'labels' | 'annotations'>): Html {
  return html`${alertLink(page, alert)} ${where(page, alert.labels.region ?? '', alertPlace(alert.labels))}`;
}

/** The same, with its severity while it fires. */
export function alertStanding(page: Page, alert: Alert, isAcknowledged = false): Html {
  const severity = alert.labels.severity ?? '';
  const isFiring = alert.state === 'firing';
  return html`${alertLink(page, alert)}
<span class="pill ${isFiring && !isAcknowledged ? severityTone(severity) : 'quiet'}">${isFiring ? severityWord(page.words, severity) : page.words.alert.isOver}</span>`;
}

/** Names with their values; what has no value is left out. */
export function factList(facts: Readonly<Record<string, Html | string | undefined>>): Html {
  return html`<dl class="sheet">${Object.entries(facts).map(([name, value]) => value && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** An event as an item of a list; `stamp` says when it occurred. */
export function eventItem(page: Page, event: Event, stamp: Html): Html {
  const entity = event.birdId ? '' : plainText(String(event.attributes.entity_name ?? ''), NAME_LENGTH);
  const place = [placeName(event), entity].filter(Boolean).join(' / ');
  const what = html`${eventLink(page, event)} ${where(page, event.region, place)} ${byWhom(page, event)}`;
  return lineItem(what, stamp, messageLine(event.message));
}

/** Who did it, according to the service; empty if it does not say. */
export function byWhom({ words }: Page, { attributes }: Event): Html | string {
  const who = String(attributes.initiator ?? '');
  return who && html`<span class="soft">${words.chart.by} ${said(who, NAME_LENGTH)}</span>`;
}

/** What happened, linked, and where. */
export function eventLine(page: Page, event: Event): Html {
  return html`${eventLink(page, event)} ${where(page, event.region, placeName(event))}`;
}

/** What, when on the right, and more below. */
export function lineItem(what: Html, stamp: Html, below: Html | string = ''): Html {
  return html`<li><div class="row"><div>${what}</div>
<span class="small soft">${stamp}</span></div>
${below}</li>`;
}

/** What happened, in the colour of its sort. */
function eventLink({ root, words }: Page, { key, type }: Event): Html {
  return html`<a class="what text ${eventTone(type)}" href="${root}${eventPath(key)}">${eventTitle(words, type)}</a>`;
}

/** Whether two events tell a person the same. */
export function saySame(a: Event, b: Event): boolean {
  return (
    a.birdId === b.birdId &&
    a.type === b.type &&
    a.message === b.message &&
    a.attributes.initiator === b.attributes.initiator
  );
}

/** Events that follow each other and say the same, as one; in their order. */
export function folded(events: readonly Event[]): Event[][] {
  const groups: Event[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last && saySame(last[0]!, event)) last.push(event);
    else groups.push([event]);
  }
  return groups;
}

/**
 * `Trigger error ×5`, and who did it, for events that are newest first: the newest is linked. `isCut`: there may be
 * older ones.
 */
export function foldedItem(
  page: Page,
  events: readonly Event[],
  place: Html | string = '',
  below: Html | string = messageLine(events[0]!.message),
  isCut = false,
): Html {
  const newest = events[0]!;
  const what = html`${eventLink(page, newest)}${times(page, events.length, isCut)} ${place} ${byWhom(page, newest)}`;
  return lineItem(what, html`${andOthers(page, events)}${spanAgo(page, events)}`, below);
}

/** `×5`; nothing for one. */
function times({ words }: Page, count: number, isCut: boolean): Html | string {
  return count > 1 ? html`<b>×${count}${isCut ? ` ${words.overview.orMore}` : ''}</b>` : '';
}

/** `98 to 110 s ago`, for events that are newest first. */
function spanAgo(page: Page, events: readonly Event[]): Html {
  const [newestUs, oldestUs] = [events[0]!.occurredAtUs, events.at(-1)!.occurredAtUs];
  const [newest, oldest] = [newestUs, oldestUs].map((us) => page.words.time.ago(us, page.nowUs));
  return newest === oldest
    ? when(page, newestUs)
    : timed(page, newestUs, page.words.time.between(newest!, oldest!));
}

const SHOWN_HAPPENINGS = 12;

/** The latest failures, changes of Birds, notifications and ends, those with one cause or about one Bird as one. */
export function happenedList(
  page: Page,
  { events, isCut, over, isOverCut }: Happened,
  most = SHOWN_HAPPENINGS,
): Html {
  const byCause = Map.groupBy(events, ({ type, region, message, birdId, attributes }) =>
    JSON.stringify([type, region, message ? signature(message) : birdId, attributes.initiator]),
  );
  const happened = [...byCause.values()].map((some): [us: number, item: Html] => {
    const [newest] = some as [Event];
    const place = where(page, newest.region, placeName(newest));
    return [newest.occurredAtUs, foldedItem(page, some, place, undefined, isCut)];
  });
  const byKind = Map.groupBy(over, ({ alertname, labels }) => JSON.stringify([alertname, labels.region]));
  const ended = [...byKind.values()].map((some): [us: number, item: Html] => {
    const [{ id, alertname, labels, endsAtUs }] = some as [Alert];
    const birds = some.map((one) => ({ birdId: one.labels.bird_id }));
    const what = html`<a class="what text good" href="${page.root}${alertPath(id)}">${alertOver(page.words, alertname)}</a>${times(page, some.length, isOverCut)}
${where(page, labels.region ?? '', alertPlace(labels))}`;
    return [endsAtUs, lineItem(what, html`${andOthers(page, birds)}${when(page, endsAtUs)}`)];
  });
  const items = [...happened, ...ended].toSorted(([a], [b]) => b - a).slice(0, most);
  if (items.length === 0) return html`<p class="sheet empty">${page.words.overview.nothingHappened}</p>`;
  return html`<ul class="sheet">${items.map(([, item]) => item)}</ul>`;
}

function andOthers({ words }: Page, some: readonly { readonly birdId: string | undefined }[]): string {
  const others = new Set(some.map(({ birdId }) => birdId)).size - 1;
  return others > 0 ? `${words.overview.otherBirds(others)}, ` : '';
}

export function deliveryPill({ words }: Page, state: Delivery['state']): Html {
  return html`<span class="pill ${DELIVERY_TONES[state]}">${words.deliveryStates[state]}</span>`;
}

/** The last error of a mail names each recipient whom it does not reach. */
const REASON_LENGTH = 10_000;

/** Each delivery with its state, and with its last error if `withErrors`. */
export function deliveryLinks(
  page: Page,
  deliveries: readonly Delivery[],
  nameOf: NameOf,
  withErrors = false,
): Html {
  return html`${deliveries.map((one) => {
    const error = withErrors ? plainText(one.lastError, REASON_LENGTH) : '';
    return html`<a href="${page.root}${deliveryPath(one.id)}">${plainText(nameOf(one), NAME_LENGTH)}</a> ${deliveryPill(page, one.state)} ${error ? html`<bdi class="soft">${error}</bdi> ` : ''}`;
  })}`;
}

/** Who was not notified, and why; nothing if there is nobody. */
export function withheldList(
  page: Page,
  title: string,
  suppressions: readonly Pick<Suppression, 'receiver' | 'reason' | 'detail' | 'atUs'>[],
): Html | string {
  if (suppressions.length === 0) return '';
  const items = suppressions.map(
    (one) => html`<li><span class="what">${plainText(one.receiver, NAME_LENGTH)}</span>
<span class="soft"><bdi>${suppressionWords(page.words, one.reason, one.detail)}</bdi>, ${when(page, one.atUs)}</span></li>`,
  );
  return html`<h3 class="after">${title}</h3><ul class="sheet small">${items}</ul>`;
}

/** The newest events that are searched: most are Flights that succeeded. */
const LOOKED_AT = 300;

/** What went without trouble, or changes nothing yet. */
const UNREMARKABLE = new Set([
  'flight.succeeded',
  'flight.cancelled',
  'bird_log.Saved',
  'bird_log.Discarded',
]);

export interface Happened {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Whether older ones were not searched. */
  readonly isCut: boolean;
  /** Alerts that ended, the latest first. */
  readonly over: readonly Alert[];
  /** Whether others ended before. */
  readonly isOverCut: boolean;
}

/** The newest events that tell a person something, and the alerts that ended last. */
export async function readHappened(
  tx: Transaction,
  of: Pick<EventQuery, 'region' | 'nest'>,
  nowUs: number,
): Promise<Happened> {
  const { events, next } = await tx.events.page({ ...of, limit: LOOKED_AT });
  const ended = { ...of, order: 'severest', state: 'resolved', limit: SHOWN_HAPPENINGS, nowUs } as const;
  const over = await tx.alerts.page(ended);
  return {
    events: events.filter(({ type }) => !UNREMARKABLE.has(type)),
    isCut: next !== undefined,
    // What became worse fires on.
    over: over.alerts.filter(({ ending }) => ending !== 'superseded'),
    isOverCut: over.next !== undefined,
  };
}

/** What was done about a failure, or not, and why. */
export function saidActions(page: Page, actions: readonly Action[]): Html[] {
  return actions.map(
    (one) => html`<p class="small soft"><bdi>${sayAction(one, (us) => exactly(page, us))}</bdi></p>`,
  );
}
