#!/usr/bin/env node
/** The process's edge: its arguments, streams and signals, the real clock and chance, and its exit code. */
import { hostname } from 'node:os';
import { keepCompiled } from './compile-cache.ts';
import { holdSignals } from './held-signals.ts';

const signals = holdSignals(process);
// By default Node opens its debugger at this signal, on a port where every user of the machine could run code here.
process.on('SIGUSR1', () => {});

keepCompiled(process.env, process.argv[1] ?? '', new Date());

// What is imported statically would be compiled before the cache is there, and the heap is small for good only if it
// is kept so before the program's modules fill it.
await import('./small-heap.ts');
const [{ runCommandLine }, { systemClock }] = await Promise.all([
  import('./cli/program.ts'),
  import('./time/clock.ts'),
]);

/** The daemon alone hears this signal. */
const OF_THE_DAEMON = 'SIGHUP';
let isDaemon = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // It watches and notifies all the same where whoever reads its log has ended, or the disk has no room for it.
    if (isDaemon) return;
    // A reader that has seen enough, such as `head`, is no failure.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}

const exit = await runCommandLine(
  {
    clock: systemClock(),
    random: Math.random,
    hostName: hostname(),
    environment: process.env,
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

/** Whoever reads the log of a daemon may stand still; that must not keep it from ending. */
const LOG_GRACE_MS = 1_000;

// Everything is written before the process ends, also into a slow pipe.
const written = (async () => {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  await new Promise<void>((resolve) => process.stderr.write('', () => resolve()));
})();
const grace = new Promise<void>((resolve) => {
  if (isDaemon) setTimeout(resolve, LOG_GRACE_MS);
});
await Promise.race([written, grace]);
process.exit(exit);
