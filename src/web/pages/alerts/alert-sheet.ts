/** Renders what the confirmation pages of alerts share: the alert, and a form for who does it. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { alertMessage } from '../frame/items.ts';
import type { Html, Page } from '../frame/page.ts';
import { when, where } from '../frame/page-frame.ts';
import { alertPlace, alertTitle, severityTone, severityWord } from '../frame/page-words.ts';

export interface AlertSheet {
  /** Whether the requested episode still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
}

export function alertSheet(
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
