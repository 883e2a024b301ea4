/**
 * Places the edge of an audited window at a quiet instant, which has no entry near it. It is unknown whether the
 * service's bounds are inclusive and at what precision they are compared. At a quiet instant neither matters, so the
 * count of a window is the sum of the counts of its parts.
 */
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

/** How far from the target an edge is searched for. */
const REACH_US = 10 * 60 * 1_000_000;

interface Edge {
  readonly us: number;
  /** False if entries are so dense that each instant has one near it. */
  readonly isQuiet: boolean;
}

/**
 * The instant in [lowUs, highUs] nearest to the target that has no entry within the margin, if there is one.
 * `instantsUs` are those of the entries from one margin before the range to one margin after it, in ascending order.
 */
export function windowEdge(
  instantsUs: readonly number[],
  targetUs: number,
  { lowUs, highUs }: { readonly lowUs: number; readonly highUs: number },
): Edge {
  let nearestUs: number | undefined;
  for (let at = 0; at <= instantsUs.length; at += 1) {
    const afterUs = (instantsUs[at - 1] ?? Number.NEGATIVE_INFINITY) + ANCHOR_MARGIN_US;
    const beforeUs = (instantsUs[at] ?? Number.POSITIVE_INFINITY) - ANCHOR_MARGIN_US;
    const startUs = Math.max(lowUs, afterUs);
    const endUs = Math.min(highUs, beforeUs);
    if (startUs > endUs) continue;
    const us = Math.min(Math.max(targetUs, startUs), endUs);
    if (nearestUs === undefined || Math.abs(us - targetUs) < Math.abs(nearestUs - targetUs)) nearestUs = us;
  }
  if (nearestUs !== undefined) return { us: nearestUs, isQuiet: true };
  return { us: Math.min(Math.max(targetUs, lowUs), highUs), isQuiet: false };
}

/** The window's edge near the target, between the entries in the store. */
export async function findEdge(
  entries: (window: {
    readonly fromUs: number;
    readonly toUs: number;
  }) => Promise<readonly { readonly occurredAtUs: number }[]>,
  targetUs: number,
  { lowUs, highUs }: { readonly lowUs: number; readonly highUs: number },
): Promise<Edge> {
  const reach = {
    lowUs: Math.max(lowUs, targetUs - REACH_US),
    highUs: Math.min(highUs, targetUs + REACH_US),
  };
  const near = await entries({
    fromUs: reach.lowUs - ANCHOR_MARGIN_US,
    toUs: reach.highUs + ANCHOR_MARGIN_US,
  });
  const instantsUs = near.map(({ occurredAtUs }) => occurredAtUs);
  return windowEdge(instantsUs, targetUs, reach);
}
