/** What commands ask and hear of the person at the terminal. */
import { once } from 'node:events';
import { createInterface, type ReadLineOptions } from 'node:readline';
import { NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';

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

/**
 * Whether the person wants what `question` says; if not, says that nothing is done. Throws `usage` if there is no
 * terminal to ask at; `does` names it.
 */
export async function isConfirmed({ stdin, stderr }: Edge, question: string, does: string): Promise<boolean> {
  if (!stdin.isTTY) throw new NestwatchError('usage', `${does}: without a terminal it needs --yes`);
  const answer = await askLine(`${question}\nDo it? [y/N] `, { input: stdin, output: stderr });
  const isYes = /^y(es)?$/i.test(answer?.trim() ?? '');
  // After Ctrl-C the next message begins on a new line.
  if (!isYes) stderr.write(`${answer === undefined ? '\n' : ''}nestwatch: nothing was done\n`);
  return isYes;
}

/** In whose name a change is asked for. `who` says why others want to know: `writes it`. */
export function authorOf(
  edge: Edge,
  { author }: { readonly author?: string | undefined },
  who: string,
): string {
  const name = (author ?? edge.environment.USER ?? '').trim();
  if (name !== '') return name;
  throw new NestwatchError('usage', `say with --author who ${who}: others see it`);
}

/** Aborts at the first SIGINT or SIGTERM, until it is released. */
export function abortAtSignal(edge: Edge): { readonly signal: AbortSignal; release(): void } {
  const stop = new AbortController();
  const heard = (['SIGINT', 'SIGTERM'] as const).map((name) => edge.onSignal(name, () => stop.abort()));
  return {
    signal: stop.signal,
    release() {
      for (const cancel of heard) cancel();
    },
  };
}

/** Resolves at the first SIGINT or SIGTERM. */
export async function untilStopped(edge: Edge): Promise<void> {
  const { signal, release } = abortAtSignal(edge);
  await once(signal, 'abort');
  release();
}
