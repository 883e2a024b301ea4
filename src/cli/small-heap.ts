import { setFlagsFromString } from 'node:v8';

/** As they are given to Node's command line. */
export const SMALL_HEAP_FLAGS: readonly string[] = [
  // After a collection the heap may grow by so much before the next one.
  '--heap-growing-percent=20',
  // The space for new objects stays as it is at the start.
  '--semi-space-growth-factor=1',
];

/**
 * Has the process collect its garbage early, for good; called before modules are loaded, which fill the heap. By
 * default V8 lets new objects take 64 MB and the heap grow to several times of what lives in it, for a speed that the
 * daemon, at the pace of the service, has no use for. With thousands of Birds that is more than half of its memory.
 * Node's documentation warns of flags that change in a running process; V8 reads these two at each collection.
 */
export function keepHeapSmall(): void {
  for (const flag of SMALL_HEAP_FLAGS) setFlagsFromString(flag);
}
