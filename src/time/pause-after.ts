/** What goes on with other things and then comes back, as a transaction of the store does. */
interface Pausing {
  pause(): Promise<unknown>;
}

/**
 * Work between two turns of the event loop, in comparisons of a text with one instruction of a regular expression, or
 * in steps as simple. It takes some milliseconds; where the texts are very long, some ten.
 */
const MOST_AT_ONCE = 10_000;

/** To be called after each piece of work, with how much it was. */
export type PauseAfter = (work: number) => Promise<void>;

/** Lets the process turn to other things now and then in work that may be long. */
export function pausing(at: Pausing): PauseAfter {
  let done = 0;
  return async (work) => {
    done += work;
    if (done < MOST_AT_ONCE) return;
    done = 0;
    await at.pause();
  };
}
