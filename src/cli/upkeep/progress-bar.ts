import type { Edge } from '../../process-io.ts';

const BAR = 24;

/**
 * Shows progress: on a terminal a bar that is redrawn, elsewhere a line for each tenth. `share` is from 0 to 1,
 * `words` describe the result so far, and `detail` the current work, which is only shown on a terminal.
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
