/** What whoever reads the log has not read yet, bounded: a reader that stands still must not take the memory of the watch. */
import { LIMITS } from '../limits.ts';

export interface TextStream {
  write(text: string): unknown;
  /** How much was written and is not read yet; absent where that is not known. */
  readonly writableLength?: number;
}

interface BoundedStreamOptions {
  readonly stream: TextStream;
  /** Lines are left out from now on. */
  readonly reached: () => void;
  /** Lines are written again, after so many that were left out. */
  readonly leftOut: (lines: number) => void;
}

/** Lines beyond the bound are left out; it is said once when that begins, and before the first line after it. */
export function boundedStream({ stream, reached, leftOut }: BoundedStreamOptions): TextStream {
  const { most } = LIMITS.unread_log_bytes;
  let missing = 0;
  return {
    write(text) {
      const unread = stream.writableLength ?? 0;
      // With room for what is said of it, and not for each line as soon as one was read.
      const isFull = missing === 0 ? unread > most : unread > most / 2;
      if (isFull) {
        missing += 1;
        if (missing === 1) reached();
        return;
      }
      const lines = missing;
      missing = 0;
      if (lines > 0) leftOut(lines);
      stream.write(text);
    },
  };
}
