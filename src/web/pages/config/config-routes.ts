/** Serves the pages of the configuration in force, without secrets, and of the recorded writes. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { stringify } from 'yaml';
import { effectiveOf } from '../../../config/effective.ts';
import { manyLines } from '../../../text/plain-text.ts';
import { listWrites } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { addListPage } from '../frame/list-page.ts';
import { pageOf } from '../frame/page.ts';
import { frame, heading } from '../frame/page-frame.ts';
import { renderWritesPage } from './writes-page.ts';

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
