/**
 * A real PostgreSQL for tests: started by the test itself, as an unprivileged user, in a directory of its own, with a
 * socket in it. Alternatives are no better: PGlite is another program in one process, without a second connection,
 * locks or broken connections; and packages with a server take 24 MB for each platform, although most machines can
 * install one in seconds. Without a server the tests say so. `.ci/newest-postgres` gets the newest server from such a package
 * (`newest/package.json`).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { readPostgresAddress } from '../../../src/config/sections/store-section.ts';
import type { PostgresPlace } from '../../../src/store/postgres/postgres-client.ts';

/** An unprivileged user, if the tests run as root: PostgreSQL refuses to run as root. */
interface User {
  readonly uid?: number;
  readonly gid?: number;
}

export interface PostgresDatabase {
  /** The directory of the server's socket. */
  readonly host: string;
  readonly database: string;
  /** The value of `store.url` for it. */
  readonly url: string;
  readonly version: string;
  /** Removes it completely. */
  remove(): Promise<void>;
}

/** Connected to its own database `postgres`; `remove` also ends the server. */
export interface PostgresServer extends PostgresDatabase {
  /** Stops it: `fast` closes connections in order, `immediate` is like a kill. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again after `stop`. */
  start(): Promise<void>;
}

/** Where a server's programs are: in `NESTWATCH_POSTGRES_BIN`, in the path, or where Debian puts the newest. */
export function findServer(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const installed = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  return [
    process.env.NESTWATCH_POSTGRES_BIN,
    ...(process.env.PATH ?? '').split(':'),
    ...installed.map((version) => join(debian, version, 'bin')),
  ].find(
    (folder) =>
      folder !== undefined && ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  );
}

/** Settings in addition to a test's own. Nothing needs to survive a crash of the machine. */
const SETTINGS = ['listen_addresses=', 'fsync=off', 'full_page_writes=off', 'max_connections=20'];

/**
 * Runs a program until the pipe from this process is closed, which happens however this process ends; then removes
 * the folder that is named first.
 */
const WITH_THIS_PROCESS = '"$@" & cat > /dev/null; kill -QUIT $!; wait $!; rm -rf "$0"';

let shared: Promise<PostgresServer> | undefined;
let databases = 0;

/**
 * A database on the one server that all test files in this process share: creating a server takes a second, a
 * database a few milliseconds. A test that stops the server or changes its settings starts its own.
 */
export async function openDatabase(bin: string): Promise<PostgresDatabase> {
  shared ??= startServer(bin, ['max_connections=40'], { endsWithProcess: true });
  const { host, version } = await shared;
  databases += 1;
  const database = `tests_${databases}`;
  const administer = async (sql: string) => {
    const admin = new pg.Client({ host, user: 'nestwatch', database: 'postgres' });
    await admin.connect();
    await admin.query(sql);
    await admin.end();
  };
  await administer(`CREATE DATABASE ${database}`);
  const remove = () => administer(`DROP DATABASE ${database} WITH (FORCE)`);
  return { host, version, database, url: urlOf(host, database), remove };
}

function urlOf(host: string, database: string): string {
  return `postgres://nestwatch@/${database}?host=${encodeURIComponent(host)}`;
}

export async function startServer(
  bin: string,
  settings: readonly string[] = [],
  { endsWithProcess = false } = {},
): Promise<PostgresServer> {
  const user = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-pg-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  const data = join(folder, 'data');
  const options = { ...user, env: { PATH: process.env.PATH, LC_ALL: 'C' }, cwd: folder };
  const initdb = ['-D', data, '-U', 'nestwatch', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(bin, 'initdb'), initdb, { ...options, stdio: 'pipe' });
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const all = [...SETTINGS, `unix_socket_directories=${folder}`, ...settings];
    const program = [join(bin, 'postgres'), '-D', data, ...all.flatMap((one) => ['-c', one])];
    const [file, ...args] = endsWithProcess ? ['sh', '-c', WITH_THIS_PROCESS, folder, ...program] : program;
    server = spawn(file!, args, {
      ...options,
      stdio: [endsWithProcess ? 'pipe' : 'ignore', 'ignore', 'pipe'],
    });
    if (endsWithProcess)
      for (const one of [server, server.stdin as Socket, server.stderr as Socket]) one.unref();
    const said: string[] = [];
    for await (const line of createInterface(server.stderr!)) {
      said.push(line);
      if (/ready to accept (?:read-only )?connections/.test(line)) {
        server.stderr!.resume();
        return;
      }
    }
    throw new Error(`PostgreSQL did not start:\n${said.join('\n')}`);
  }

  async function stop(how: 'fast' | 'immediate'): Promise<void> {
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  await start();
  return {
    host: folder,
    database: 'postgres',
    url: urlOf(folder, 'postgres'),
    version: readFileSync(join(data, 'PG_VERSION'), 'utf8').trim(),
    stop,
    start,
    async remove() {
      await stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The place of a store on that server. */
export function placeOn({ url }: PostgresDatabase, changes: PlaceChanges = {}): PostgresPlace {
  return placeAt(url, changes);
}

/** `host`: the same ports of another host. */
export type PlaceChanges = Partial<PostgresPlace> & { readonly host?: string };

export function placeAt(url: string, { host, ...changes }: PlaceChanges): PostgresPlace {
  const address = readPostgresAddress(url);
  if (typeof address === 'string') throw new Error(`${url} ${address}`);
  const hosts = address.hosts.map((one) => ({ ...one, ...(host !== undefined && { host }) }));
  return { ...address, hosts, password: null, schema: 'nestwatch', statementTimeoutMs: 30_000, ...changes };
}

/**
 * Gives a file, or a folder with everything in it, to the user as whom the server runs. The server refuses files of
 * others.
 */
export function ownedByServer(path: string): void {
  const { uid, gid } = unprivileged();
  if (uid === undefined) return;
  const inside = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [];
  for (const one of ['', ...inside]) chownSync(join(path, one), uid, gid!);
}

function unprivileged(): User {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres', 'nobody'].flatMap((name) => users.filter((one) => one.startsWith(`${name}:`)))[0];
  const [, , uid, gid] = line?.split(':') ?? [];
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) };
}
