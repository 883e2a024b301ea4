import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import { plainText } from '../../../text/plain-text.ts';
import type { Html } from './page-frame.ts';
import { MESSAGE_LENGTH } from './page-words.ts';

/** The service's last message, or else nestwatch's own; undefined if there is none. */
export function alertMessage({ annotations }: Pick<Alert, 'annotations'>, said = ''): Html | undefined {
  const message = plainText(said || annotations.description || annotations.summary || '', MESSAGE_LENGTH);
  return message ? html`<bdi>${message}</bdi>` : undefined;
}
