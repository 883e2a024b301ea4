/** Serves the pages of the configuration in force, without secrets, and of the recorded writes. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { stringify } from 'yaml';
import { effectiveOf } from '../../../config/effective.ts';
import type { WriteRecord } from '../../../report.ts';
import { manyLines, plainText } from '../../../text/plain-text.ts';
import { listWrites } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { addListPage, type Columns, dataTable, type ListView, listPage } from '../frame/list-page.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { marked, titledPage, when } from '../frame/page-frame.ts';
import { MESSAGE_LENGTH, NAME_LENGTH } from '../frame/page-words.ts';

/** Beyond this, `nestwatch config show` shows the rest. */
const TEXT_LENGTH = 200_000;

const LISTED = 100;

export function addConfig(pages: Hono, options: PagesOptions): void {
  const { alerting, clock } = options;
  // Rendering thousands of receivers takes long, and the result is the same while a configuration is in force.
  let text: string | undefined;

  addListPage(pages, options, '/writes', { limit: LISTED, read: listWrites, render: renderWritesPage });

  pages.get('/config', (c) => {
    const page = pageOf(c, clock);
    const { words } = page;
    text ??= manyLines(stringify(effectiveOf(alerting) ?? {}, { lineWidth: 0 }), TEXT_LENGTH);
    return c.html(
      titledPage(page, {
        ...{ section: 'config', title: words.frame.config, lead: words.config.lead },
        main: html`<p><a class="button" href="${page.root}writes">${words.writes.title}</a></p>
<div class="sheet after"><pre>${text}</pre></div>`,
      }),
    );
  });
}

function renderWritesPage(page: Page, view: ListView<WriteRecord>): Html {
  const { words } = page;
  const said = words.writes;
  return listPage(page, view, {
    ...{ section: 'config', title: said.title, lead: said.lead, json: 'api/v1/writes' },
    fields: [
      { name: 'who', label: said.who },
      { name: 'text', label: words.list.text, hint: said.textHint },
      ...(['since', 'until'] as const),
    ],
    list: (writes) => writeTable(page, writes),
    none: words.list.nothing,
  });
}

function writeTable(page: Page, writes: readonly WriteRecord[]): Html {
  const { words } = page;
  const said = words.writes;
  const columns: Columns<WriteRecord> = {
    [said.at]: ({ atUs }) => when(page, atUs),
    [said.who]: ({ who, by, from }) =>
      html`${who ? html`<bdi>${plainText(who, NAME_LENGTH)}</bdi>` : words.frame.somebody} <span class="small soft">${marked(said.by[by])}${from ? `, ${plainText(from, NAME_LENGTH)}` : ''}</span>`,
    [said.action]: ({ action, asked }) =>
      html`<code>${plainText(action, MESSAGE_LENGTH)}</code>${asked ? html`<br><bdi class="small soft">${plainText(asked, MESSAGE_LENGTH)}</bdi>` : ''}`,
    [said.outcome]: ({ status }) =>
      status < 400 ? said.done : html`<span class="pill bad">${said.refused(status)}</span>`,
  };
  return dataTable(said.title, columns, writes);
}
