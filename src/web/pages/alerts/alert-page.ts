/** Renders one alert: its content, events and episodes, who was notified, and what can be done about it. */

import { html } from 'hono/html';
import type { Labels } from '../../../domain/alert/alert.ts';
import { fingerprint } from '../../../domain/alert/fingerprint.ts';
import { alertPath, eventPath } from '../../../http/page-path.ts';
import type { AlertRecord } from '../../../operator/alert-record.ts';
import type { SentNotification } from '../../../store/outbox-store.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import type { NameOf } from '../../delivery-messages.ts';
import { type Column, dataTable } from '../frame/data-table.ts';
import { deliveryLinks, ownEventItem, withheldList } from '../frame/items.ts';
import type { Page } from '../frame/page.ts';
import { at, frame, type Html, heading, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  severityTone,
  severityWord,
  silenceWords,
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
${findingSection(page, record)}
${eventSection(page, record)}
${notifiedSection(page, record, nameOf)}
${namesSection(words.alert.labels, labels)}
${namesSection(words.alert.annotations, annotations)}
${episodeSection(page, record)}
<p class="small soft after"><code>${plainText(alert.id, TEXT_LENGTH)}</code> · <code>${fingerprint(labels)}</code></p>
</main>`,
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

/** Why it fires now and who can act, with links to what says so. */
function findingSection(page: Page, { findings }: AlertRecord): Html | string {
  const items = findings.flatMap((one) => ('text' in one ? [one] : []));
  if (items.length === 0) return '';
  return html`<h2>${page.words.alert.context}</h2>
<ul class="sheet">${items.map(({ text, eventKey, alertId }) => {
    const said = html`<bdi>${plainText(text, TEXT_LENGTH)}</bdi>`;
    const path = eventKey === undefined ? alertId && alertPath(alertId) : eventPath(eventKey);
    return html`<li>${path === undefined ? said : html`<a href="${page.root}${path}">${said}</a>`}</li>`;
  })}</ul>`;
}

function eventSection(page: Page, { alert, events }: AlertRecord): Html {
  const { words } = page;
  const items = events.map(({ event }) => ownEventItem(page, event));
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
    { title: words.alert.deliveries, cell: (one) => deliveryLinks(page, one.deliveries, nameOf) },
  ];
  return html`<h2>${words.alert.notified}</h2>
${
  notifications.length > 0
    ? dataTable(words.alert.notified, columns, notifications)
    : html`<p class="sheet empty">${words.alert.nobodyYet}</p>`
}
<p class="small soft after">${names ? words.alert.receivers(names) : words.alert.noReceiver}</p>
${withheldList(page, words.alert.withheld, suppressions)}`;
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
