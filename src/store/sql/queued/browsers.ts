import type { SubscribedBrowser } from '../../../domain/grouping/subscribed-browser.ts';
import type { BrowserStore } from '../../store.ts';
import { type Sql, upsertRows } from '../sql.ts';

const PUT = upsertRows('browser', 'receiver text, id text, subscribed_us bigint, body text', 'receiver, id');

export function createBrowsers(sql: Sql): BrowserStore {
  return {
    async put(browser) {
      const { receiver, id, subscribedAtUs } = browser;
      await sql.write(PUT, [[receiver, id, subscribedAtUs, JSON.stringify(browser)]]);
    },
    async list() {
      const rows = await sql.rows<{ body: string }>(
        'SELECT body FROM browser ORDER BY subscribed_us, receiver, id',
      );
      return rows.map(({ body }) => JSON.parse(body) as SubscribedBrowser);
    },
    async delete(receiver, ids) {
      await sql.run('DELETE FROM browser WHERE receiver = $1 AND id = ANY($2::text[])', receiver, ids);
    },
  };
}
