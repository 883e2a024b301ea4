/** Renders an alert in a list: what, where, since when, the last message, and what can be done about it. */
import { html } from 'hono/html';
import { type Alert, fingerprint } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { errorTypeOf, whoActs } from '../../../domain/context/findings.ts';
import { isEndedByProbe, isResolvable } from '../../../domain/evaluate/decide.ts';
import { isMoment } from '../../../domain/kinds/kinds.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { alertPath } from '../../../http/page-path.ts';
import type { ShownAlert } from '../../../operator/read-alerts.ts';
import { alertMessage } from '../frame/items.ts';
import type { Html, Page } from '../frame/page.ts';
import { timed, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  inReadersZone,
  MESSAGE_LENGTH,
  regionWord,
  said,
  severityTone,
  severityWord,
  silenceWords,
  type Tone,
} from '../frame/page-words.ts';

/** `day`: how Flights there ended lately. */
export function alertItem(page: Page, shown: ShownAlert, day: Html | string): Html {
  const { lastEvent, silencedBy, isInhibited } = shown;
  const alert = inReadersZone(page.zone, shown.alert);
  const { words } = page;
  const { labels } = alert;
  const severity = labels.severity ?? '';
  const [silence] = silencedBy;
  const isOver = alert.state !== 'firing';
  return problemCard(page, {
    ...{ id: `alert-${fingerprint(labels)}`, severity, day },
    tone: silence || isInhibited || isOver ? 'quiet' : severityTone(severity),
    choice: isOver ? '' : choiceOf(page, alert),
    title: alertTitle(words, labels.alertname ?? '', alert.annotations),
    path: alertPath(alert.id),
    pills: mutePills(page, shown),
    stamp: isOver ? ended(page, alert) : standing(page, alert, lastEvent),
    places: [
      html`<li>${where(page, labels.region ?? '', alertPlace(labels))} <span class="small soft">${eventCount(page, alert, lastEvent)}</span></li>`,
    ],
    about: html`${alertMessage(alert, lastEvent?.message)}${actsLine(alert, lastEvent)}
${silence ? html`<p class="small soft"><bdi>${silenceWords(words, silence)}</bdi></p>` : ''}
${isInhibited ? html`<p class="small soft">${words.alerts.inhibitedWhy}</p>` : ''}`,
    actions: isOver ? '' : alertActions(page, shown),
  });
}

/** A problem in a list: an alert, or alerts with one cause. */
export interface ProblemCard {
  readonly id?: string;
  readonly tone: Tone;
  readonly severity: string;
  readonly choice?: Html | string;
  readonly title: string;
  /** Of the page that shows all of it; none on that page. */
  readonly path?: string;
  readonly pills: Html | string;
  readonly stamp: Html;
  readonly places: readonly Html[];
  /** The message, and what else is known. */
  readonly about: Html | string;
  readonly day?: Html | string;
  readonly actions?: Html | string;
}

export function problemCard({ root, words }: Page, shown: ProblemCard): Html {
  const { id, tone, severity, choice = '', title, path, places, day, actions } = shown;
  return html`<li${id ? html` id="${id}"` : ''} class="alert ${tone}">
<div>${choice}<h3>${path ? html`<a class="plain" href="${root}${path}">${title}</a>` : title}</h3> <span class="pill ${tone}">${severityWord(words, severity)}</span> ${shown.pills}</div>
<span class="small soft stamp">${shown.stamp}</span>
<ul class="places">${places}</ul>
<div class="about">${shown.about}</div>
${day ? html`<div class="day">${day}</div>` : ''}
${actions ? html`<p class="actions">${actions}</p>` : ''}
</li>`;
}

/** Chooses it for what is done about several, where that is possible. */
export function choiceOf({ words, back }: Page, { id, labels, annotations }: Alert): Html | string {
  if (back === undefined) return '';
  const what = [alertTitle(words, labels.alertname ?? '', annotations), alertPlace(labels)].filter(Boolean);
  return html`<input type="checkbox" form="chosen" name="alert" value="${id}" aria-label="${words.alerts.choose(what.join(', '))}"> `;
}

/** Who can end it, as far as the type of its newest error says. */
export function actsLine(alert: Pick<Alert, 'labels'>, last?: Event): Html | string {
  const acts = whoActs(errorTypeOf(alert, last));
  return acts === undefined
    ? ''
    : html`<p class="small">${acts.charAt(0).toUpperCase()}${acts.slice(1)}.</p>`;
}

/** Whether it is acknowledged, silenced, inhibited or resolved. */
export function mutePills(
  { words }: Page,
  { alert, silencedBy, isInhibited }: Pick<ShownAlert, 'alert' | 'silencedBy' | 'isInhibited'>,
): Html {
  const isAcknowledged = silencedBy.some(({ alertId }) => alertId !== null);
  const pills = [
    ...(alert.state === 'resolved' ? [words.alert.isOver] : []),
    ...(silencedBy.length > 0 ? [isAcknowledged ? words.alerts.acknowledged : words.alerts.silenced] : []),
    ...(isInhibited ? [words.alerts.inhibited] : []),
  ];
  return html`${pills.map((text) => html`<span class="pill quiet">${text}</span>`)}`;
}

/** What can be done about a firing alert. Each link leads to a page that asks for confirmation. */
export function alertActions(
  { root, words, back }: Page,
  { alert, silencedBy }: Pick<ShownAlert, 'alert' | 'silencedBy'>,
): Html {
  const { labels, startsAtUs } = alert;
  const isAcknowledged = silencedBy.some(({ alertId }) => alertId !== null);
  const title = `${alertTitle(words, labels.alertname ?? '', alert.annotations)}, ${alertPlace(labels) || regionWord(words, labels.region ?? '')}`;
  const query = new URLSearchParams({ alert: alert.id, ...(back !== undefined && { back }) }).toString();
  const button = (to: string, what: string, name: string, key = '') =>
    html`<a class="button" href="${root}${to}" aria-label="${name} ${title}"${key && html` data-key="${key}"`}>${what}</a>`;
  const { acknowledge, silence, resolve, askAgain } = words.alerts;
  return html`${isAcknowledged ? '' : button(`acknowledge?${query}&began=${startsAtUs}`, acknowledge, acknowledge, 'a')}
${button(`silence?${query}`, silence, silence, 's')}
${isResolvable(alert) ? button(`resolve?${query}&began=${startsAtUs}`, resolve, resolve) : ''}
${!isResolvable(alert) && isEndedByProbe(alert) ? button(`resolve?${query}&began=${startsAtUs}`, askAgain, `${askAgain}:`) : ''}`;
}

/** Takes an acknowledgement back, or all that were made together with it. */
export function undoForm({ root, words, back }: Page, { id, alertId }: Silence, together = 1): Html {
  const isOne = back === undefined || together === 1;
  const all =
    together > 1
      ? html`<button class="small" name="whole" value="true">${words.acknowledge.undoAll(together)}</button>`
      : '';
  return html`<form method="post" action="${root}expire-silence" class="actions"><input type="hidden" name="id" value="${id}"><input type="hidden" name="alert" value="${alertId ?? ''}">${back === undefined ? '' : html`<input type="hidden" name="back" value="${back}">`}
${all}${isOne ? html`<button class="small">${words.acknowledge.undo(together > 1)}</button>` : ''}</form>`;
}

/** How long it has been firing. */
export function lasting(page: Page, startsAtUs: number): Html {
  const { words, nowUs } = page;
  const lasted = words.time.soFar((nowUs - startsAtUs) / 1000);
  return html`${words.time.for} ${timed(page, startsAtUs, lasted)}`;
}

function standing(page: Page, { alertname, startsAtUs }: Alert, lastEvent: Event | undefined): Html {
  return isMoment({ alertname })
    ? when(page, lastEvent?.occurredAtUs ?? startsAtUs)
    : lasting(page, startsAtUs);
}

/** What ended an alert, as a clause; empty if it is not known. */
export function endedBy({ words, zone }: Page, alert: Alert): Html | string {
  const { annotations, ending, alertname } = inReadersZone(zone, alert);
  const by = annotations.resolved_by ?? words.alert.ended(ending ?? '', alertname);
  return by && said(by, MESSAGE_LENGTH);
}

function ended(page: Page, { startsAtUs, endsAtUs }: Alert): Html {
  const { words } = page;
  const lasted = words.time.lasting((endsAtUs - startsAtUs) / 1000);
  return html`${words.alerts.lasted(lasted)}, ${words.alerts.resolvedAt} ${when(page, endsAtUs)}`;
}

function eventCount(page: Page, { eventsTotal }: Alert, lastEvent: Event | undefined): Html | string {
  const { words } = page;
  if (eventsTotal === 0) return '';
  const last =
    eventsTotal > 1 && lastEvent ? html`, ${words.alerts.last} ${when(page, lastEvent.occurredAtUs)}` : '';
  return html`${words.count.events(eventsTotal)}${last}`;
}
