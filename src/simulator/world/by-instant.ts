/** Keeps lists in ascending order of an instant, so that a page of a long list is found without scanning the list. */

/** The first index whose instant is `instantUs` or later; the list's length if there is none. */
export function firstFrom<T>(list: readonly T[], instantOf: (item: T) => number, instantUs: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (instantOf(list[middle]!) < instantUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Inserts an item in order, after those of the same instant. */
export function insert<T>(list: T[], instantOf: (item: T) => number, item: T): void {
  const instantUs = instantOf(item);
  const newest = list.at(-1);
  if (newest === undefined || instantOf(newest) <= instantUs) list.push(item);
  else list.splice(firstFrom(list, instantOf, instantUs + 1), 0, item);
}

/** Removes an item; false when it is not there. */
export function remove<T>(list: T[], instantOf: (item: T) => number, item: T): boolean {
  const at = list.indexOf(item, firstFrom(list, instantOf, instantOf(item)));
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
