/** Computes how often a region's Birds can be read at the request rate that its service accepts. */

/**
 * Requests per reading of a Bird, for its log and its Flights: 2.17 were measured with real processes, most of them
 * single pages.
 */
const REQUESTS_PER_LOOK = 2.2;

/** The share of requests that the inventory, notifications and audits leave for Birds. */
const LEFT_FOR_BIRDS = 0.8;

/** The interval between two readings of each of that many Birds, if all requests left for them are used. */
export function readEveryMs(birds: number, requestsPerSecond: number): number {
  return (birds * REQUESTS_PER_LOOK * 1000) / (requestsPerSecond * LEFT_FOR_BIRDS);
}
