/** Divides an audited window into parts, each with a count of its own, and the parts into pieces. */

import type { GapRecord } from '../../store/sql/watched/audits.ts';
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

/** [fromUs, toUs). Both are quiet instants (`windowEdge`); otherwise counts are not used. */
export interface Window {
  readonly fromUs: number;
  readonly toUs: number;
}

/** Entries that the service counts but does not return. */
export interface Gap extends Window {
  readonly missing: number;
}

export interface PartOfWindow extends Window {
  readonly isKnownGap: boolean;
}

/** Where a window is divided into parts. */
interface WindowCuts {
  readonly window: Window;
  readonly knownGaps: readonly Window[];
  readonly countedUntilUs: number;
}

/** What an audit processes in one step, unless it halves it. */
export interface Piece extends Window {
  readonly of: Part;
}

/** A part of an audited window. Its count must be the sum of the counts of its pieces. */
export interface Part extends PartOfWindow {
  /** Whether entries are too dense for edges between them. Then the part is read, and its counts prove nothing. */
  readonly isDense: boolean;
  /** How often its counts were found untrue. */
  readonly doubts: number;
  /** The service's count of the whole part, once it was requested. */
  total: number | null;
  /** The number of pieces left. */
  pieces: number;
  /** The sum of the counts of the finished pieces. */
  sum: number;
  /** The finished pieces, each from the first entry that the service listed in it. */
  readonly counted: Window[];
  readonly gaps: Gap[];
}

/**
 * The parts of an audited window: its known gaps, and the stretches between them, which are split where counting
 * ends. The newest part comes first, since an audit processes its last piece first.
 */
export function partsOf({ window, knownGaps, countedUntilUs }: WindowCuts): PartOfWindow[] {
  const parts: PartOfWindow[] = [];
  let { fromUs } = window;
  function fill(toUs: number): void {
    for (const us of [Math.min(countedUntilUs, toUs), toUs]) {
      if (us <= fromUs) continue;
      parts.push({ fromUs, toUs: us, isKnownGap: false });
      fromUs = us;
    }
  }
  for (const gap of knownGaps.toSorted((a, b) => a.fromUs - b.fromUs)) {
    if (gap.fromUs < fromUs || gap.toUs > window.toUs) continue;
    fill(gap.fromUs);
    parts.push({ fromUs: gap.fromUs, toUs: gap.toUs, isKnownGap: true });
    fromUs = gap.toUs;
  }
  fill(window.toUs);
  return parts.reverse();
}

/** Whether the window is too short for an edge at a distance from both ends. */
export function isNarrow({ fromUs, toUs }: Window): boolean {
  return toUs - fromUs <= 4 * ANCHOR_MARGIN_US;
}

export function isWithin({ fromUs, toUs }: Window, us: number): boolean {
  return us >= fromUs && us < toUs;
}

// Places the edge of an audited window at a quiet instant, which has no entry near it. It is unknown whether the
// service's bounds are inclusive and at what precision they are compared. At a quiet instant neither matters, so the
// count of a window is the sum of the counts of its parts.

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
function windowEdge(
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

// Follows the gaps of one stream from audit to audit. The first audit that finds a gap only suspects it, since the
// service may count an entry shortly before it shows it. A second one confirms it, and it is reported. A gap that a
// later audit of the same time does not find has healed.

/** The number of audits that must find a gap before it is reported. */
const CONFIRMED_BY = 2;

interface GapsAfter {
  readonly gaps: readonly GapRecord[];
  /** The number of entries newly confirmed as missing. */
  readonly missing: number;
}

/** The known gaps after an audit of `window` that found `found`. */
export function gapsAfter(known: readonly GapRecord[], window: Window, found: readonly Gap[]): GapsAfter {
  const elsewhere = known.filter((gap) => gap.toUs <= window.fromUs || gap.fromUs >= window.toUs);
  let confirmed = 0;
  const here = found.map(({ fromUs, toUs, missing }): GapRecord => {
    const same = known.filter((gap) => gap.fromUs < toUs && gap.toUs > fromUs);
    const seen = 1 + Math.max(0, ...same.map((gap) => gap.seen));
    const notified = Math.min(
      missing,
      same.reduce((sum, gap) => sum + gap.notified, 0),
    );
    if (seen < CONFIRMED_BY) return { fromUs, toUs, missing, seen, notified };
    confirmed += missing - notified;
    return { fromUs, toUs, missing, seen, notified: missing };
  });
  const gaps = [...elsewhere, ...here].toSorted((a, b) => a.fromUs - b.fromUs);
  return { gaps, missing: confirmed };
}

/** The number of entries reported as missing, and since when; 0 if there are none. */
export function reportedGaps(gaps: readonly GapRecord[]): {
  readonly missing: number;
  readonly sinceUs: number;
} {
  const reported = gaps.filter((gap) => gap.notified > 0);
  return {
    missing: reported.reduce((sum, gap) => sum + gap.notified, 0),
    sinceUs:
      reported.length === 0 ? 0 : reported.reduce((least, gap) => Math.min(least, gap.fromUs), Infinity),
  };
}
