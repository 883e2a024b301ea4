import type { Collected, Scraped } from '../../src/observe/metrics.ts';

/** The answer of a store without content to a scrape. */
export const NOTHING: Collected = {
  ready: true,
  alerts: [],
  firing: [],
  silences: [],
  setAside: [],
  deliveries: [],
  cursors: [],
  reads: [],
  impaired: [],
  space: undefined,
};

/** The whole text of a scrape. */
export async function textOf(scraped: Promise<Scraped>): Promise<string> {
  return (await Array.fromAsync((await scraped).body)).join('');
}
