/**
 * Follows the gaps of one stream from audit to audit. The first audit that finds a gap only suspects it, since the
 * service may count an entry shortly before it shows it. A second one confirms it, and it is reported. A gap that a
 * later audit of the same time does not find has healed.
 */
import type { GapRecord } from '../../store/audit-store.ts';
import type { Gap, Window } from './audit-piece.ts';

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
