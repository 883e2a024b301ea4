/**
 * Measures the processor time of every turn of the event loop, so that other programs on a busy machine do not count.
 * The time of the test's own work, run with `apart`, is subtracted.
 */
export interface LoopMeter {
  apart<T>(work: () => T): T;
  /** The longest turn since the last call, in milliseconds. */
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

/** The processor time that this thread has used. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
