/**
 * Renders the page that asks for confirmation before an alert is acknowledged. Links in messages and the page's
 * button lead here.
 */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import type { Silence } from '../../../domain/muting/silence.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html, when } from '../frame/page-frame.ts';
import { silenceWords } from '../frame/page-words.ts';
import { alertSheet, signatureForm } from './alert-sheet.ts';

interface AcknowledgePage {
  /** Undefined if it is no longer known. */
  readonly alert: Alert | undefined;
  /** Whether the requested episode still lasts. */
  readonly isOpen: boolean;
  readonly lastEvent: Event | undefined;
  readonly acknowledgement: Silence | undefined;
  /** Where the form is sent, including which alert it is about. */
  readonly action: string;
  /** Whether the reader may see the other pages. */
  readonly hasHome: boolean;
  readonly author: string;
  readonly comment: string;
  readonly problem: string;
}

export function renderAcknowledgePage(at: Page, page: AcknowledgePage): Html {
  const { alert, isOpen, hasHome, problem } = page;
  const { acknowledge } = at.words;
  return frame({
    title: `nestwatch: ${acknowledge.title}`,
    tone: 'quiet',
    page: at,
    hasNavigation: hasHome,
    section: 'alerts',
    body: html`<header class="narrow">
${hasHome ? '' : html`<p class="brand"><b>nestwatch</b></p>`}
<h1>${headlineOf(at, page)}</h1>
<p class="lead">${leadOf(at, page)}</p>
${problem ? html`<p class="notice" role="alert">${problem}</p>` : ''}
</header>
<main id="main" class="narrow">
${alert ? alertSheet(at, alert, page) : ''}
${isOpen && !page.acknowledgement ? signatureForm(at, { ...page, why: acknowledge.why, button: acknowledge.button }) : ''}
</main>`,
  });
}

function headlineOf({ words }: Page, { alert, isOpen, acknowledgement }: AcknowledgePage): string {
  const { acknowledge } = words;
  if (!alert) return acknowledge.over;
  if (!isOpen) return acknowledge.nothing;
  return acknowledgement ? acknowledge.done : acknowledge.question;
}

function leadOf(at: Page, { alert, isOpen, acknowledgement }: AcknowledgePage): Html {
  const { words } = at;
  if (!alert || !isOpen) return html`${words.acknowledge.wasResolved}`;
  if (acknowledgement) {
    return html`<bdi>${silenceWords(words, acknowledgement)}</bdi>, ${when(at, acknowledgement.startsAtUs)}. ${words.acknowledge.endIsSent}`;
  }
  return html`${words.acknowledge.lead}`;
}
