/** What alerts say, and in whose words: those of the service, or those of nestwatch, which are English. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import { kindOf } from '../../../domain/kinds/kinds.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Page } from './page.ts';
import type { Html } from './page-frame.ts';
import { MESSAGE_LENGTH } from './page-words.ts';

/** What the service said last, or else what nestwatch says of the alert; undefined for nothing. */
export function alertMessage(page: Page, alert: Described, said = ''): Html | undefined {
  const { summary = '', description = '' } = alert.annotations;
  const fromService = plainText(said || (hasOwnDescription(alert) ? '' : description), MESSAGE_LENGTH);
  if (fromService) return html`<bdi>${fromService}</bdi>`;
  const own = plainText(description || summary, MESSAGE_LENGTH);
  return own ? english(page, own) : undefined;
}

type Described = Pick<Alert, 'labels' | 'annotations'>;

/** Whether its description is a sentence of nestwatch's own, where that of other kinds is what the service said. */
export function hasOwnDescription({ labels }: Described): boolean {
  return kindOf(labels.alertname ?? '')?.words.hasOwnDescription === true;
}

/**
 * A sentence that nestwatch itself wrote into an alert: in English, as messages send it, whatever the language of the
 * page. Who hears the page, or has it translated, must know (WCAG 2.2, 3.1.2).
 */
export function english({ words }: Page, sentence: string): Html {
  return words.language === 'en' ? html`<bdi>${sentence}</bdi>` : html`<bdi lang="en">${sentence}</bdi>`;
}
