/**
 * `node test/hostile/bounds-zoo.ts [--only NAME,NAME]`: switches off each limit of `src/limits.ts` in a process of
 * its own. Without the limit, the checks of the hostile world must fail; with it, the same world must pass. Exits
 * with 1 if that is not so for one of them.
 */
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { LIMITS, type LimitName } from '../../src/limits.ts';

const { values } = parseArgs({ options: { only: { type: 'string' } } });

/** The memory that a small container leaves to the program. */
const HEAP_MB = 192;
/** Processor time. A process that works on one thing for this long would never return to anything else. */
const PATIENCE_MS = 120_000;
/** Wall clock time: a process that waits forever takes no processor time. */
const LONGEST_MS = 900_000;
const LOOK_EVERY_MS = 1_000;
/** Linux counts 100 ticks a second wherever Node runs on it. */
const MS_PER_TICK = 10;

interface Task {
  readonly limit: LimitName;
  readonly isOff: boolean;
}

/** The first failed check; undefined if all pass. */
function noticed({ limit, isOff }: Task): Promise<string | undefined> {
  const child = fork(new URL('./bounds-process.ts', import.meta.url), [limit, isOff ? 'off' : 'on'], {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said += String(chunk);
  });
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const timer = setInterval(() => {
      const wallMs = performance.now() - startedMs;
      const isOver = processorMs(child.pid!, wallMs) > PATIENCE_MS || wallMs > LONGEST_MS;
      if (isOver) end(`stood still for ${PATIENCE_MS / 1000} s`);
    }, LOOK_EVERY_MS);
    function end(what: string | undefined): void {
      clearInterval(timer);
      child.kill('SIGKILL');
      resolve(what);
    }
    child.on('message', (findings) => end((findings as readonly string[])[0]));
    child.on('exit', (code, signal) => {
      const isFull = /heap out of memory|heap limit/.test(said);
      end(
        isFull
          ? `the heap of ${HEAP_MB} MB was full`
          : `it ended with ${signal ?? code}: ${said.slice(-300)}`,
      );
    });
  });
}

/** The processor time of a process as Linux reports it; elsewhere the time that has passed. */
function processorMs(pid: number, otherwiseMs: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return otherwiseMs;
  }
}

const only = values.only?.split(',');
const names = (Object.keys(LIMITS) as LimitName[]).filter((name) => only?.includes(name) ?? true);
let failures = 0;
for (const limit of names) {
  const without = await noticed({ limit, isOff: true });
  const within = await noticed({ limit, isOff: false });
  if (without === undefined || within !== undefined) failures += 1;
  const found = without === undefined ? 'NOT FOUND' : without.slice(0, 110);
  console.log(
    `${limit.padEnd(24)} ${found}${within === undefined ? '' : ` — AND WITH IT: ${within.slice(0, 300)}`}`,
  );
}
console.log(`${names.length} bounds, ${failures} not shown to be needed`);
process.exitCode = failures === 0 ? 0 : 1;
