import { html } from 'hono/html';
import type { Page } from './page.ts';
import type { Html } from './page-frame.ts';

/**
 * Links to the first and the next page of a list, with the same filters. `given` are the parameters of this page;
 * `next` is the cursor of the next one.
 */
export function pager({ words }: Page, given: URLSearchParams, next: string | undefined): Html {
  const isFirst = !given.has('cursor');
  if (isFirst && next === undefined) return html``;
  return html`<nav class="pager" aria-label="${words.list.pages}">
${isFirst ? '' : html`<a class="button" href="${withCursor(given, undefined)}">${words.list.first}</a>`}
${next === undefined ? '' : html`<a class="button" rel="next" href="${withCursor(given, next)}">${words.list.next}</a>`}
</nav>`;
}

function withCursor(given: URLSearchParams, cursor: string | undefined): string {
  const query = new URLSearchParams(given);
  query.delete('cursor');
  if (cursor !== undefined) query.set('cursor', cursor);
  return `?${query}`;
}
