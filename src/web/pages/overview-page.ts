/**
 * The page: how the watch stands, for people. It is whole without JavaScript. Everything from outside passes through
 * `plainText`, and `html` escapes whatever is put into it.
 */
import { html } from 'hono/html';
import type { Alert } from '../../domain/alert/alert.ts';
import type { Event } from '../../domain/alert/event.ts';
import { fingerprint } from '../../domain/alert/fingerprint.ts';
import { isEndedByProbe, isResolvable } from '../../domain/evaluate/resolve-by-hand.ts';
import type { FaultRecord } from '../../store/fault-store.ts';
import type { Delivery } from '../../store/outbox-store.ts';
import { howMany } from '../../text/counts.ts';
import { durationWords } from '../../text/duration-words.ts';
import { exactTime } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { regionName } from '../../text/region-name.ts';
import { type FeedView, type RegionView, stateOf } from '../status-view.ts';
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
  severityTone,
  type Tone,
} from './frame/page-words.ts';
import type { PageView, ShownAlert } from './overview.ts';
import { silenceItem, silenceWords } from './silence-view.ts';

/** A feed that was not read for longer than the slowest regular poll is late. */
const LATE_US = 300e6;

export function renderPage(page: Page, view: PageView): Html {
  const { status, nowUs } = view;
  const tone = overallTone(view);
  const headline = headlineOf(view);
  return frame({
    title: `${view.firingTotal > 0 ? `(${view.firingTotal}) ` : ''}nestwatch: ${headline}`,
    tone,
    page,
    section: 'overview',
    body: html`<header>
<p class="brand"><span>${liveness(view)}</span></p>
<h1 class="text ${tone}">${headline}</h1>
<p class="lead">${leadOf(view)}</p>
${view.isOpen ? OPEN_NOTICE : ''}
${view.deadTotal > 0 ? deadNotice(view.deadTotal) : ''}
${view.setAside.length > 0 ? faultNotice(view.setAside) : ''}
</header>
<main id="main">
<section>
<h2>Active alerts <a href="api/v1/alerts?state=firing">as JSON</a></h2>
${alertList(view)}
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

function overallTone({ firing, status, deadTotal, setAside, nowUs }: PageView): Tone {
  const tones = [
    ...firing.map(({ alert }) => severityTone(alert.labels.severity ?? '')),
    ...status.regions.map((region) => REGION_STATES[stateOf(region)].tone),
  ];
  if (tones.includes('bad')) return 'bad';
  const isBehind = status.regions.some((region) => isLate(region, nowUs));
  if (firing.length > 0 || deadTotal > 0 || setAside.length > 0 || isBehind) return 'warn';
  return tones.includes('quiet') ? 'quiet' : 'good';
}

/** `All quiet` is said only of what was really read a moment ago. */
function headlineOf({ firingTotal, setAside, status, nowUs }: PageView): string {
  const parts = firingTotal > 0 ? [howMany(firingTotal, 'active alert')] : [];
  for (const region of status.regions) {
    const name = regionName(region.region);
    const state = stateOf(region);
    if (state === 'down') parts.push(`${name} is down`);
    else if (state === 'unauthorized') parts.push(`${name} refuses the token`);
    else if (isLate(region, nowUs)) parts.push(`${name} is behind`);
  }
  if (setAside.length > 0) parts.push('something was set aside');
  if (parts.length > 0) return parts.join(', ');
  return status.regions.some((region) => stateOf(region) === 'starting') ? 'Starting' : 'All quiet';
}

function isLate(region: RegionView, nowUs: number): boolean {
  const latestUs = latestSuccess(region);
  return latestUs > 0 && nowUs - latestUs > LATE_US;
}

function leadOf({ status, nowUs }: PageView): Html {
  const birds = status.regions.reduce((sum, region) => sum + region.birds, 0);
  const watching = `Watching ${howMany(birds, 'Bird')} in ${howMany(status.regions.length, 'region')}.`;
  return html`${watching} ${lastCheck(status.regions, nowUs)}`;
}

/** The latest reading of the region that was read longest ago: what is said of all holds until then. */
function lastCheck(regions: readonly RegionView[], nowUs: number): Html {
  const unread = regions.filter((region) => latestSuccess(region) === 0);
  if (regions.length === 0) return html``;
  if (unread.length > 0) {
    return html`${unread.map((region) => regionName(region.region)).join(', ')} not read yet.`;
  }
  return html`Last checked ${when(Math.min(...regions.map(latestSuccess)), nowUs)}.`;
}

function latestSuccess({ feeds }: RegionView): number {
  return Math.max(0, ...feeds.map((feed) => feed.lastSuccessUs));
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

function deadNotice(total: number): Html {
  const what = howMany(total, 'notification');
  return html`<p class="notice">${what} could not be delivered and ${total === 1 ? 'was' : 'were'} given up: <a href="api/v1/deliveries?state=dead">which and why</a>.</p>`;
}

/** Names what failed, so that a person can take it away. */
function faultNotice(faults: readonly FaultRecord[]): Html {
  const items = faults.map(({ sort, name, reason }) => {
    const what = plainText(`${sort.replace('_', ' ')} ${name}`, NAME_LENGTH);
    return html`<li><bdi>${what}</bdi>: <bdi>${plainText(reason, MESSAGE_LENGTH)}</bdi></li>`;
  });
  return html`<div class="notice"><p>Something fails and was set aside; everything else goes on: <a href="api/v1/status">all of it</a>.</p><ul>${items}</ul></div>`;
}

function alertList(view: PageView): Html {
  const { firing, firingTotal, nowUs, status } = view;
  if (firing.length === 0) {
    return html`<p class="sheet empty">No active alerts. ${lastCheck(status.regions, nowUs)}</p>`;
  }
  const hidden = firingTotal - firing.length;
  return html`<ul class="sheet">${firing.map((one) => alertItem(one, nowUs))}${
    hidden > 0 ? html`<li class="soft">and ${howMany(hidden, 'more alert')}</li>` : ''
  }</ul>`;
}

function alertItem({ alert, lastEvent, silencedBy, isInhibited }: ShownAlert, nowUs: number): Html {
  const { labels, annotations } = alert;
  const severity = plainText(labels.severity ?? '', NAME_LENGTH);
  const tone = severityTone(severity);
  const message = plainText(
    lastEvent?.message || annotations.description || annotations.summary || '',
    MESSAGE_LENGTH,
  );
  const [silence] = silencedBy;
  const isAcknowledged = silencedBy.some(({ alertId }) => alertId !== null);
  const title = `${alertTitle(labels.alertname ?? '')}, ${alertPlace(labels) || labels.region}`;
  const query = new URLSearchParams({ alert: alert.id }).toString();
  return html`<li id="alert-${fingerprint(labels)}" class="alert ${silence || isInhibited ? 'quiet' : tone}">
<div class="row"><div><h3>${alertTitle(labels.alertname ?? '')}</h3> <span class="pill ${tone}">${severity}</span>
${silence ? html`<span class="pill quiet">${isAcknowledged ? 'Acknowledged' : 'Silenced'}</span>` : ''}${isInhibited ? html`<span class="pill quiet">Inhibited</span>` : ''}</div>
<span class="small soft">for <time datetime="${isoTime(alert.startsAtUs)}" title="since ${exactTime(alert.startsAtUs)}">${durationWords((nowUs - alert.startsAtUs) / 1000, 'one unit')}</time></span></div>
<div class="row stack"><div>${where(labels.region ?? '', alertPlace(labels))}</div>
<span class="small soft">${eventCount(alert, lastEvent, nowUs)}</span></div>
${message ? html`<p class="message"><bdi>${message}</bdi></p>` : ''}
${silence ? html`<p class="small soft"><bdi>${silenceWords(silence)}</bdi></p>` : ''}
${isInhibited ? html`<p class="small soft">Not told while an alert that explains it is active.</p>` : ''}
<p class="actions">${isAcknowledged ? '' : html`<a class="button" href="acknowledge?${query}" aria-label="Acknowledge ${title}">Acknowledge</a>`}
<a class="button" href="silence?${query}" aria-label="Silence ${title}">Silence</a>
${isResolvable(alert) ? html`<a class="button" href="resolve?${query}&began=${alert.startsAtUs}" aria-label="Resolve ${title}">Resolve</a>` : ''}
${!isResolvable(alert) && isEndedByProbe(alert) ? html`<a class="button" href="resolve?${query}&began=${alert.startsAtUs}" aria-label="Ask again: ${title}">Ask again</a>` : ''}</p>
</li>`;
}

function eventCount({ eventsTotal }: Alert, lastEvent: Event | undefined, nowUs: number): Html {
  if (eventsTotal === 0) return html``;
  const last = eventsTotal > 1 && lastEvent ? html`, last ${when(lastEvent.occurredAtUs, nowUs)}` : '';
  return html`${howMany(eventsTotal, 'event')}${last}`;
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

function silenceSection({ silences, nowUs }: PageView): Html {
  const link = html`<a href="silence">new silence</a>`;
  if (silences.length === 0) return html`<p class="small soft after">No silences. ${link}</p>`;
  return html`<section id="silences"><h2>Silences ${link}</h2>
<ul class="sheet">${silences.map((one) => silenceItem(one, nowUs))}</ul></section>`;
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
<table><thead><tr><th scope="col">Feed</th><th scope="col">Streams</th><th scope="col">Last read</th></tr></thead>
<tbody>${region.feeds.map((feed) => feedRow(feed, nowUs))}</tbody></table>
</div>`;
}

function feedRow(feed: FeedView, nowUs: number): Html {
  const tone = nowUs - feed.lastSuccessUs > LATE_US ? 'warn' : '';
  const read =
    feed.lastSuccessUs > 0
      ? html`<span class="text ${tone}">${when(feed.lastSuccessUs, nowUs)}</span>`
      : html`<span class="soft">${feed.streams > 0 ? 'not yet' : 'nothing to read'}</span>`;
  const active = feed.openFlights > 0 ? html` · ${feed.openFlights} active` : '';
  return html`<tr><th scope="row">${FEED_NAMES[feed.feed]}${active}</th><td>${feed.streams}</td><td>${read}</td></tr>`;
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
