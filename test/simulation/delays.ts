/** Delays of millions of events in little memory: counted in steps of two per cent. */
export interface Delays {
  add(delaysMs: readonly number[]): void;
  /** Undefined if there are none. */
  quantile(share: number): number | undefined;
}

const STEPS = 35;

export function createDelays(): Delays {
  const counts: number[] = [];
  let total = 0;
  return {
    add(delaysMs) {
      for (const delayMs of delaysMs) {
        const step = Math.round(Math.log2(1 + Math.max(0, delayMs)) * STEPS);
        counts[step] = (counts[step] ?? 0) + 1;
      }
      total += delaysMs.length;
    },
    quantile(share) {
      let left = share * total;
      for (let step = 0; step < counts.length; step += 1) {
        left -= counts[step] ?? 0;
        if (left <= 0 && total > 0) return 2 ** (step / STEPS) - 1;
      }
      return undefined;
    },
  };
}
