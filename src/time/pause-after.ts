/** What goes on with other things and then comes back, as a transaction of the store does. */
interface Pausing {
  pause(): Promise<unknown>;
}

/**
 * Work between two turns of the event loop, in comparisons of a text with one instruction of a regular expression, or
 * in steps as simple. It takes some milliseconds; with the longest texts that an alert has, and the slowest expressions,
 * 20, and as much again while those are compiled.
 */
const MOST_AT_ONCE = 5_000;

/** To be called after each piece of work, with how much it was. What it gives, if anything, is to be waited for. */
export type PauseAfter = (work: number) => Promise<unknown> | undefined;

/** Lets the process turn to other things now and then in work that may be long. */
export function pausing(at: Pausing): PauseAfter {
  let done = 0;
  return (work) => {
    done += work;
    if (done < MOST_AT_ONCE) return undefined;
    done = 0;
    return at.pause();
  };
}
