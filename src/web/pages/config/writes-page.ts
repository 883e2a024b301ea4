/** Renders who requested which change, newest first. */
import { html } from 'hono/html';
import type { WriteRecord } from '../../../report.ts';
import { plainText } from '../../../text/plain-text.ts';
import { dataTable } from '../frame/data-table.ts';
import { filterField } from '../frame/filter-form.ts';
import { listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH, NAME_LENGTH } from '../frame/page-words.ts';

interface WritesView {
  readonly given: URLSearchParams;
  readonly writes: readonly WriteRecord[];
  readonly next: string | undefined;
  readonly problem: string;
}

export function renderWritesPage(page: Page, { given, writes, next, problem }: WritesView): Html {
  const { words } = page;
  const said = words.writes;
  const query = new URLSearchParams(given);
  query.delete('cursor');
  return listPage(page, {
    ...{ section: 'config', title: said.title, lead: said.lead },
    json: `api/v1/writes?${query}`,
    ...{ given, problem, next },
    fields: [
      { name: 'who', label: said.who },
      ...(['text', 'since', 'until'] as const).map((name) => ({
        ...filterField(page, name),
        ...(name === 'text' && { hint: said.textHint }),
      })),
    ],
    list:
      writes.length > 0 ? writeTable(page, writes) : html`<p class="sheet empty">${words.list.nothing}</p>`,
  });
}

function writeTable(page: Page, writes: readonly WriteRecord[]): Html {
  const { words } = page;
  const said = words.writes;
  return dataTable(
    said.title,
    [
      { title: said.at, cell: ({ atUs }) => when(page, atUs) },
      {
        title: said.who,
        cell: ({ who, by, from }) =>
          html`${who ? html`<bdi>${plainText(who, NAME_LENGTH)}</bdi>` : words.frame.somebody} <span class="small soft">${said.by[by]}${from ? `, ${plainText(from, NAME_LENGTH)}` : ''}</span>`,
      },
      {
        title: said.action,
        cell: ({ action, asked }) =>
          html`<code>${plainText(action, MESSAGE_LENGTH)}</code>${asked ? html`<br><bdi class="small soft">${plainText(asked, MESSAGE_LENGTH)}</bdi>` : ''}`,
      },
      {
        title: said.outcome,
        cell: ({ status }) =>
          status < 400 ? said.done : html`<span class="pill bad">${said.refused(status)}</span>`,
      },
    ],
    writes,
  );
}
