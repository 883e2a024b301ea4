/**
 * How often the event loop turned while something was done: work that is bounded between two turns takes the more of
 * them the more there is of it, on whatever machine. What is done in one turn takes none.
 */

/** Begins to count; what it returns says how many turns there were. */
export function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(count);
  function count(): void {
    turns += 1;
    next = setImmediate(count);
  }
  return () => {
    clearImmediate(next);
    return turns;
  };
}
