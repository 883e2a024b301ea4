/**
 * The command `store copy` as a separate process that is killed. Shared by the test of copies and its long run (`node
 * test/bench/copy.ts`).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { MAIN } from '../../program.ts';

export interface CopyRun {
  readonly exit: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
  /** The most memory that the process had, in MiB; 0 if the system does not say. */
  readonly mebibytes: number;
}

/** Runs the command. With `killAt` it is killed (SIGKILL) some turns after it has reported this percentage. */
export async function runCopy(args: readonly string[], killAt = Number.POSITIVE_INFINITY): Promise<CopyRun> {
  const begunMs = performance.now();
  const child = spawn(process.execPath, [MAIN, 'store', 'copy', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
    // No configuration is found there.
    cwd: tmpdir(),
  });
  const exited = once(child, 'exit');
  const said: string[] = [];
  let stdout = '';
  let mebibytes = 0;
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  const watch = setInterval(() => {
    mebibytes = Math.max(mebibytes, peakOf(child.pid!));
  }, 100);
  for await (const line of createInterface(child.stderr)) {
    said.push(line);
    if (Number(/^ *(\d+) %/.exec(line)?.[1] ?? -1) >= killAt) child.kill('SIGKILL');
  }
  const [exit, signal] = (await exited) as [number | null, string | null];
  clearInterval(watch);
  const seconds = (performance.now() - begunMs) / 1000;
  return { exit, signal, stdout, stderr: said.join('\n'), seconds, mebibytes };
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
