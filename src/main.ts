#!/usr/bin/env node
/** The process's edge: its arguments, streams and signals, the real clock and randomness, and its exit code. */
import { hostname, userInfo } from 'node:os';
import { isSea } from 'node:sea';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepCompiled } from './compile-cache.ts';
import { holdSignals } from './held-signals.ts';

const signals = holdSignals(process, () => performance.now());
// By default Node opens its debugger at this signal, on a port where every user of the machine could run code here.
process.on('SIGUSR1', () => {});

keepCompiled(process.env, process.argv[1] ?? '', new Date());

// Static imports would be compiled before the cache is enabled, and the heap stays small only if its flags are set
// before the program's modules fill it.
await import('./small-heap.ts');
const [{ runCommandLine }, { checkoutRevision }, { systemClock }] = await Promise.all([
  import('./cli/program.ts'),
  import('./version.ts'),
  import('./time/clock.ts'),
]);

/** Only the daemon listens for this signal. */
const OF_THE_DAEMON = 'SIGHUP';
let isDaemon = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The daemon keeps watching and notifying if the reader of its log has ended or the disk is full.
    if (isDaemon) return;
    // A reader that has seen enough, such as `head`, is not a failure.
    if (error.code === 'EPIPE') process.exit(0);
    if (stream === process.stdout)
      process.stderr.write(`nestwatch: the output cannot be written (${error.code})\n`);
    process.exit(1);
  });
}

/** Images name their revision. Packages and executables contain no TypeScript. */
const isSource = import.meta.url.endsWith('.ts');
const revision =
  process.env.NESTWATCH_REVISION ?? (isSource ? checkoutRevision(`${import.meta.dirname}/..`) : undefined);

const exit = await runCommandLine(
  {
    clock: systemClock(),
    random: Math.random,
    hostName: hostname(),
    program: isSea() ? [process.execPath] : [process.execPath, process.argv[1]!],
    environment: { USER: userName(), ...process.env, NESTWATCH_REVISION: revision },
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    ...signals,
    holdOnly(names) {
      isDaemon = names.includes(OF_THE_DAEMON);
      signals.holdOnly(names);
    },
  },
  process.argv.slice(2),
);

/** For where no shell has set `USER`, as in containers. There the user may have no name, either. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** A daemon must end even if the reader of its log has stopped reading. */
const LOG_GRACE_MS = 1_000;

// Everything is written before the process ends, even into a slow pipe.
const written = (async () => {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
})();
const grace = new Promise<void>((resolve) => {
  if (isDaemon) setTimeout(resolve, LOG_GRACE_MS);
});
await Promise.race([written, grace]);

/** An exit waits for all threads, and one that reads a file on a mount that does not answer never ends. */
const READ_GRACE_MS = 2_000;
const isReading = () => process.getActiveResourcesInfo().includes('FSReqPromise');
for (let waitedMs = 0; isReading() && waitedMs < READ_GRACE_MS; waitedMs += 50) await sleep(50);
if (isReading()) {
  // A signal ends the threads as well.
  signals.holdOnly([]);
  process.kill(process.pid, 'SIGTERM');
}
process.exit(exit);
