import { NestwatchError } from '../errors.ts';
import type { LogLevel } from '../observe/log.ts';
import { type Assembly, assemble } from './assemble.ts';
import type { Edge } from './edge.ts';
import { findConfigFile, readConfig } from './read-config.ts';
import { VERSION } from './version.ts';

/** What is under way at a stop may take so long; then the process ends, and the next start goes on from the store. */
const STOP_GRACE_MS = 8_000;

export interface RunOptions {
  readonly configFile?: string | undefined;
  readonly once: boolean;
  readonly logLevel: string;
  readonly logFormat?: 'json' | 'pretty' | undefined;
}

/** The daemon. Resolves to the exit code after SIGTERM or SIGINT; a second one ends it at once. */
export async function run(edge: Edge, options: RunOptions): Promise<number> {
  const config = readConfig(edge, findConfigFile(edge, options.configFile));
  const assembly = await assemble(edge, {
    config,
    logLevel: options.logLevel as LogLevel,
    logFormat: options.logFormat ?? (edge.stderr.isTTY ? 'pretty' : 'json'),
  });
  const { log } = assembly;
  // Signals are heard before whoever reads the log can send one.
  const exit = options.once ? readOnce(edge, assembly) : watch(edge, assembly);
  log.info('nestwatch has started', { version: VERSION, page: assembly.url });
  return exit;
}

async function watch(edge: Edge, assembly: Assembly): Promise<number> {
  const { daemon, log, fatal } = assembly;
  const stop = new AbortController();
  const stopped = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<number>();
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    if (signals > 1) return killed.resolve(1);
    log.info('nestwatch is stopping');
    stop.abort();
    edge.clock.setTimer(STOP_GRACE_MS, () => stopped.resolve());
  };
  const release = [
    edge.onSignal('SIGTERM', onSignal),
    edge.onSignal('SIGINT', onSignal),
    // Who asks a daemon to read its configuration again does not mean to end it.
    edge.onSignal('SIGHUP', () =>
      log.warn('SIGHUP changes nothing: restart nestwatch to read its configuration again'),
    ),
  ];
  const ended = (async () => {
    try {
      await Promise.race([daemon.run(stop.signal), stopped.promise, fatal]);
      await assembly.close();
      log.info('nestwatch has stopped');
      return 0;
    } catch (error) {
      stop.abort();
      log.error('nestwatch ends because of an error', { error });
      return 1;
    }
  })();
  const exit = await Promise.race([ended, killed.promise]);
  for (const one of release) one();
  return exit;
}

async function readOnce(edge: Edge, assembly: Assembly): Promise<number> {
  const stop = new AbortController();
  const release = [edge.onSignal('SIGTERM', () => stop.abort()), edge.onSignal('SIGINT', () => stop.abort())];
  try {
    const failed = await Promise.race([assembly.daemon.runOnce(stop.signal), assembly.fatal]);
    if (failed === 0) return 0;
    throw new NestwatchError('unavailable', `${failed} streams could not be read; the log says why`);
  } finally {
    for (const one of release) one();
    await assembly.close();
  }
}
