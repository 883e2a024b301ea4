import type { SubscribedBrowser } from '../../../domain/grouping/subscribed-browser.ts';
import { type Sql, upsertRows } from '../sql.ts';

const PUT = upsertRows('browser', 'receiver text, id text, subscribed_us bigint, body text', 'receiver, id');

export function createBrowsers(sql: Sql) {
  return {
    /** Replaces a browser's subscription to the same receiver. */
    async put(browser: SubscribedBrowser): Promise<void> {
      const { receiver, id, subscribedAtUs } = browser;
      await sql.write(PUT, [[receiver, id, subscribedAtUs, JSON.stringify(browser)]]);
    },
    /** All, the oldest subscription first. */
    async list(): Promise<SubscribedBrowser[]> {
      const rows = await sql.rows<{ body: string }>(
        'SELECT body FROM browser ORDER BY subscribed_us, receiver, id',
      );
      return rows.map(({ body }) => JSON.parse(body) as SubscribedBrowser);
    },
    async delete(receiver: string, ids: readonly string[]): Promise<void> {
      await sql.run('DELETE FROM browser WHERE receiver = $1 AND id = ANY($2::text[])', receiver, ids);
    },
  };
}
