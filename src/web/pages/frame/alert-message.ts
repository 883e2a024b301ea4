/** Renders the messages of alerts, marked by whether the service or nestwatch wrote them; the latter are in English. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from './page.ts';
import type { Html } from './page-frame.ts';
import { MESSAGE_LENGTH } from './page-words.ts';

/** The service's last message, or else nestwatch's own; undefined if there is none. */
export function alertMessage(page: Page, alert: Described, said = ''): Html | undefined {
  const { summary = '', description = '' } = alert.annotations;
  const fromService = plainText(said || (hasOwnDescription(alert) ? '' : description), MESSAGE_LENGTH);
  if (fromService) return html`<bdi>${fromService}</bdi>`;
  const own = plainText(description || summary, MESSAGE_LENGTH);
  return own ? english(page, own) : undefined;
}

type Described = Pick<Alert, 'labels' | 'annotations'>;

/** Whether the description is nestwatch's own sentence. In alerts of other kinds it is the service's message. */
export function hasOwnDescription({ labels }: Described): boolean {
  return kindOf(labels.alertname ?? '')?.words.hasOwnDescription === true;
}

/**
 * A sentence that nestwatch wrote into an alert. It is in English, as in messages, whatever the language of the page.
 * Screen readers and translators must know this (WCAG 2.2, 3.1.2).
 */
export function english({ words }: Page, sentence: string): Html {
  return words.language === 'en' ? html`<bdi>${sentence}</bdi>` : html`<bdi lang="en">${sentence}</bdi>`;
}
