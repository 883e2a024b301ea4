import type { Edge } from '../../process-io.ts';

const BAR = 24;

/**
 * Shows how far something is: a bar that draws over itself on a terminal, elsewhere a line for each tenth. `share` is
 * from 0 to 1, `words` say what there is so far, and `detail` what is under way, on a terminal alone.
 */
export function createProgressBar({ stderr }: Edge) {
  let tenth = -1;
  return {
    show(share: number, words: string, detail: string): void {
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      if (stderr.isTTY) {
        const full = Math.round(share * BAR);
        stderr.write(
          `\r\u001b[K[${'#'.repeat(full)}${' '.repeat(BAR - full)}] ${percent}  ${words}, ${detail}`,
        );
      } else if (Math.floor(share * 10) > tenth) {
        tenth = Math.floor(share * 10);
        stderr.write(`${percent}  ${words}\n`);
      }
    },
    end(): void {
      if (stderr.isTTY) stderr.write('\r\u001b[K');
    },
  };
}
