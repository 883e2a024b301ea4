/** Renders one alert: its content, events and episodes, who was notified, and what can be done about it. */

import { html } from 'hono/html';
import type { Labels } from '../../../domain/alert/alert.ts';
import { fingerprint } from '../../../domain/alert/fingerprint.ts';
import { deliveryPath, eventPath } from '../../../http/page-path.ts';
import type { AlertRecord } from '../../../operator/alert-record.ts';
import type { SentNotification } from '../../../store/outbox-store.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../delivery-messages.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import type { Page } from '../frame/page.ts';
import { at, frame, type Html, heading, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  DELIVERY_TONES,
  eventTitle,
  eventTone,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  severityTone,
  severityWord,
  silenceWords,
  suppressionWords,
} from '../frame/page-words.ts';
import { alertActions, lasting, mutePills } from './alert-item.ts';

const TEXT_LENGTH = 2_000;

export function renderAlertPage(page: Page, record: AlertRecord, nameOf: NameOf): Html {
  const { words } = page;
  const { alert, silencedBy } = record;
  const { labels, annotations } = alert;
  const shown = { alert, silencedBy, isInhibited: record.inhibitedBy.length > 0, lastEvent: undefined };
  const title = alertTitle(words, labels.alertname ?? '');
  const place = alertPlace(labels);
  const isFiring = alert.state === 'firing';
  const tone = isFiring && silencedBy.length === 0 ? severityTone(labels.severity ?? '') : 'quiet';
  const said = manyLines(record.events[0]?.event.message || annotations.description || '', TEXT_LENGTH);
  const message = html`<bdi>${said}</bdi>`;
  return frame({
    title: `nestwatch: ${title}${place ? `, ${place}` : ''}`,
    tone,
    page,
    isLive: true,
    section: 'alerts',
    body: html`${heading(page, {
      title: place ? `${title}: ${place}` : title,
      tone,
      lead: html`${where(page, labels.region ?? '', '')} ${standing(page, record)}`,
      json: `api/v1/alerts/${encodeURIComponent(alert.id)}`,
    })}
<main id="main">
<p class="pills"><span class="pill ${tone}">${severityWord(words, labels.severity ?? '')}</span> ${mutePills(page, shown)}</p>
${silencedBy.map((silence) => html`<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi></p>`)}
${shown.isInhibited ? html`<p class="small soft">${words.alerts.inhibitedWhy}</p>` : ''}
${isFiring ? html`<p class="actions">${alertActions(page, shown)}</p>` : ''}
${said ? html`<h2>${words.alert.message}</h2><div class="sheet"><pre>${message}</pre></div>` : ''}
${eventSection(page, record)}
${notifiedSection(page, record, nameOf)}
${namesSection(words.alert.labels, labels)}
${namesSection(words.alert.annotations, annotations)}
${episodeSection(page, record)}
<p class="small soft after"><code>${plainText(alert.id, TEXT_LENGTH)}</code> · <code>${fingerprint(labels)}</code></p>
</main>`,
  });
}

/** For an unknown id. */
export function renderUnknownAlertPage(page: Page): Html {
  const { words } = page;
  return frame({
    title: `nestwatch: ${words.alert.unknown}`,
    tone: 'quiet',
    page,
    section: 'alerts',
    body: html`${heading(page, { title: words.alert.unknown, lead: words.alert.unknownLead })}
<main id="main"><p><a class="button" href="${page.root}alerts">${words.frame.alerts}</a></p></main>`,
  });
}

function standing(page: Page, { alert, isKept }: AlertRecord): Html {
  const { words } = page;
  const { startsAtUs, endsAtUs, state } = alert;
  if (state === 'firing') return html`${words.alert.isFiring} ${lasting(page, startsAtUs)}.`;
  if (state === 'pending' && startsAtUs === 0) return html`${words.alert.isPending}.`;
  const lasted = words.alerts.lasted(words.time.lasting((endsAtUs - startsAtUs) / 1000));
  const said = plainText(alert.annotations.resolved_by ?? '', MESSAGE_LENGTH);
  const by = said ? html`<bdi>${said}</bdi>` : words.alert.ended(alert.ending ?? '');
  return html`${words.alert.isOver} ${when(page, endsAtUs)}, ${lasted}${by ? html`: ${by}` : ''}. ${isKept ? '' : words.alert.letGo}`;
}

function eventSection(page: Page, { alert, events }: AlertRecord): Html {
  const { root, words } = page;
  const items = events.map(({ event }) => {
    const message = plainText(event.message, MESSAGE_LENGTH);
    return html`<li><div class="row"><a class="what text ${eventTone(event.type)}" href="${root}${eventPath(event.key)}">${eventTitle(words, event.type)}</a>
<span class="small soft">${when(page, event.occurredAtUs)}</span></div>
${message ? html`<p class="message"><bdi>${message}</bdi></p>` : ''}</li>`;
  });
  const more = alert.eventsTotal - events.length;
  return html`<h2>${words.alert.events}</h2>
${
  items.length > 0
    ? html`<ul class="sheet">${items}${more > 0 ? html`<li class="soft">${words.alert.moreEvents(more)}</li>` : ''}</ul>`
    : html`<p class="sheet empty">${words.alert.noEvents}</p>`
}`;
}

function notifiedSection(
  page: Page,
  { notifications, receivers, suppressions }: AlertRecord,
  nameOf: NameOf,
): Html {
  const { words } = page;
  const names = receivers.map((name) => plainText(name, NAME_LENGTH)).join(', ');
  const columns: Column<SentNotification>[] = [
    { title: words.alert.receiver, cell: (one) => plainText(one.receiver, NAME_LENGTH) },
    { title: words.alert.reason, cell: (one) => plainText(words.alert.why(one.reason), NAME_LENGTH) },
    { title: words.alert.at, cell: (one) => when(page, one.createdAtUs) },
    { title: words.alert.deliveries, cell: (one) => deliveryLinks(page, one, nameOf) },
  ];
  const withheld = suppressions.map(
    (one) => html`<li><span class="what">${plainText(one.receiver, NAME_LENGTH)}</span>
<span class="soft"><bdi>${suppressionWords(words, one.reason, one.detail)}</bdi>, ${when(page, one.atUs)}</span></li>`,
  );
  return html`<h2>${words.alert.notified}</h2>
${
  notifications.length > 0
    ? dataTable(words.alert.notified, columns, notifications)
    : html`<p class="sheet empty">${words.alert.nobodyYet}</p>`
}
<p class="small soft after">${names ? words.alert.receivers(names) : words.alert.noReceiver}</p>
${withheld.length > 0 ? html`<h3 class="after">${words.alert.withheld}</h3><ul class="sheet small">${withheld}</ul>` : ''}`;
}

function deliveryLinks({ root, words }: Page, { deliveries }: SentNotification, nameOf: NameOf): Html {
  return html`${deliveries.map((one) => {
    const { id, state } = one;
    return html`<a href="${root}${deliveryPath(id)}">${plainText(nameOf(one), NAME_LENGTH)}</a> <span class="pill ${DELIVERY_TONES[state]}">${words.deliveryStates[state]}</span> `;
  })}`;
}

function namesSection(title: string, names: Labels): Html | string {
  const entries = Object.entries(names);
  if (entries.length === 0) return '';
  const rows = entries.map(
    ([name, value]) =>
      html`<dt><code>${plainText(name, NAME_LENGTH)}</code></dt><dd><bdi>${linked(name, value)}</bdi></dd>`,
  );
  return html`<h2>${title}</h2><dl class="sheet">${rows}</dl>`;
}

/** Only the link to a runbook, which is in the configuration, is clickable. */
function linked(name: string, value: string): Html | string {
  const text = plainText(value, TEXT_LENGTH);
  const isLink = name === 'runbook_url' && /^https?:\/\//.test(text);
  return isLink ? html`<a href="${text}" rel="noreferrer">${text}</a>` : text;
}

function episodeSection(page: Page, { alert, episodes }: AlertRecord): Html | string {
  const { words } = page;
  const earlier = episodes.filter(({ startsAtUs }) => startsAtUs !== alert.startsAtUs);
  if (earlier.length === 0) return '';
  const columns: Column<AlertRecord['episodes'][number]>[] = [
    { title: words.alert.beganColumn, cell: (one) => at(page, one.startsAtUs) },
    {
      title: words.alert.lastedColumn,
      cell: (one) => words.time.lasting((one.endsAtUs - one.startsAtUs) / 1000),
    },
    { title: words.alert.ending, cell: (one) => words.alert.ended(one.ending ?? '') },
    { title: words.alert.eventsOf, cell: (one) => String(one.events), isNumber: true },
  ];
  return html`<h2>${words.alert.history}</h2>${dataTable(words.alert.history, columns, earlier)}`;
}
