/** Renders and reads the forms of the pages, and says what a person has to correct. */
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { NestwatchError } from '../../../errors.ts';
import type { Signature } from '../../../operator/act-on-alerts.ts';
import { plainText } from '../../../text/plain-text.ts';
import { signedBy } from '../../access/identify.ts';
import { QueryError, refuse } from '../../requests/query.ts';
import { MAX_AUTHOR_LENGTH, MAX_COMMENT_LENGTH } from '../../requests/silence-request.ts';
import type { Html, Page } from './page.ts';
import type { Words } from './words.ts';

export async function fieldsOf(c: Context): Promise<URLSearchParams> {
  return new URLSearchParams(await c.req.text());
}

/** The trimmed texts. The name is that of the authenticated person, if there is one. */
export function signatureOf(c: Context, fields: URLSearchParams): Signature {
  return { createdBy: authorOf(c, fields), comment: (fields.get('comment') ?? '').trim() };
}

const NAME_COOKIE = 'nestwatch_name';
const YEAR_SECONDS = 31_536_000;

/** The name of the authenticated person, or else the one that was typed, which the next forms begin with. */
export function authorOf(c: Context, fields: URLSearchParams): string {
  const typed = (fields.get('author') ?? '').trim();
  if (c.req.method !== 'POST' || !fields.has('author'))
    return signedBy(c.get('identity'), typed || (getCookie(c, NAME_COOKIE) ?? ''));
  const author = signedBy(c.get('identity'), typed);
  if (author === typed && typed !== '' && typed.length <= MAX_AUTHOR_LENGTH) {
    setCookie(c, NAME_COOKIE, typed, { path: '/', maxAge: YEAR_SECONDS, sameSite: 'Lax', httpOnly: true });
  }
  return author;
}

/** Throws `usage` with what a person has to correct. */
export function checkSignature({ mistakes }: Words, { createdBy, comment }: Signature): void {
  if (createdBy === '') throw refuse(mistakes.noName);
  if (createdBy.length > MAX_AUTHOR_LENGTH || comment.length > MAX_COMMENT_LENGTH) {
    throw refuse(mistakes.tooLong);
  }
}

/** It may repeat what was typed. */
const MAX_PROBLEM_LENGTH = 1_000;

/** What a person has to correct; empty if it worked. */
export async function problemOf({ mistakes }: Words, act: () => Promise<void>): Promise<string> {
  try {
    await act();
    return '';
  } catch (error) {
    if (error instanceof QueryError) return plainText(mistakes.query(error.mistake), MAX_PROBLEM_LENGTH);
    if (error instanceof NestwatchError && error.code === 'usage') {
      return plainText(error.message, MAX_PROBLEM_LENGTH);
    }
    throw error;
  }
}

/** The list of alerts as it was when something was chosen there; undefined if that was elsewhere. */
export function backTo(fields: URLSearchParams, done?: string): string | undefined {
  const back = fields.get('back');
  if (back === null) return undefined;
  const query = new URLSearchParams(back);
  if (done !== undefined) query.set('done', done);
  return `alerts?${query}`;
}

/** Some texts are sentences already. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

/** Beside the button that does what is asked. */
export function cancelLink({ signature }: Words, to: string | undefined): Html | string {
  return to === undefined ? '' : html` <a class="button" href="${to}">${signature.cancel}</a>`;
}

/** Who does it, for all forms that ask. */
export function nameField({ signature }: Words, author: string): Html {
  return html`<label for="author">${signature.name}</label>
<input id="author" name="author" value="${plainText(author, MAX_AUTHOR_LENGTH)}" required autocomplete="name" maxlength="${MAX_AUTHOR_LENGTH}">`;
}

export interface SignatureForm {
  /** Where the form is sent, including which alert it is about. */
  readonly action: string;
  readonly author: string;
  readonly comment: string;
  /** The label of the second field, besides the name. */
  readonly why: string;
  readonly button: string;
  /** Further fields that nobody sees. */
  readonly hidden?: readonly (readonly [name: string, value: string])[];
  /** Where a person goes who does not want this; none for readers who may see no other page. */
  readonly cancel: string | undefined;
}

export function signatureForm({ words }: Page, form: SignatureForm): Html {
  const { action, author, comment, why, button, hidden = [], cancel } = form;
  return html`<form method="post" action="${action}" class="sheet fields">${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${nameField(words, author)}
<label for="comment">${why} <span class="soft">${words.signature.optional}</span></label>
<input id="comment" name="comment" value="${plainText(comment, MAX_COMMENT_LENGTH)}" autocomplete="off" maxlength="${MAX_COMMENT_LENGTH}">
<div class="buttons"><button class="main">${button}</button>${cancelLink(words, cancel)}</div>
</form>`;
}
