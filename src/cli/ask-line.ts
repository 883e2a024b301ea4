import { createInterface, type ReadLineOptions } from 'node:readline';

/** What is typed in answer to a question; undefined where it was broken off, by Ctrl-C or the end of the input. */
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
