/** Replicas as processes, the server of their store, the service that they watch, and the receiver that they notify. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep, systemClock } from '../../../src/time/clock.ts';
import { freePort } from '../../http/servers.ts';
import { findServer, type PostgresServer, startServer } from '../../store/postgres/postgres-server.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { type OnFly, openWatchedService, type WatchedService } from './watched-service.ts';
import { createUsers } from './who-commits.ts';
import { openWitness, type Witness } from './witness.ts';

const BEAT_MS = 2_000;

export interface SceneOptions {
  readonly seed: number;
  readonly replicas: number;
  readonly regions: number;
  readonly birds: number;
  /** How often streams are read. */
  readonly interval: string;
  /** Between two rounds of events in a region; 0 for none. */
  readonly everyMs: number;
  /** What alerts are grouped by; by region if absent. */
  readonly groupBy?: string;
  /** Default: 5s. */
  readonly groupInterval?: string;
  /** Settings of the server, in addition to those for tests. */
  readonly settings?: readonly string[];
  /** Lets the replicas start Birds, and is told of each request for it. */
  readonly onFly?: OnFly;
  /** Keeps logs and configurations. */
  readonly keep?: boolean;
  readonly log?: (line: string) => void;
}

export interface Scene {
  readonly server: PostgresServer;
  readonly service: WatchedService;
  readonly witness: Witness;
  readonly fleet: Fleet;
  /** Why processes ended that nobody stopped. */
  readonly crashes: readonly string[];
  readonly log: (line: string) => void;
  close(): Promise<void>;
}

/** On return the store has its tables, and no process runs. */
export async function openScene({
  seed,
  replicas,
  regions,
  birds,
  interval,
  everyMs,
  ...options
}: SceneOptions): Promise<Scene> {
  const { keep = false, log = () => {}, settings = [], onFly } = options;
  const grouping = `group_by: [${options.groupBy ?? 'alertname, region'}], group_interval: ${options.groupInterval ?? '5s'}`;
  const bin = findServer();
  if (bin === undefined) throw new Error('PostgreSQL was not found: apt-get install postgresql');
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-replicas-'));
  const server = await startServer(bin, ['max_connections=100', ...settings]);
  const load = { clock: systemClock(), seed, regions, birds, everyMs, onFly };
  const service = await openWatchedService(replicas, load);
  const witness = await openWitness();
  const ports = await Promise.all(Array.from({ length: replicas }, freePort));
  const crashes: string[] = [];
  const fleet = createFleet({
    folder,
    ports,
    configOf: (place) =>
      draft(place, {
        ...{ server, service, witness, interval, grouping, port: ports[place]! },
        mayFly: onFly !== undefined,
      }),
    begun: service.isLife,
    crashed: (what) => void crashes.push(what),
  });

  async function close(): Promise<void> {
    await fleet.endAll();
    await Promise.all([service.close(), witness.close(), server.remove()]);
    if (keep) log(`Logs and configurations: ${folder}`);
    else rmSync(folder, { recursive: true });
  }

  try {
    await createUsers(
      server,
      ports.map((_, place) => `replica${place}`),
    );
    // Creates the tables.
    await fleet.start(0);
    await fleet.end(0, 'SIGTERM');
    return { server, service, witness, fleet, crashes, log, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export async function until(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endMs = Date.now() + withinMs;
  while (Date.now() < endMs) {
    if (await isTrue()) return true;
    await sleep(systemClock(), 100);
  }
  return false;
}

interface DraftOptions extends Pick<Scene, 'server' | 'service' | 'witness'> {
  readonly port: number;
  readonly interval: string;
  readonly grouping: string;
  readonly mayFly: boolean;
}

function draft(place: number, options: DraftOptions): string {
  const { port, server, service, witness, interval, grouping, mayFly } = options;
  const regions = service.regions.map(
    (region) =>
      `  ${region}: { base_url: "${service.urlOf(place, region)}", token: token, requests_per_second: 50, concurrency: 2, fly: ${mayFly} }`,
  );
  return `
regions:
${regions.join('\n')}
store: { url: "${server.url.replace('nestwatch@', `replica${place}@`)}" }
poll: { interval: ${interval}, min_interval: 2s, inventory_interval: 1m, overlap: 10s }
receivers:
  - { name: lake, webhook_configs: [{ url: "${witness.url}", format: cloudevents }] }
  - { name: pager, webhook_configs: [{ url: "${witness.url}", format: alertmanager }] }
route: { receiver: pager, ${grouping}, group_wait: 2s }
forward: [{ receiver: lake }]
heartbeat: { url: "${witness.url}beat", interval: ${BEAT_MS / 1000}s }
web: { listen: "127.0.0.1:${port}", external_url: "http://127.0.0.1:${port}" }
`;
}
