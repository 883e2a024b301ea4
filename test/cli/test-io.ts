import { EventEmitter } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { expect } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import type { Edge, SignalName } from '../../src/process-io.ts';
import type { Clock } from '../../src/time/clock.ts';
import { tempFolder } from '../http/servers.ts';
import { TEST_START_US } from '../virtual-clock.ts';

export interface TestEdge {
  readonly edge: Edge;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly signal: (name: SignalName) => void;
  /** The number of signal listeners that a command has left behind. */
  readonly listeners: () => number;
}

export interface TestEdgeOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** What a person types; without it there is no terminal. */
  readonly typed?: string;
  /** Characters in a line of the terminal that results go to; without it they go to a pipe. */
  readonly columns?: number;
  readonly clock?: Clock;
  readonly hostName?: string;
  /** The command that starts nestwatch as another process; `src/main.ts` by default. */
  readonly program?: readonly string[];
}

export function createTestEdge({
  environment = {},
  typed,
  columns,
  clock = createHurriedClock(),
  hostName = 'test',
  program = [process.execPath, join(import.meta.dirname, '../../src/main.ts')],
}: TestEdgeOptions = {}): TestEdge {
  const [stdout, stderr] = [sink(), sink()];
  const signals = new EventEmitter();
  const stdin = Object.assign(new PassThrough(), { isTTY: typed !== undefined });
  stdin.end(typed ?? '');
  return {
    edge: {
      clock,
      random: () => 0.5,
      hostName,
      program,
      environment,
      stdin,
      stdout: Object.assign(stdout.stream, columns !== undefined && { isTTY: true, columns }),
      stderr: stderr.stream,
      onSignal(name, listener) {
        signals.on(name, listener);
        return () => signals.off(name, listener);
      },
      holdOnly() {},
    },
    stdout: stdout.text,
    stderr: stderr.text,
    signal: (name) => signals.emit(name),
    listeners: () => signals.eventNames().length,
  };
}

/** A clock on which every wait ends at once, but time passes all the same. */
function createHurriedClock(): Clock {
  let nowMs = 0;
  return {
    nowUs: () => TEST_START_US + Math.round(nowMs * 1000),
    monotonicMs: () => nowMs,
    setTimer(ms, wake) {
      const immediate = setImmediate(() => {
        nowMs += ms;
        wake();
      });
      return () => clearImmediate(immediate);
    },
  };
}

function sink(): { stream: Writable; text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}

export interface Outcome {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Part of a text, and a text of this form, for the outcomes below. */
export const containing = (part: string): unknown => expect.stringContaining(part);
export const matching = (form: RegExp): unknown => expect.stringMatching(form);

/** A command that did its work and printed this. */
export const done = (stdout: unknown = '') => ({ exit: 0, stdout, stderr: '' });

/** One that did nothing because of its arguments or its configuration, and said this. */
export const refused = (stderr: unknown) => failed(stderr, 2);

/** One that failed and said this. */
export const failed = (stderr: unknown, exit = 1) => ({ exit, stdout: '', stderr });

/** Runs one command to its end. */
export async function nestwatch(args: readonly string[], options: TestEdgeOptions = {}): Promise<Outcome> {
  const { edge, stdout, stderr } = createTestEdge(options);
  const exit = await runCommandLine(edge, args);
  return { exit, stdout: stdout(), stderr: stderr() };
}

/** A file that is deleted after the test. */
export function tempFile(name: string, content: string): string {
  const file = join(tempFolder(), name);
  writeFileSync(file, content);
  return file;
}
