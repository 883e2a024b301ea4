/** Renders the page that asks for confirmation before an alert is resolved by hand. The page's button leads here. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import { isEndedByProbe, isResolvable } from '../../../domain/evaluate/resolve-by-hand.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from '../frame/page.ts';
import { frame, type Html } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH } from '../frame/page-words.ts';
import { type AlertSheet, alertSheet, signatureForm } from './alert-sheet.ts';

interface ResolvePage extends AlertSheet {
  /** Undefined if it is no longer known. */
  readonly alert: Alert | undefined;
  readonly action: string;
  readonly author: string;
  readonly comment: string;
  /** What has to be corrected first; empty for nothing. */
  readonly problem: string;
}

export function renderResolvePage(at: Page, page: ResolvePage): Html {
  const { alert, isOpen, problem } = page;
  const { resolve } = at.words;
  const isAsked = isOpen && isProbed(page);
  return frame({
    title: `nestwatch: ${resolve.title}`,
    tone: 'quiet',
    page: at,
    section: 'alerts',
    body: html`<header class="narrow">
<h1>${isAsked ? resolve.askAgain : isOpen ? resolve.question : resolve.over}</h1>
<p class="lead">${leadOf(at, page)}</p>
${problem ? html`<p class="notice" role="alert">${problem}</p>` : ''}
</header>
<main id="main" class="narrow">
${alert ? alertSheet(at, alert, page) : ''}
${isOpen ? signatureForm(at, { ...page, why: resolve.why, button: isAsked ? resolve.askButton : resolve.button }) : ''}
</main>`,
  });
}

function isProbed({ alert }: ResolvePage): boolean {
  return alert !== undefined && isEndedByProbe(alert) && !isResolvable(alert);
}

function leadOf(at: Page, page: ResolvePage): Html {
  const { resolve } = at.words;
  const { alert, isOpen } = page;
  if (isOpen) return html`${isProbed(page) ? resolve.askLead : resolve.lead}`;
  const by = plainText(alert?.annotations.resolved_by ?? '', MESSAGE_LENGTH);
  return by ? html`${resolve.ended} ${html`<bdi>${by}</bdi>`}.` : html`${resolve.resolved}`;
}
