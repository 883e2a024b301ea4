/** Limits how much of the log is buffered while its reader stands still, so that the log cannot exhaust the memory. */
import { LIMITS } from '../limits.ts';

export interface TextStream {
  write(text: string): unknown;
  /** How much was written but not read yet; absent where that is unknown. */
  readonly writableLength?: number;
}

interface BoundedStreamOptions {
  readonly stream: TextStream;
  /** Called when lines start to be dropped. */
  readonly reached: () => void;
  /** Called when lines are written again, with the number dropped. */
  readonly leftOut: (lines: number) => void;
}

/** Drops lines beyond the limit. Reports this once when it begins, and again before the first line after it. */
export function boundedStream({ stream, reached, leftOut }: BoundedStreamOptions): TextStream {
  const { most } = LIMITS.unread_log_bytes;
  let missing = 0;
  return {
    write(text) {
      const unread = stream.writableLength ?? 0;
      // Resumes only at half the limit: there is room for the report, and it does not alternate with every line read.
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
