/** Replicas as real processes of `nestwatch run`, each with its own configuration, page and database user. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { MAIN } from '../../program.ts';

export interface FleetOptions {
  /** For configurations and logs. */
  readonly folder: string;
  /** The configuration of a replica, by its place. */
  readonly configOf: (replica: number) => string;
  readonly ports: readonly number[];
  /** A replica has started a new life: a process from its start to its end. */
  readonly begun: (replica: number, life: string) => void;
  /** A replica that nobody killed ended with an error. */
  readonly crashed: (what: string) => void;
}

export interface Replica {
  readonly place: number;
  readonly life: string;
  readonly child: ChildProcess;
  readonly hasEnded: () => boolean;
}

export interface Fleet {
  /** Starts a replica; resolves once it reports that it runs. */
  start(place: number): Promise<Replica>;
  /** The address of its page. */
  urlOf(place: number): string;
  /** The running replicas. */
  running(): readonly Replica[];
  /** Sends a signal and resolves when the process has ended. */
  end(place: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Its response, or undefined if there was none. */
  ask(place: number, path: string): Promise<{ readonly status: number; readonly text: string } | undefined>;
  /** Resident memory, in MiB. */
  residentMiB(place: number): number;
  /** The messages in the logs of all lives, with how often each occurred, by level. */
  said(): ReadonlyMap<string, number>;
  /** Log lines that are not JSON. */
  unreadable(): readonly string[];
  endAll(): Promise<void>;
}

export function createFleet({ folder, configOf, ports, begun, crashed }: FleetOptions): Fleet {
  const replicas: (Replica | undefined)[] = ports.map(() => undefined);
  const lives = ports.map(() => 0);
  const said = new Map<string, number>();
  const unreadable: string[] = [];

  async function start(place: number): Promise<Replica> {
    lives[place]! += 1;
    const life = `${place}.${lives[place]}`;
    const config = join(folder, `replica-${place}.yaml`);
    writeFileSync(config, configOf(place));
    const options = ['--config.file', config, '--log.format', 'json', '--config.auto-reload-interval', '0'];
    begun(place, life);
    const child = spawn(process.execPath, [MAIN, 'run', ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    const replica = {
      place,
      life,
      child,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    };
    replicas[place] = replica;
    const log = createWriteStream(join(folder, `replica-${life}.log`));
    const errors: string[] = [];
    const started = Promise.withResolvers<void>();
    createInterface({ input: child.stderr! })
      .on('line', (line) => {
        log.write(`${line}\n`);
        const { level, message } = lineOf(line) ?? { level: 'error', message: line };
        if (lineOf(line) === undefined) unreadable.push(line);
        if (level !== 'info') said.set(`${level}: ${message}`, (said.get(`${level}: ${message}`) ?? 0) + 1);
        if (level === 'error') errors.push(line);
        if (message === 'nestwatch has started') started.resolve();
      })
      .on('close', () => log.end());
    child.on('exit', (code, signal) => {
      if (signal !== 'SIGKILL' && code !== 0) crashed(`${life} ended with ${code}: ${errors.at(-1)}`);
      started.resolve();
    });
    await started.promise;
    return replica;
  }

  async function end(place: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const replica = replicas[place];
    if (!replica || replica.hasEnded()) return;
    const ended = once(replica.child, 'exit');
    replica.child.kill(signal);
    await ended;
  }

  const running = () => replicas.filter((one): one is Replica => one !== undefined && !one.hasEnded());
  return {
    start,
    urlOf: (place) => `http://127.0.0.1:${ports[place]}`,
    running,
    end,
    async ask(place, path) {
      try {
        const signal = AbortSignal.timeout(2_000);
        const response = await fetch(`http://127.0.0.1:${ports[place]}${path}`, { signal });
        return { status: response.status, text: await response.text() };
      } catch {
        return undefined;
      }
    },
    residentMiB(place) {
      const status = readFileSync(`/proc/${replicas[place]!.child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
    },
    said: () => said,
    unreadable: () => unreadable,
    async endAll() {
      await Promise.all(running().map(({ place }) => end(place, 'SIGKILL')));
    },
  };
}

/** Undefined for anything that is not a log line. */
function lineOf(line: string): { readonly level: string; readonly message: string } | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
