/** Serves the pages of the configuration in force, without secrets, and of the recorded writes. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { stringify } from 'yaml';
import { effectiveOf } from '../../../config/effective.ts';
import type { WriteStore } from '../../../store/write-store.ts';
import { manyLines } from '../../../text/plain-text.ts';
import { readWriteQuery } from '../../requests/read-writes.ts';
import { problemOf } from '../frame/form.ts';
import { pageOf } from '../frame/page.ts';
import { frame, heading } from '../frame/page-frame.ts';
import type { PagesOptions } from '../frame/pages-options.ts';
import { renderWritesPage } from './writes-page.ts';

/** Beyond this, `nestwatch config show` shows the rest. */
const TEXT_LENGTH = 200_000;

export function addConfig(pages: Hono, { alerting, store, clock }: PagesOptions): void {
  // Rendering thousands of receivers takes long, and the result is the same while a configuration is in force.
  let text: string | undefined;

  pages.get('/writes', async (c) => {
    const page = pageOf(c, clock);
    const given = new URL(c.req.url).searchParams;
    let found: Awaited<ReturnType<WriteStore['page']>> = { writes: [] };
    const problem = await problemOf(c.get('words'), async () => {
      const query = readWriteQuery(given, page.nowUs);
      found = await store.transaction((tx) => tx.writes.page(query));
    });
    const view = { given, writes: found.writes, next: found.next, problem };
    return c.html(renderWritesPage(page, view), problem ? 400 : 200);
  });

  pages.get('/config', (c) => {
    const page = pageOf(c, clock);
    const { words } = page;
    text ??= manyLines(stringify(effectiveOf(alerting) ?? {}, { lineWidth: 0 }), TEXT_LENGTH);
    return c.html(
      frame({
        title: `nestwatch: ${words.frame.config}`,
        tone: 'quiet',
        page,
        section: 'config',
        body: html`${heading(page, { title: words.frame.config, lead: words.config.lead })}
<main id="main"><p><a class="button" href="${page.root}writes">${words.writes.title}</a></p>
<div class="sheet after"><pre>${text}</pre></div></main>`,
      }),
    );
  });
}
