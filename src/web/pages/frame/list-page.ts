/** Renders a page that lists something: filters, list, and links to further pages. */
import { html } from 'hono/html';
import { type FilterField, filterForm } from './filter-form.ts';
import type { Page } from './page.ts';
import { frame, type Html, heading, type Section } from './page-frame.ts';
import { pager } from './pager.ts';

interface ListPage {
  readonly section: Section;
  readonly title: string;
  readonly lead: string;
  /** The address of the same list as JSON. */
  readonly json: string;
  /** The parameters of the address. */
  readonly given: URLSearchParams;
  readonly fields: readonly FilterField[];
  /** What is wrong with the filters; empty for nothing. If it is set, no list is shown. */
  readonly problem: string;
  /** The list, or a sentence that it is empty. */
  readonly list: Html;
  readonly next: string | undefined;
  /** Comes below the list. */
  readonly below?: Html | string;
}

export function listPage(page: Page, given: ListPage): Html {
  const { section, title, lead, json, problem, fields, list, next, below } = given;
  return frame({
    title: `nestwatch: ${title}`,
    tone: 'quiet',
    page,
    section,
    isLive: !problem,
    body: html`${heading(page, { title, lead, json, problem })}
<main id="main">
${filterForm(page, fields, given.given)}
${problem ? '' : list}
${pager(page, given.given, next)}
${below ?? ''}
</main>`,
  });
}
