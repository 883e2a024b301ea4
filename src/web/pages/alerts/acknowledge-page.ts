/**
 * Renders the page that asks for confirmation before an alert is acknowledged. Links in messages and the page's
 * button lead here.
 */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { isEndedByProbe, isResolvable } from '../../../domain/evaluate/decide.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import { plainText } from '../../../text/plain-text.ts';
import { signatureForm } from '../frame/form.ts';
import { alertMessage } from '../frame/items.ts';
import type { Html, Page } from '../frame/page.ts';
import { titledPage, when, where } from '../frame/page-frame.ts';
import {
  alertPlace,
  alertTitle,
  MESSAGE_LENGTH,
  severityTone,
  severityWord,
  silenceWords,
} from '../frame/page-words.ts';

interface AcknowledgePage {
  /** Undefined if it is no longer known. */
  readonly alert: Alert | undefined;
  /** Whether the requested episode still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
  readonly acknowledgement: Silence | undefined;
  /** How many alerts were acknowledged together with it. */
  readonly together: number;
  /** Where the form is sent, including which alert it is about. */
  readonly action: string;
  readonly cancel: string;
  /** Whether the reader may see the other pages. */
  readonly hasHome: boolean;
  readonly author: string;
  readonly comment: string;
  readonly problem: string;
}

export function renderAcknowledgePage(at: Page, page: AcknowledgePage): Html {
  const { alert, isOpen, hasHome, problem } = page;
  const { acknowledge } = at.words;
  return titledPage(at, {
    ...{ section: 'alerts', tab: acknowledge.title, hasNavigation: hasHome, problem, isNarrow: true },
    ...(!hasHome && { footing: html`nestwatch · ` }),
    title: headlineOf(at, page),
    lead: leadOf(at, page),
    main: html`${alert ? alertSheet(at, alert, page) : ''}
${isOpen && hasHome && page.acknowledgement ? undoForm(at, page.acknowledgement, page.together) : ''}
${isOpen && !page.acknowledgement ? signatureForm(at, { ...page, cancel: hasHome ? page.cancel : undefined, why: acknowledge.why, button: acknowledge.button }) : ''}`,
  });
}

interface SeveralPage extends Pick<AcknowledgePage, 'author' | 'cancel' | 'comment' | 'problem'> {
  /** Those that fire, of what was chosen. */
  readonly alerts: readonly Alert[];
  /** The query of the list in which they were chosen. */
  readonly back: string | null;
}

export function renderAcknowledgeSeveral(at: Page, page: SeveralPage): Html {
  const { alerts, problem } = page;
  const { acknowledge } = at.words;
  const hidden = [
    ...alerts.map(({ id }): [string, string] => ['alert', id]),
    ...(page.back === null ? [] : [['back', page.back] as const]),
  ];
  const title = alerts.length === 0 ? acknowledge.nothing : acknowledge.questionOf(alerts.length);
  const { lead, leadOfMany, areOver } = acknowledge;
  return titledPage(at, {
    ...{ section: 'alerts', tab: acknowledge.title, title, problem, isNarrow: true },
    lead: alerts.length === 0 ? areOver : alerts.length === 1 ? lead : leadOfMany,
    main: html`${alerts.map((alert) => alertSheet(at, alert, { isOpen: true, lastEvent: undefined }))}
${alerts.length === 0 ? '' : signatureForm(at, { ...page, action: `${at.root}acknowledge`, hidden, why: acknowledge.why, button: acknowledge.button })}`,
  });
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

function headlineOf({ words }: Page, { alert, isOpen, together, hasHome }: AcknowledgePage): string {
  const { acknowledge } = words;
  // A link of a message leads to what was known.
  if (!alert && hasHome) return words.alert.unknown;
  if (!alert) return acknowledge.over;
  if (!isOpen) return acknowledge.nothing;
  return together > 0 ? acknowledge.done(together) : acknowledge.question;
}

function leadOf(at: Page, { alert, isOpen, acknowledgement, hasHome }: AcknowledgePage): Html {
  const { words } = at;
  if (!alert && hasHome) return html`${words.alert.unknownLead}`;
  if (!alert || !isOpen) return html`${words.acknowledge.wasResolved}`;
  if (acknowledgement) {
    return html`<bdi>${silenceWords(words, acknowledgement)}</bdi>, ${when(at, acknowledgement.startsAtUs)}. ${words.acknowledge.endIsSent}`;
  }
  return html`${words.acknowledge.lead}`;
}

interface ResolvePage extends AlertSheet {
  /** Undefined if it is no longer known. */
  readonly alert: Alert | undefined;
  readonly action: string;
  readonly cancel: string;
  readonly author: string;
  readonly comment: string;
  /** What has to be corrected first; empty for nothing. */
  readonly problem: string;
}

export function renderResolvePage(at: Page, page: ResolvePage): Html {
  const { alert, isOpen, problem } = page;
  const { resolve, alert: words } = at.words;
  const isAsked = isOpen && isProbed(page);
  return titledPage(at, {
    ...{ section: 'alerts', tab: resolve.title, problem, isNarrow: true },
    title: !alert ? words.unknown : isAsked ? resolve.askAgain : isOpen ? resolve.question : resolve.over,
    lead: alert ? resolveLeadOf(at, page) : words.unknownLead,
    main: html`${alert ? alertSheet(at, alert, page) : ''}
${isOpen ? signatureForm(at, { ...page, why: resolve.why, button: isAsked ? resolve.askButton : resolve.button }) : ''}`,
  });
}

function isProbed({ alert }: ResolvePage): boolean {
  return alert !== undefined && isEndedByProbe(alert) && !isResolvable(alert);
}

function resolveLeadOf(at: Page, page: ResolvePage): Html {
  const { resolve } = at.words;
  const { alert, isOpen } = page;
  if (isOpen) return html`${isProbed(page) ? resolve.askLead : resolve.lead}`;
  const by = plainText(alert?.annotations.resolved_by ?? '', MESSAGE_LENGTH);
  return by ? html`${resolve.ended} ${html`<bdi>${by}</bdi>`}.` : html`${resolve.resolved}`;
}

interface AlertSheet {
  /** Whether the requested episode still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
}

function alertSheet(
  page: Page,
  { labels, annotations, startsAtUs }: Alert,
  { lastEvent, isOpen }: AlertSheet,
): Html {
  const { words } = page;
  const severity = labels.severity ?? '';
  const tone = isOpen ? severityTone(severity) : 'quiet';
  return html`<ul class="sheet"><li class="alert ${tone}">
<div class="row stack"><div><h2 class="inline">${alertTitle(words, labels.alertname ?? '', annotations)}</h2> <span class="pill ${tone}">${isOpen ? severityWord(words, severity) : words.alerts.resolved}</span></div>
<span class="small soft">${words.alert.began} ${when(page, startsAtUs)}</span></div>
<div>${where(page, labels.region ?? '', alertPlace(labels))}</div>
${alertMessage({ labels, annotations }, lastEvent?.message)}
</li></ul>`;
}
