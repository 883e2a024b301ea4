/**
 * What something costs, where a bound on it is promised: time of the processor that this thread took, which a busy
 * machine hardly changes, where the time on the wall grows as many times as there are others who wait for the processor.
 */

/** Begins to count; what it returns says how many milliseconds it has been. */
export function countProcessorMs(): () => number {
  const since = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(since);
    return (user + system) / 1000;
  };
}
