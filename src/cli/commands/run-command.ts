import { type App, openApp } from '../../app.ts';
import type { Config } from '../../config/config.ts';
import type { OnceOutcome } from '../../daemon.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { LogLevel } from '../../observe/log.ts';
import type { Edge } from '../../process-io.ts';
import type { RegionProgress } from '../../region-progress.ts';
import type { Step } from '../../store/versions/steps.ts';
import { createStormHeap } from '../../storm-heap.ts';
import { howMany } from '../../text/instant-words.ts';
import { sleep } from '../../time/clock.ts';
import { VERSION } from '../../version.ts';
import { EXIT } from '../command-rows.ts';
import { type ConfigOptions, findConfigFile } from '../config-file.ts';
import { migrateElsewhere } from '../migrate-elsewhere.ts';
import { type ConfigFile, openConfigFile } from '../read-config.ts';

/**
 * How long work in progress may take after a stop. Then the process ends, and the next start continues from the
 * store.
 */
const STOP_GRACE_MS = 8_000;

/** How long a stop whose work has not ended then waits until its duties are given back. */
const GIVE_BACK_MS = 2_000;

interface RunOptions extends ConfigOptions {
  readonly once: boolean;
  readonly 'log.level': string;
  readonly 'log.format'?: 'json' | 'pretty' | undefined;
  /** How often the file is checked; 0 for never. */
  readonly 'config.autoReloadInterval': number;
  /** The steps to the newest version of the tables; those of this version by default. */
  readonly steps?: readonly Step[];
}

/** Runs the daemon. Resolves to the exit code after SIGTERM or SIGINT; a second one ends it at once. */
export async function run(edge: Edge, options: RunOptions): Promise<number> {
  const file = findConfigFile(edge, options);
  const configFile = openConfigFile(edge, file);
  const config = configFile.read();
  refuseFurtherPod(config, edge.environment.NESTWATCH_POD_INDEX);
  // Listens for signals first: opening the store may take long.
  const stop = hearStop(edge);
  const opening = openApp(edge, {
    config,
    // With --once everything is read here, once, so no other process may use the store.
    isShared: !options.once,
    readAgain: configFile.readAgain,
    unreadSecrets: configFile.unread,
    applied: (next) => void warn(next),
    logLevel: options['log.level'] as LogLevel,
    listener: createStormHeap(edge.clock),
    logFormat: options['log.format'] ?? (edge.stderr.isTTY ? 'pretty' : 'json'),
    signal: stop.signal,
    migrateElsewhere: (path) => migrateElsewhere(edge, path, stop.signal),
    steps: options.steps,
  });
  let app: App;
  try {
    app = await opening;
  } catch (error) {
    stop.release();
    // Whoever stops a daemon that is not ready yet gets what they asked for.
    if (stop.signal.aborted && codeOf(error) === 'cancelled' && !options.once) return 0;
    throw error;
  }
  const { log } = app;
  const warn = async (of: Config) => {
    try {
      for (const { path, message } of await configFile.warnings(of)) {
        log.warn('The configuration is hardly meant so', { path, warning: message });
      }
    } catch {
      // What keeps the files of the store from being looked at is reported by the store.
    }
  };
  // Begins to act on signals first, because a reader of the log may send one.
  const release = heedSignals(edge, app, stop, options.once);
  const exit = (options.once ? readOnce : watch)(edge, app, stop).finally(release);
  // It may reject before anybody listens.
  exit.catch(() => {});
  if (!options.once) {
    void reloadWhenNew(edge, app, configFile, options['config.autoReloadInterval'], stop.signal);
    void keepSecretsFresh(edge, configFile, stop.signal);
  }
  log.info('nestwatch has started', { version: VERSION, page: app.url });
  await warn(config);
  return exit;
}

/**
 * Throws `config_invalid` in any pod of a StatefulSet but the first if the store is a file. Each pod has a volume of its
 * own, so a second one would watch and tell everything once more.
 */
function refuseFurtherPod({ store }: Config, podIndex = ''): void {
  if (store.postgres || !(Number(podIndex) > 0)) return;
  throw new NestwatchError(
    'config_invalid',
    `This is pod ${podIndex} of its StatefulSet (NESTWATCH_POD_INDEX), and store.url is an SQLite file of its own: everybody would be told everything by each pod. Scale the StatefulSet to one replica, or use a store on PostgreSQL.`,
  );
}

const SECRETS_EVERY_MS = 5_000;

async function keepSecretsFresh({ clock }: Edge, file: ConfigFile, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    file.readSecretsAgain();
    await sleep(clock, SECRETS_EVERY_MS, signal);
  }
}

/** Checks the file regularly, and reloads it when it has changed. */
async function reloadWhenNew(
  { clock }: Edge,
  app: App,
  file: ConfigFile,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (everyMs === 0) return;
  for (;;) {
    await sleep(clock, everyMs, signal);
    if (signal.aborted) return;
    if ((await file.isNew()) && !signal.aborted) await app.reload();
  }
}

/** The requests of the signals that end the process. */
interface Stop {
  readonly signal: AbortSignal;
  abort(): void;
  /** Resolves when the work in progress at the first signal has had its time. */
  readonly overdue: Promise<void>;
  /** Resolves to the exit code at the second signal. */
  readonly killed: Promise<number>;
  /** Stops listening and waiting. */
  release(): void;
}

function hearStop(edge: Edge): Stop {
  const stop = new AbortController();
  const overdue = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<number>();
  let signals = 0;
  let cancelGrace = () => {};
  const onSignal = () => {
    signals += 1;
    if (signals > 1) return killed.resolve(1);
    stop.abort();
    cancelGrace = edge.clock.setTimer(STOP_GRACE_MS, () => overdue.resolve());
  };
  const heard = [edge.onSignal('SIGTERM', onSignal), edge.onSignal('SIGINT', onSignal)];
  return {
    signal: stop.signal,
    abort: () => stop.abort(),
    overdue: overdue.promise,
    killed: killed.promise,
    release() {
      cancelGrace();
      for (const one of heard) one();
    },
  };
}

/** Heeds signals from now on; the returned function stops that. SIGUSR2 logs everything, and then as before again. */
function heedSignals(edge: Edge, { log, reload }: App, stop: Stop, isOnce: boolean): () => void {
  const say = () => log.info('nestwatch is stopping');
  if (stop.signal.aborted) say();
  else stop.signal.addEventListener('abort', say);
  const level = log.level();
  const heard = [
    edge.onSignal('SIGHUP', () => {
      if (isOnce) log.info('SIGHUP is ignored: a run with --once reads its configuration once');
      else void reload();
    }),
    edge.onSignal('SIGUSR2', () => {
      log.setLevel(log.level() === 'debug' ? level : 'debug');
      log.warn('The level of the log has changed', { to: log.level() });
    }),
  ];
  return () => {
    stop.release();
    for (const one of heard) one();
  };
}

async function watch(edge: Edge, { daemon, log, fatal, close }: App, stop: Stop): Promise<number> {
  const ended = (async () => {
    try {
      const givenBack = stop.overdue.then(() =>
        Promise.race([daemon.giveBack(), sleep(edge.clock, GIVE_BACK_MS)]),
      );
      await Promise.race([daemon.run(stop.signal), givenBack, fatal]);
      await close();
      log.info('nestwatch has stopped');
      return 0;
    } catch (error) {
      stop.abort();
      log.error('nestwatch ends because of an error', { error });
      return EXIT.failed;
    }
  })();
  return Promise.race([ended, stop.killed]);
}

async function readOnce(edge: Edge, { daemon, fatal, close }: App, stop: Stop): Promise<number> {
  const ended = (async () => {
    try {
      return await Promise.race([daemon.runOnce(stop.signal), stop.overdue, fatal]);
    } finally {
      await close();
    }
  })();
  const outcome = await Promise.race([ended, stop.killed]);
  if (typeof outcome === 'number') return outcome;
  if (!outcome || stop.signal.aborted)
    throw new NestwatchError('cancelled', 'not everything was read and sent');
  const troubles = troublesOf(outcome, daemon.regions());
  if (troubles === '') return 0;
  // Printed here, since there may be several causes and the help text of a single error would mislead.
  edge.stderr.write(`nestwatch: ${troubles}; the log says why\n`);
  return EXIT.upstream;
}

/** Empty if everything was read and sent. */
function troublesOf({ left, unread, unaccepted }: OnceOutcome, regions: readonly RegionProgress[]): string {
  return [
    ...left.map((name) => {
      const health = regions.find(({ region }) => region === name)?.health;
      const reason = !health || health.health === 'up' ? '' : ` (${health.reason})`;
      return `region ${name} could not be read${reason}`;
    }),
    ...(unread > 0 ? [`${howMany(unread, 'stream')} could not be read`] : []),
    ...(unaccepted > 0
      ? [`${howMany(unaccepted, 'delivery', 'deliveries')} ${unaccepted === 1 ? 'was' : 'were'} not accepted`]
      : []),
  ].join(', ');
}
