/**
 * Counts the turns of the event loop while something is done. If work is limited between two turns, more work takes
 * more turns, on any machine. Work done in one turn takes none.
 */

/** Begins to count; the returned function says how many turns there were. */
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
