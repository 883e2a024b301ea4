/** Renders what the confirmation pages of alerts share: the alert, and a form for who does it. */
import { html } from 'hono/html';
import type { Alert } from '../../../domain/alert/alert.ts';
import type { Event } from '../../../domain/alert/event.ts';
import { plainText } from '../../../text/plain-text.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../../requests/silence-request.ts';
import { alertMessage } from '../frame/items.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when, where } from '../frame/page-frame.ts';
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

interface SignatureForm {
  /** Where the form is sent, including which alert it is about. */
  readonly action: string;
  readonly author: string;
  readonly comment: string;
  /** The label of the second field, besides the name. */
  readonly why: string;
  readonly button: string;
}

export function signatureForm({ words }: Page, form: SignatureForm): Html {
  const { action, author, comment, why, button } = form;
  return html`<form method="post" action="${action}" class="sheet fields">
<label for="author">${words.signature.name}</label>
<input id="author" name="author" value="${plainText(author, MAX_AUTHOR_LENGTH)}" required autocomplete="name" maxlength="${MAX_AUTHOR_LENGTH}">
<label for="comment">${why} <span class="soft">${words.signature.optional}</span></label>
<input id="comment" name="comment" value="${plainText(comment, MAX_COMMENT_LENGTH)}" autocomplete="off" maxlength="${MAX_COMMENT_LENGTH}">
<div class="buttons"><button class="main">${button}</button></div>
</form>`;
}
