/** Renders who requested which change, newest first. */
import { html } from 'hono/html';
import type { WriteRecord } from '../../../report.ts';
import { plainText } from '../../../text/plain-text.ts';
import { dataTable } from '../frame/data-table.ts';
import { filterField } from '../frame/filter-form.ts';
import { type ListView, listPage } from '../frame/list-page.ts';
import type { Page } from '../frame/page.ts';
import { type Html, when } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH, NAME_LENGTH } from '../frame/page-words.ts';

export function renderWritesPage(page: Page, view: ListView<WriteRecord>): Html {
  const { words } = page;
  const said = words.writes;
  return listPage(page, view, {
    ...{ section: 'config', title: said.title, lead: said.lead, json: 'api/v1/writes' },
    fields: [
      { name: 'who', label: said.who },
      { ...filterField(page, 'text'), hint: said.textHint },
      ...(['since', 'until'] as const).map((name) => filterField(page, name)),
    ],
    list: (writes) => writeTable(page, writes),
    none: words.list.nothing,
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
