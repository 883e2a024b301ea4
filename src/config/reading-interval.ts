/** How often a region's Birds can be read with the requests that its service takes. */

/**
 * Requests that one look at a Bird takes, at its log and its Flights: 2.17 were measured with real processes, most of
 * them one page each.
 */
const REQUESTS_PER_LOOK = 2.2;

/** What the inventory, the notifications and the audits leave of the requests. */
const LEFT_FOR_BIRDS = 0.8;

/** Between two looks at each of so many Birds, where no fewer are aimed at. */
export function readEveryMs(birds: number, requestsPerSecond: number): number {
  return (birds * REQUESTS_PER_LOOK * 1000) / (requestsPerSecond * LEFT_FOR_BIRDS);
}
