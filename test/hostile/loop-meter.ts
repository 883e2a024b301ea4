/**
 * The processor time of every turn of the event loop: what other programs take from a busy machine is not in it.
 * Work of the test itself, done `apart`, is taken off the turn in which it is done.
 */
export interface LoopMeter {
  apart<T>(work: () => T): T;
  /** Milliseconds of the longest turn, and forgets it. */
  longestMs(): number;
  stop(): void;
}

export function createLoopMeter(): LoopMeter {
  let startedMs = processorMs();
  let apartMs = 0;
  let longestMs = 0;
  let isOver = false;

  function turn(): void {
    const nowMs = processorMs();
    longestMs = Math.max(longestMs, nowMs - startedMs - apartMs);
    startedMs = nowMs;
    apartMs = 0;
    if (!isOver) setImmediate(turn);
  }

  setImmediate(turn);
  return {
    apart(work) {
      const sinceMs = processorMs();
      try {
        return work();
      } finally {
        apartMs += processorMs() - sinceMs;
      }
    },
    longestMs() {
      const longest = longestMs;
      longestMs = 0;
      return longest;
    },
    stop() {
      isOver = true;
    },
  };
}

/** What this thread has used. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
