/** How many entries a page is asked for. What a service takes is not documented, so its refusals teach it. */
export interface PageSize {
  size(): number;
  /** Halves it; false where it is 1 already. */
  shrink(): boolean;
  /** To `size` again: what was refused is refused in any size. */
  restore(size: number): void;
}

/** One for all paged streams of a region. */
export function createPageSize(first: number): PageSize {
  let now = first;
  return {
    size: () => now,
    shrink() {
      if (now === 1) return false;
      now = Math.floor(now / 2);
      return true;
    },
    restore(size) {
      now = size;
    },
  };
}
