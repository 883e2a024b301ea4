/** Serves the timeline of events, and each event with its explanation. */
import type { Hono } from 'hono';
import { idOfPath } from '../../../http/page-path.ts';
import { type Explanation, explain } from '../../../operator/explain.ts';
import { findReference, newestEventOf } from '../../../operator/find-reference.ts';
import { loadMuting } from '../../../store/load-muting.ts';
import { listEvents } from '../../requests/read-lists.ts';
import type { PagesOptions } from '../../web-options.ts';
import { addListPage } from '../frame/list-page.ts';
import { pageOf } from '../frame/page.ts';
import { unknownPage } from '../frame/page-frame.ts';
import { renderEventPage } from './event-page.ts';
import { renderEventsPage } from './events-page.ts';

const LISTED = 100;

export function addEvents(pages: Hono, options: PagesOptions): void {
  const { store, status, alerting, recurrences, messages, clock } = options;
  const regionsOf = () => status().regions.map(({ region }) => region);

  addListPage(pages, options, '/events', { limit: LISTED, read: listEvents, render: renderEventsPage });

  pages.get('/events/*', async (c) => {
    const page = pageOf(c, clock);
    const id = idOfPath(new URL(c.req.url).pathname.slice('/events/'.length)) ?? '';
    const { unknown, unknownLead } = page.words.event;
    const explanation = await store.transaction(async (tx): Promise<Explanation | undefined> => {
      const meant = await findReference(tx, id, regionsOf());
      const key = meant && (await newestEventOf(tx, meant));
      if (key === undefined) return undefined;
      return explain(tx, key, alerting, await loadMuting(tx, alerting, recurrences, page.nowUs), page.nowUs);
    });
    return explanation
      ? c.html(renderEventPage(page, explanation, messages.nameOf))
      : c.html(unknownPage(page, 'events', unknown, unknownLead), 404);
  });
}
