import { createInterface, type ReadLineOptions } from 'node:readline';

/** The typed answer to a question; undefined after Ctrl-C or at the end of the input. */
export function askLine(question: string, terminal: ReadLineOptions): Promise<string | undefined> {
  const input = createInterface(terminal);
  return new Promise((resolve) => {
    input.once('SIGINT', () => input.close());
    input.once('close', () => resolve(undefined));
    input.question(question, (answer) => {
      resolve(answer);
      input.close();
    });
  });
}
