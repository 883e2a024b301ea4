/**
 * What something costs, for tests of a promised limit: the processor time of this thread. A busy machine hardly
 * changes that, while wall clock time grows with the number of waiting processes.
 */

/** Begins to count; the returned function says how many milliseconds it has been. */
export function countProcessorMs(): () => number {
  const since = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(since);
    return (user + system) / 1000;
  };
}
