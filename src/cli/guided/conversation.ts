import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { shownLines } from '../terminal-text.ts';

const NEEDED = 'It needs an answer here; Ctrl-C ends without a configuration.';

/** Asks the person at the terminal one question after another. Each method throws `usage` if the input ends. */
export class Conversation {
  readonly #stderr: Edge['stderr'];
  readonly #input: Interface;
  readonly #lines: AsyncIterator<string>;
  #isUnseen = false;
  #isClosed = false;

  /** Throws `usage` if there is no terminal. */
  constructor({ stdin, stderr }: Edge) {
    if (!stdin.isTTY) {
      throw new NestwatchError(
        'usage',
        'it asks questions: run it in a terminal, or `nestwatch init` for a file to fill in',
      );
    }
    this.#stderr = stderr;
    const output = new Writable({
      write: (chunk, _encoding, done) => {
        if (!this.#isUnseen) stderr.write(chunk);
        done();
      },
    });
    this.#input = createInterface({ input: stdin, output, terminal: true });
    this.#input.on('SIGINT', () => this.#input.close());
    this.#input.on('close', () => {
      this.#isClosed = true;
    });
    this.#lines = this.#input[Symbol.asyncIterator]();
  }

  say(text: string): void {
    this.#stderr.write(`${shownLines(text)}\n`);
  }

  /** The trimmed answer, or `otherwise`, which the question shows. Never empty. */
  async ask(question: string, otherwise = ''): Promise<string> {
    for (;;) {
      const answer = await this.#next(`${question}${otherwise && ` [${otherwise}]`}: `);
      if (answer || otherwise) return answer || otherwise;
      this.say(NEEDED);
    }
  }

  /** May be empty. If there is something else to be had by Enter, `-` is the answer for none. */
  async askIfAny(question: string, otherwise = ''): Promise<string> {
    if (otherwise === '') return this.#next(`${question} [none]: `);
    const answer = await this.ask(`${question}, - for none`, otherwise);
    return answer === '-' ? '' : answer;
  }

  /** The answer is not shown while it is typed. Never empty. */
  async askUnseen(question: string): Promise<string> {
    for (;;) {
      this.#isUnseen = true;
      this.#stderr.write(`${question}: `);
      const answer = await this.#next('').finally(() => {
        this.#isUnseen = false;
        this.#stderr.write('\n');
      });
      if (answer) return answer;
      this.say(NEEDED);
    }
  }

  async confirm(question: string, otherwise: boolean): Promise<boolean> {
    for (;;) {
      const answer = (await this.#next(`${question} [${otherwise ? 'Y/n' : 'y/N'}]: `)).toLowerCase();
      if (answer === '') return otherwise;
      if (['y', 'yes', 'n', 'no'].includes(answer)) return answer.startsWith('y');
      this.say('Answer y or n.');
    }
  }

  /** One of several choices, by its number. The first is the default, unless there is another. */
  async choose<T extends string>(
    question: string,
    choices: ReadonlyMap<T, string>,
    otherwise?: T,
  ): Promise<T> {
    const names = [...choices.keys()];
    const preset = otherwise === undefined ? 1 : names.indexOf(otherwise) + 1;
    this.say([question, ...names.map((name, at) => `  ${at + 1}  ${choices.get(name)}`)].join('\n'));
    for (;;) {
      const answer = await this.#next(`Which one [${preset}]: `);
      const chosen = names[Number(answer || preset) - 1];
      if (chosen !== undefined) return chosen;
      this.say(`Answer with a number from 1 to ${names.length}.`);
    }
  }

  close(): void {
    this.#input.close();
  }

  async #next(prompt: string): Promise<string> {
    // Lines that were typed ahead count as answers, even after the end of the input.
    if (!this.#isClosed) {
      this.#input.setPrompt(prompt);
      this.#input.prompt();
    }
    const { value, done } = await this.#lines.next();
    if (!done) return value.trim();
    this.#stderr.write('\n');
    throw new NestwatchError('usage', 'interrupted; no configuration was written');
  }
}
