/** Serves and renders pages that list something: filters, a table or list, and links to further pages. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { Listed, ReadList } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { type FilteredBy, filterFields, filterForm, searchLine } from './filter-form.ts';
import { problemOf } from './form.ts';
import { type Html, type Page, pageOf } from './page.ts';
import { type Section, titledPage } from './page-frame.ts';

/** What the address of a list asks for, and what was found. */
export interface ListView<Item> extends Listed<Item> {
  /** The parameters of the address. */
  readonly given: URLSearchParams;
  /** The watched regions. */
  readonly regions: readonly string[];
  /** What is wrong with the filters; empty for nothing. If it is set, no list is shown. */
  readonly problem: string;
  /** The id of the silence that was made by what was chosen on it. */
  readonly done?: string;
}

/** `limit`: how many are listed if the address does not say. */
export function addListPage<Item>(
  pages: Hono,
  options: Pick<PagesOptions, 'store' | 'regions' | 'clock'>,
  path: string,
  { limit, read, render }: ServedList<Item>,
): void {
  pages.get(path, async (c) => {
    const page = pageOf(c, options.clock);
    const given = new URL(c.req.url).searchParams;
    const done = given.get('done') ?? '';
    given.delete('done');
    const context = { regions: options.regions(), nowUs: page.nowUs, limit };
    let found: Listed<Item> = { items: [] };
    const problem = await problemOf(c.get('words'), async () => {
      found = await options.store.transaction(read(given, context));
    });
    const view = { given, regions: context.regions, ...found, problem, ...(done && { done }) };
    return c.html(await render(page, view), problem ? 400 : 200);
  });
}

interface ServedList<Item> {
  readonly limit: number;
  readonly read: ReadList<Item>;
  readonly render: (page: Page, view: ListView<Item>) => Html | Promise<Html>;
}

interface ListPage<Item> {
  readonly section: Section;
  readonly title: string;
  readonly lead: string;
  /** The address of the same list as JSON, without its parameters. */
  readonly json: string;
  /** Parameters of `json` that the page takes for granted. */
  readonly usual?: Readonly<Record<string, string>>;
  readonly fields: FilteredBy;
  readonly presets?: readonly Preset[];
  readonly list: (items: readonly Item[]) => Html;
  /** Said in place of an empty list, unless `list` does. */
  readonly none?: string;
  /** Comes first. */
  readonly above?: Html | string;
  /** Comes below the list. */
  readonly below?: Html | string;
}

/** A link to the list with this query. */
export interface Preset {
  readonly text: string;
  readonly query: Readonly<Record<string, string>>;
}

export function listPage<Item>(page: Page, view: ListView<Item>, shown: ListPage<Item>): Html {
  const { given, items, next, problem } = view;
  const { section, title, lead, json, usual, presets = [], list, none } = shown;
  const fields = filterFields(page, view, shown.fields);
  const { above = '', below = '' } = shown;
  const query = new URLSearchParams({ ...usual, ...Object.fromEntries(given) });
  query.delete('cursor');
  if (query.get('state') === 'all') query.delete('state');
  const isEmpty = items.length === 0 && none !== undefined;
  const listed = isEmpty ? html`<p class="sheet empty">${none}</p>` : list(items);
  return titledPage(page, {
    ...{ section, title, lead, json: `${json}?${query}`, problem, isLive: !problem },
    main: html`${above}
${presetLinks(page, presets, given)}
${searchLine(page, fields, given)}
${filterForm(page, fields, given)}
${problem ? '' : listed}
${pager(page, given, next)}
${below}`,
  });
}

function presetLinks({ words }: Page, presets: readonly Preset[], given: URLSearchParams): Html | string {
  if (presets.length === 0) return '';
  const here = new URLSearchParams([...given].filter(([, value]) => value !== '')).toString();
  const links = presets.map(({ text, query }) => {
    const to = new URLSearchParams(query).toString();
    return html`<a class="button" href="?${to}"${to === here ? html` aria-current="true"` : ''}>${text}</a>`;
  });
  return html`<nav class="actions presets" aria-label="${words.list.presets}">${links}</nav>`;
}

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

/** What stands in a cell. A number, which may be marked up, is aligned right. */
type Cell = Html | string | number | { readonly number: Html | string };

/** The title of each column, and its cell for a row. The first one names the row. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** `caption` is only for screen readers. */
export function dataTable<Row>(caption: string, columns: Columns<Row>, rows: readonly Row[]): Html {
  const lines = rows.map((row) =>
    Object.entries(columns).map(([title, cellOf]) => {
      const cell = cellOf(row);
      const isMarked = typeof cell === 'object' && 'number' in cell;
      const isNumber = isMarked || typeof cell === 'number';
      return { title, shown: isMarked ? cell.number : cell, align: isNumber ? html` class="number"` : '' };
    }),
  );
  // The roles preserve the table for screen readers where the style turns cells into blocks.
  return html`<div class="sheet"><table class="data" role="table">
<caption class="heard">${caption}</caption>
<thead role="rowgroup"><tr role="row">${Object.keys(columns).map((title, index) => html`<th scope="col" role="columnheader"${lines[0]?.[index]?.align ?? ''}>${title}</th>`)}</tr></thead>
<tbody role="rowgroup">${lines.map(
    ([first, ...others]) =>
      html`<tr role="row"><th scope="row" role="rowheader">${first!.shown}</th>${others.map(({ title, shown, align }) => html`<td role="cell" data-title="${title}"${align}>${shown}</td>`)}</tr>`,
  )}</tbody>
</table></div>`;
}
