/**
 * Reads paged streams by another rule than the sweep's. It sits between the daemon and the region: at a sweep's first
 * request it reads all pages by its own rule, and returns them to the daemon as one complete page.
 */

import type { DaemonParts } from '../../../src/daemon.ts';
import { type PageView, type Position, startOf } from '../../../src/intake/logs/sweep.ts';
import { sleep } from '../../../src/time/clock.ts';
import { formatInstant, parseInstant } from '../../../src/time/instant.ts';
import { withRegion } from './wrap.ts';

/** Like the sweep's rule, with the requested page size. */
export type PagingRule = (
  position: Position,
  page: PageView & { readonly asked: number },
) => Position | 'end';

/** Pages do not arrive at once: the world moves on in between. */
const BETWEEN_PAGES_MS = 500;
const MOST_PAGES = 200;

interface PageJson {
  readonly items: readonly unknown[] | null;
  readonly totalCount: number;
  readonly pageSize: number;
}

export function pagedBy(parts: DaemonParts, rule: PagingRule): DaemonParts {
  return withRegion(parts, (send) => async (request) => {
    const url = new URL(request.url);
    const fromUs = parseInstant(url.searchParams.get('from') ?? '')?.us;
    if (fromUs === undefined || url.searchParams.has('to')) return send(request);
    const asked = Number(url.searchParams.get('pageSize'));
    const items: unknown[] = [];
    let at: Position | 'end' = url.searchParams.get('page') === '0' ? startOf(fromUs) : 'end';
    let headers = {};
    for (let pages = 0; at !== 'end' && pages < MOST_PAGES; pages += 1) {
      if (pages > 0) await sleep(parts.clock, BETWEEN_PAGES_MS);
      url.searchParams.set('from', formatInstant(at.fromUs));
      url.searchParams.set('page', String(at.page));
      const response = await send({ ...request, url: url.href });
      const page = pageOf(response.status, response.body);
      if (!page) return response;
      headers = response.headers;
      items.push(...(page.items ?? []));
      at = rule(at, { ...viewOf(page), asked });
    }
    const whole = { items, totalCount: items.length, page: 0, pageSize: items.length + 1 };
    return { status: 200, headers, body: JSON.stringify(whole) };
  });
}

function pageOf(status: number, body: string): PageJson | undefined {
  if (status !== 200) return undefined;
  try {
    return JSON.parse(body) as PageJson;
  } catch {
    return undefined;
  }
}

function viewOf({ items, totalCount, pageSize }: PageJson): PageView {
  const instantsUs = (items ?? []).flatMap((item) => {
    const text = (item as { createdAt?: unknown } | null)?.createdAt;
    const us = typeof text === 'string' ? parseInstant(text)?.us : undefined;
    return us === undefined ? [] : [us];
  });
  return { count: items?.length ?? 0, pageSize, totalCount, instantsUs, ids: [] };
}
