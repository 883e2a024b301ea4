/** The configuration that is in force, without its secrets. */
import type { Hono } from 'hono';
import { html } from 'hono/html';
import { stringify } from 'yaml';
import { effectiveOf } from '../../../config/effective.ts';
import { manyLines } from '../../../text/plain-text.ts';
import { pageOf } from '../frame/page.ts';
import { frame, heading } from '../frame/page-frame.ts';
import type { PagesOptions } from '../frame/pages-options.ts';

/** Beyond it, `nestwatch config show` has the whole. */
const TEXT_LENGTH = 200_000;

export function addConfig(pages: Hono, { alerting, clock }: PagesOptions): void {
  pages.get('/config', (c) => {
    const page = pageOf(c, clock);
    const { words } = page;
    const text = stringify(effectiveOf(alerting) ?? {}, { lineWidth: 0 });
    return c.html(
      frame({
        title: `nestwatch: ${words.frame.config}`,
        tone: 'quiet',
        page,
        section: 'config',
        body: html`${heading(page, { title: words.frame.config, lead: words.config.lead })}
<main id="main"><div class="sheet after"><pre>${manyLines(text, TEXT_LENGTH)}</pre></div></main>`,
      }),
    );
  });
}
