/** What an audited window is cut into: parts, each of which has a count of its own, and their pieces. */
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

/** [fromUs, toUs). Both lie at quiet instants, or else counts are not used. */
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

/** Where a window is cut into parts. */
interface WindowCuts {
  readonly window: Window;
  readonly knownGaps: readonly Window[];
  readonly countedUntilUs: number;
}

/** What an audit works off in one step, unless it is halved. */
export interface Piece extends Window {
  readonly of: Part;
}

/** A part of an audited window whose count has to be the sum of the counts of its pieces. */
export interface Part extends PartOfWindow {
  /** Entries are too dense for edges between them, so the part is read, and its counts say nothing. */
  readonly isDense: boolean;
  /** How often its counts were found untrue. */
  readonly doubts: number;
  /** The service's count of all of it, once it was asked for. */
  total: number | null;
  /** How many pieces are left. */
  pieces: number;
  /** The sum of the counts of those that are done. */
  sum: number;
  /** The pieces that are done, each from the first entry that was listed of it. */
  readonly counted: Window[];
  readonly gaps: Gap[];
}

/**
 * The parts of an audited window: its known gaps, and the stretches between them, cut where counting ends. The newest
 * is the first, since an audit works off its last piece first.
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

/** Whether the window is too short for an edge that keeps its distance from both ends. */
export function isNarrow({ fromUs, toUs }: Window): boolean {
  return toUs - fromUs <= 4 * ANCHOR_MARGIN_US;
}

export function isWithin({ fromUs, toUs }: Window, us: number): boolean {
  return us >= fromUs && us < toUs;
}
