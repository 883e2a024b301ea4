/**
 * The page: how the watch stands, for people. It is whole without JavaScript. Everything from outside passes through
 * `plainText`, and `html` escapes whatever is put into it.
 */
import { html } from 'hono/html';
import type { Event } from '../../domain/alert/event.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import { howMany } from '../../text/counts.ts';
import { durationWords } from '../../text/duration-words.ts';
import { exactTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { regionName } from '../../text/region-name.ts';
import { type ConfigurationView, type ReadsView, type RegionView, stateOf } from '../status-view.ts';
import { alertItem } from './alerts/alert-item.ts';
import type { Page } from './frame/page.ts';
import { frame, type Html, isoTime, when, where } from './frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  DELIVERY_STATES,
  eventTitle,
  eventTone,
  FEED_NAMES,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  placeName,
  REGION_STATES,
} from './frame/page-words.ts';
import { headlineOf, healthPanel, toneOf } from './health-panel.ts';
import type { PageView } from './overview.ts';
import { silenceItem } from './silences/silence-view.ts';

export function renderPage(page: Page, view: PageView): Html {
  const { status, nowUs, impairments, alerts } = view;
  const standing = { impairments, alerts, severities: waitingSeverities(view) };
  const tone = toneOf(standing);
  const headline = headlineOf(standing, page);
  const waiting = alerts?.unacknowledged ?? 0;
  return frame({
    title: `${waiting > 0 ? `(${waiting}) ` : ''}nestwatch: ${headline}`,
    tone,
    page,
    section: 'overview',
    body: html`<header>
<p class="brand"><span>${liveness(view)}</span></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${leadOf(view, page)}</p>
${view.isOpen ? OPEN_NOTICE : ''}
${configurationNotice(status.configuration, nowUs)}
</header>
<main id="main">
${healthPanel(page, impairments, view.setAside)}
<section>
<h2>Active alerts <a href="api/v1/alerts?state=firing">as JSON</a></h2>
${alertList(page, view)}
${resolvedList(view)}
</section>
${silenceSection(view)}
<section>
<h2>Regions <a href="api/v1/status">as JSON</a></h2>
<div class="regions">${status.regions.map((region) => regionCard(region, nowUs))}</div>
</section>
<div class="columns">
<section>
<h2>Latest events <a href="api/v1/events">as JSON</a></h2>
${list(
  view.events.map((event) => eventItem(event, nowUs)),
  'No events yet. Every Flight that ends, every Bird log and every notification appears here.',
)}
</section>
<section>
<h2>Latest deliveries <a href="api/v1/deliveries">as JSON</a></h2>
${list(
  view.deliveries.map((delivery) => deliveryItem(delivery, nowUs)),
  'Nothing was sent yet.',
)}
</section>
</div>
</main>
<footer>nestwatch ${status.version}, running for ${durationWords((nowUs - status.startedAtUs) / 1000, 'one unit')} · <a href="metrics">metrics</a> · all times in UTC</footer>`,
  });
}

/** Of the shown alerts that nobody has taken up. */
function waitingSeverities({ firing }: PageView): string[] {
  return firing
    .filter(({ silencedBy, isInhibited }) => silencedBy.length === 0 && !isInhibited)
    .map(({ alert }) => alert.labels.severity ?? '');
}

function leadOf({ status, alerts, nowUs }: PageView, { words }: Page): Html {
  const birds = status.regions.reduce((sum, region) => sum + region.birds, 0);
  const known = alerts ? alerts.firing - alerts.unacknowledged : 0;
  return html`${words.health.watching(birds, status.regions.length)} ${lastCheck(status.regions, nowUs, words)}${
    known > 0 ? ` ${words.health.acknowledged(known)}` : ''
  }`;
}

/** When the stream was read that was read longest ago: what is said of all holds until then. */
function lastCheck(regions: readonly RegionView[], nowUs: number, { health }: Page['words']): Html {
  const unread = regions.filter((region) => oldestReadUs(region) === 0);
  if (regions.length === 0) return html``;
  if (unread.length > 0) {
    return html`${health.unread(unread.map((region) => regionName(region.region)).join(', '))}`;
  }
  return html`${health.allRead} ${when(Math.min(...regions.map(oldestReadUs)), nowUs)}.`;
}

/** 0 where something was never read, or there is nothing to read. */
function oldestReadUs({ reads }: RegionView): number {
  const polled = reads.filter(({ streams }) => streams > 0);
  return polled.length === 0 ? 0 : Math.min(...polled.map((one) => one.oldestReadUs));
}

function liveness({ isLive, nowUs }: PageView): Html {
  const at = html`<time datetime="${isoTime(nowUs)}">${exactTime(nowUs)}</time>`;
  return isLive
    ? html`${at} · updates every ${REFRESH_SECONDS} s · <a href="?paused">pause</a>`
    : html`${at} · paused · <a href="./">resume</a>`;
}
/** How often the browser asks again. */
export const REFRESH_SECONDS = 10;

const OPEN_NOTICE = html`<p class="notice">Whoever reaches this address can read all and silence: set <code>web.auth</code>, or listen on 127.0.0.1.</p>`;

/** Says which configuration is in force where it is not the one of the file. */
function configurationNotice({ mistakes, needsRestart, readAtUs }: ConfigurationView, nowUs: number): Html {
  if (mistakes.length > 0) {
    const items = mistakes.map((one) => html`<li><bdi>${plainText(one, MESSAGE_LENGTH)}</bdi></li>`);
    return html`<div class="notice"><p>The configuration file has mistakes, so the one that was read ${when(readAtUs, nowUs)} stays in force:</p><ul>${items}</ul></div>`;
  }
  if (needsRestart.length === 0) return html``;
  const keys = needsRestart.map((key) => html` <code>${key}</code>`);
  return html`<p class="notice">Changed in the configuration, and changes only at a restart:${keys}.</p>`;
}

function alertList(page: Page, view: PageView): Html {
  const { firing, alerts } = view;
  if (firing.length === 0) return html`<p class="sheet empty">No active alerts.</p>`;
  const hidden = (alerts?.firing ?? 0) - firing.length;
  return html`<ul class="sheet">${firing.map((one) => alertItem(page, one))}${
    hidden > 0 ? html`<li><a href="alerts">and ${howMany(hidden, 'more alert')}</a></li>` : ''
  }</ul>`;
}

function resolvedList({ resolved, nowUs }: PageView): Html {
  if (resolved.length === 0) return html``;
  const items = resolved.map(
    ({ labels, endsAtUs, startsAtUs }) => html`<li><div class="row stack">
<div><span class="what">${alertTitle(labels.alertname ?? '')}</span> ${where(labels.region ?? '', alertPlace(labels))}</div>
<span class="small soft">lasted ${durationWords((endsAtUs - startsAtUs) / 1000, 'one unit')}, resolved ${when(endsAtUs, nowUs)}</span>
</div></li>`,
  );
  return html`<h2>Resolved lately</h2><ul class="sheet small">${items}</ul>`;
}

function silenceSection({ silences, silencesTotal, nowUs }: PageView): Html {
  const link = html`<a href="silence">new silence</a>`;
  if (silences.length === 0) return html`<p class="small soft after">No silences. ${link}</p>`;
  const more = silencesTotal - silences.length;
  return html`<section id="silences"><h2>Silences ${link}</h2>
<ul class="sheet">${silences.map((one) => silenceItem(one, nowUs))}</ul>
${more > 0 ? html`<p class="small soft after">and ${more} more: <a href="api/v2/silences">all of them</a></p>` : ''}</section>`;
}

function regionCard(region: RegionView, nowUs: number): Html {
  const state = stateOf(region);
  const { words, tone } = REGION_STATES[state];
  const { reason, sinceUs } = region.health;
  const size = `${howMany(region.birds, 'Bird')} in ${howMany(region.nests, 'Nest')}`;
  const rate = Math.round(region.requestsPerSecond * 10) / 10;
  return html`<div class="sheet region">
<div class="row"><div><h3>${regionName(region.region)}</h3> <span class="pill ${tone}">${words}</span></div>
${state === 'starting' || sinceUs === 0 ? '' : html`<span class="small soft">for <time datetime="${isoTime(sinceUs)}" title="since ${exactTime(sinceUs)}">${durationWords((nowUs - sinceUs) / 1000, 'one unit')}</time></span>`}</div>
${tone === 'bad' ? html`<p class="text bad">${plainText(reason, MESSAGE_LENGTH)}</p>` : ''}
<p class="small soft">${size} · up to ${howMany(rate, 'request')} a second</p>
<table><thead><tr><th scope="col">Feed</th><th scope="col">Streams</th><th scope="col">Oldest reading</th></tr></thead>
<tbody>${region.reads.map((reads) => feedRow(region, reads, nowUs))}</tbody></table>
</div>`;
}

function feedRow(
  { feeds }: RegionView,
  { feed, streams, overdue, oldestReadUs }: ReadsView,
  nowUs: number,
): Html {
  const read =
    oldestReadUs > 0
      ? html`<span class="text ${overdue > 0 ? 'warn' : ''}">${when(oldestReadUs, nowUs)}</span>`
      : html`<span class="soft">${streams > 0 ? 'not yet' : 'nothing to read'}</span>`;
  const openFlights = feeds.find((one) => one.feed === feed)?.openFlights ?? 0;
  const active = openFlights > 0 ? html` · ${openFlights} active` : '';
  const late = overdue > 0 ? html` <span class="pill warn">${overdue} overdue</span>` : '';
  const name = feed === 'inventory' ? 'Nests and Birds' : FEED_NAMES[feed];
  return html`<tr><th scope="row">${name}${active}${late}</th><td>${streams}</td><td>${read}</td></tr>`;
}

function eventItem(event: Event, nowUs: number): Html {
  const tone = eventTone(event.type);
  const entity = event.birdId ? '' : plainText(String(event.attributes.entity_name ?? ''), NAME_LENGTH);
  const place = [placeName(event), entity].filter(Boolean).join(' / ');
  const message = plainText(event.message, MESSAGE_LENGTH);
  return html`<li><div class="row"><div><span class="what text ${tone}">${eventTitle(event.type)}</span> ${where(event.region, place)}</div>
<span class="small soft">${when(event.occurredAtUs, nowUs)}</span></div>
${message ? html`<p class="message"><bdi>${message}</bdi></p>` : ''}</li>`;
}

function deliveryItem(delivery: Delivery, nowUs: number): Html {
  const { words, tone } = DELIVERY_STATES[delivery.state];
  const { attempts, lastError, settledAtUs, createdAtUs, nextAttemptAtUs } = delivery;
  const isWaiting = delivery.state === 'retry' || delivery.state === 'ambiguous';
  const next = isWaiting
    ? ` ${nextAttemptAtUs > nowUs ? `in ${durationWords((nextAttemptAtUs - nowUs) / 1000, 'one unit')}` : 'now'}`
    : '';
  return html`<li><div class="row"><div><span class="what">${plainText(delivery.receiver, NAME_LENGTH)} <span class="soft">by ${delivery.integration}</span></span>
<span class="pill ${tone}">${words}${next}</span></div>
<span class="small soft">${attempts > 1 ? `${howMany(attempts, 'try', 'tries')}, ` : ''}${when(settledAtUs || createdAtUs, nowUs)}</span></div>
${lastError ? html`<p class="message"><bdi>${plainText(lastError, MESSAGE_LENGTH)}</bdi></p>` : ''}</li>`;
}

function list(items: readonly Html[], empty: string): Html {
  return items.length > 0 ? html`<ul class="sheet">${items}</ul>` : html`<p class="sheet empty">${empty}</p>`;
}
