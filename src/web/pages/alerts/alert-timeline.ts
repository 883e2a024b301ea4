/** Renders everything that happened around an alert as one timeline, the newest first. */
import { html } from 'hono/html';
import { MAX_NOTE_LENGTH } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import type { AlertRecord, AlertSurroundings } from '../../../operator/alert-record.ts';
import type { SentNotification } from '../../../store/outbox-store.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../web-options.ts';
import { deliveryLinks, foldedItem, lineItem, messageLine, saySame } from '../frame/items.ts';
import type { Html, Page } from '../frame/page.ts';
import { when } from '../frame/page-frame.ts';
import { NAME_LENGTH, placeName, saidInLines, silenceWords, suppressionWords } from '../frame/page-words.ts';
import { endedBy } from './alert-item.ts';

interface Moment {
  readonly atUs: number;
  /** What happened, unless it is an event. */
  readonly shown?: Html;
  readonly event?: Event;
  readonly below?: Html;
}

const MOST = 60;

/** `message` stands above, so events with it do not repeat it. */
export function timeline(
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
  const items = rows.slice(0, MOST).map((row) => {
    const events = row.flatMap(({ event }) => event ?? []);
    const { shown, atUs, below } = row[0]!;
    if (events.length === 0) return lineItem(shown!, when(page, atUs), below);
    const said = events[0]!.message;
    const place = record.alert.labels.bird_id === undefined ? placeName(events[0]!) : '';
    const where = place && html`<bdi>${place}</bdi>`;
    return foldedItem(page, events, where, said === message ? '' : messageLine(said));
  });
  const known = record.events.length + around.failures.length;
  const more = rows.slice(MOST).flat().length + Math.max(0, record.alert.eventsTotal - known);
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
  const all = [...events.map(({ event }) => event), ...failures, ...changes];
  return [
    ...new Map(all.map((event) => [event.key, { atUs: event.occurredAtUs, event }])).values(),
    // Each integration of a receiver has a notification of its own.
    ...[
      ...Map.groupBy(notifications, (one) => `${one.createdAtUs} ${one.reason} ${one.receiver}`).values(),
    ].map((all) => {
      const [{ createdAtUs, reason, receiver }] = all as [SentNotification];
      const sent = all.flatMap(({ deliveries }) => deliveries);
      const why = html`${words.alert.why(name(reason))} ${deliveryLinks(page, sent, nameOf)}`;
      return moment(createdAtUs, words.alert.told(name(receiver)), why);
    }),
    ...suppressions.map((one) => {
      const why = html`<bdi>${suppressionWords(words, one.reason, one.detail)}</bdi>`;
      return moment(one.atUs, words.alert.notTold(name(one.receiver)), why);
    }),
    ...acknowledgements.map((one) => {
      const said = silenceWords(words, one);
      return moment(one.startsAtUs, `${said.charAt(0).toUpperCase()}${said.slice(1)}`);
    }),
    ...notes.map((one) => ({
      ...moment(
        one.atUs,
        words.alert.notedBy(name(one.author)),
        one.isPublic ? words.alert.isPublicNote : '',
      ),
      below: html`<p class="note">${saidInLines(one.text, MAX_NOTE_LENGTH)}</p>`,
    })),
    ...(alert.state === 'firing' ? [] : [moment(alert.endsAtUs, words.alert.isOver, endedBy(page, alert))]),
  ];
}
