/** The page behind the links in messages, and the page's own button: it asks before an alert is acknowledged. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html, when } from '../frame/page-frame.ts';
import { silenceWords } from '../frame/page-words.ts';
import { alertSheet, signatureForm } from './alert-sheet.ts';

interface AcknowledgePage {
  /** Undefined when it is no longer known. */
  readonly alert: Alert | undefined;
  /** True when the episode that was meant still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
  readonly acknowledgement: Silence | undefined;
  /** Where the form is sent, with which alert it means. */
  readonly action: string;
  /** Whether the asker may see the other pages. */
  readonly hasHome: boolean;
  readonly author: string;
  readonly comment: string;
  readonly problem: string;
  readonly nowUs: number;
}

export function renderAcknowledgePage(at: Page, page: AcknowledgePage): Html {
  const { alert, isOpen, hasHome, problem } = page;
  return frame({
    title: 'nestwatch: acknowledge an alert',
    tone: 'quiet',
    ...(hasHome && { page: at, section: 'alerts' }),
    body: html`<header class="narrow">
${hasHome ? '' : html`<p class="brand"><b>nestwatch</b></p>`}
<h1>${headlineOf(page)}</h1>
<p class="lead">${leadOf(page)}</p>
${problem ? html`<p class="notice" role="alert">${problem}</p>` : ''}
</header>
<main id="main" class="narrow">
${alert ? alertSheet(alert, page) : ''}
${isOpen && !page.acknowledgement ? signatureForm({ ...page, why: 'What you are doing about it', button: 'Acknowledge' }) : ''}
</main>`,
  });
}

function headlineOf({ alert, isOpen, acknowledgement }: AcknowledgePage): string {
  if (!alert) return 'This alert is over';
  if (!isOpen) return 'There is nothing to acknowledge any more';
  return acknowledgement ? 'Acknowledged' : 'Acknowledge this alert?';
}

function leadOf({ alert, isOpen, acknowledgement, nowUs }: AcknowledgePage): Html {
  if (!alert || !isOpen) return html`It was resolved since the message was sent.`;
  if (acknowledgement) {
    return html`<bdi>${silenceWords(acknowledgement)}</bdi>, ${when(acknowledgement.startsAtUs, nowUs)}. Its end will be told.`;
  }
  return html`Nobody is reminded of it or told of new events in it until it is resolved. Its end is told, and so is the next time.`;
}
