/** Divides an audited window into parts, each with a count of its own, and the parts into pieces. */
import { ANCHOR_MARGIN_US } from '../logs/sweep.ts';

/** [fromUs, toUs). Both are quiet instants (`window-edge.ts`); otherwise counts are not used. */
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
