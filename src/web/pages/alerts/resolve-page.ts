/** The page behind the page's own button: it asks before an alert is ended by hand. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import { isEndedByProbe, isResolvable } from '../../../domain/evaluate/resolve-by-hand.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH } from '../frame/page-words.ts';
import { type AlertSheet, alertSheet, signatureForm } from './alert-sheet.ts';

interface ResolvePage extends AlertSheet {
  /** Undefined when it is no longer known. */
  readonly alert: Alert | undefined;
  readonly action: string;
  readonly author: string;
  readonly comment: string;
  /** What has to be changed first; empty for nothing. */
  readonly problem: string;
}

export function renderResolvePage(at: Page, page: ResolvePage): Html {
  const { alert, isOpen, problem } = page;
  const isAsked = isOpen && isProbed(page);
  return frame({
    title: 'nestwatch: resolve an alert',
    tone: 'quiet',
    page: at,
    section: 'alerts',
    body: html`<header class="narrow">
<h1>${isAsked ? 'Ask the region again?' : isOpen ? 'Resolve this alert?' : 'This alert is over'}</h1>
<p class="lead">${leadOf(page)}</p>
${problem ? html`<p class="notice" role="alert">${problem}</p>` : ''}
</header>
<main id="main" class="narrow">
${alert ? alertSheet(alert, page) : ''}
${isOpen ? signatureForm({ ...page, why: 'How it came to be over', button: isAsked ? 'Ask again' : 'Resolve' }) : ''}
</main>`,
  });
}

function isProbed({ alert }: ResolvePage): boolean {
  return alert !== undefined && isEndedByProbe(alert) && !isResolvable(alert);
}

function leadOf(page: ResolvePage): Html {
  const { alert, isOpen } = page;
  if (isOpen && isProbed(page)) {
    return html`The region is asked at once instead of with the next probe. The alert ends once it answers as it should.`;
  }
  if (isOpen) {
    return html`Say so when it is over, and the service does not tell: its end is told at once, with your name. The next time it fires anew.`;
  }
  const by = plainText(alert?.annotations.resolved_by ?? '', MESSAGE_LENGTH);
  return by ? html`It ended: <bdi>${by}</bdi>.` : html`It was resolved.`;
}
