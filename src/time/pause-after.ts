/** Something that can let other work run, such as a transaction of the store. */
interface Pausing {
  pause(): Promise<unknown>;
}

/**
 * How much work is done between two turns of the event loop. The unit is a comparison of a text with one instruction
 * of a regular expression, or a step as simple. It takes some milliseconds. With the longest texts of alerts and the
 * slowest expressions it takes 20 ms, and as much again while those are compiled.
 */
const MOST_AT_ONCE = 5_000;

/** Call this after each piece of work with its amount. If it returns a promise, await it. */
export type PauseAfter = (work: number) => Promise<unknown> | undefined;

/** Makes long work pause now and then, so that the process can do other things. */
export function pausing(at: Pausing): PauseAfter {
  let done = 0;
  return (work) => {
    done += work;
    if (done < MOST_AT_ONCE) return undefined;
    done = 0;
    return at.pause();
  };
}
