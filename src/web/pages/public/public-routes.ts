/**
 * Serves the only pages that everybody may see even if `web.auth` is set, and the badge that any page may show.
 * Nothing else is under `/public/`, and nothing here writes.
 */
import { type Context, Hono } from 'hono';
import type { PublicStatusConfig } from '../../../config/sections/web-section.ts';
import type { HealthAnswer } from '../../../health/health.ts';
import type { Store } from '../../../store/store.ts';
import type { Clock } from '../../../time/clock.ts';
import type { StatusView } from '../../status-view.ts';
import { pageOf, withWords } from '../frame/page.ts';
import { ENGLISH } from '../frame/words.ts';
import { renderBadge } from './badge.ts';
import { renderPublicPage } from './public-page.ts';
import { createPublicStatus, KEPT_SECONDS } from './public-status.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** Whether the answer is public, and may be cached and embedded anywhere. */
    isPublic: boolean;
  }
}

/** Replaces the headers of other answers. */
export const PUBLIC_HEADERS: readonly (readonly [string, string])[] = [
  ['cache-control', `public, max-age=${KEPT_SECONDS}`],
  ['cross-origin-resource-policy', 'cross-origin'],
];

interface Options {
  readonly store: Store;
  readonly status: () => StatusView;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly clock: Clock;
}

export function createPublicPages(config: PublicStatusConfig, options: Options): Hono {
  const pages = new Hono();
  const statusOf = createPublicStatus(config, options);
  pages.use(withWords(ENGLISH));

  const nestOf = (c: Context) => statusOf(c.req.param('region') ?? '', c.req.param('nest') ?? '');
  const nothing = (c: Context) => c.text('There is no public Nest at this address.\n', 404);

  pages.get('/:region/:nest', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    return c.html(renderPublicPage(pageOf(c, options.clock), nest));
  });

  pages.get('/:region/:nest/badge.svg', async (c) => {
    const nest = await nestOf(c);
    if (!nest) return nothing(c);
    c.set('isPublic', true);
    const svg = await renderBadge(ENGLISH, nest);
    return c.body(svg.toString(), 200, { 'content-type': 'image/svg+xml; charset=utf-8' });
  });

  return pages;
}
