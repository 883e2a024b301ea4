/** A daemon whose store takes long to open, as separate processes: it answers, and it can be stopped. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { STEPS } from '../../../src/store/versions/steps.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { findServer, openDatabase } from '../postgres/postgres-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { failure } from '../test-store.ts';
import { expectKept } from './kept-content.ts';
import { keptOnServer, writeKept } from './kept-store.ts';
import { NEXT_STEPS } from './next-steps.ts';

const bin = findServer();
const NOW = STEPS.length;
const NEXT = NEXT_STEPS.length;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** A folder with a store of this version, and a daemon of a later one on it or on another store. */
async function start(version: 'next' | 'endless' | 'broken', url?: string) {
  const folder = temporaryFolder();
  const path = join(folder, 'store.db');
  writeKept(NOW, path);
  const port = await freePort();
  const config = join(folder, 'nestwatch.yaml');
  writeFileSync(
    config,
    `regions: { eu: { base_url: http://127.0.0.1:9/, token: t } }
store: { url: '${url ?? `sqlite:${path}`}' }
web: { listen: 127.0.0.1:${port} }
receivers: [{ name: nobody }]
route: { receiver: nobody }
`,
  );
  const program = join(import.meta.dirname, 'next-nestwatch.ts');
  const daemon = spawn(process.execPath, [program, version, 'run', config], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void daemon.kill('SIGKILL'));
  const log = text(daemon.stderr);
  const ended = once(daemon, 'exit');
  async function ask(address: string) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${address}`);
      return { status: answer.status, body: await answer.text(), again: answer.headers.get('retry-after') };
    } catch {
      return { status: 0, body: '', again: null };
    }
  }
  return { path, daemon, ended, log, ask };
}

const OPENING = /The store is being opened: changing tables, since [-\d]+ [:\d]+ UTC\./;

const ENGINES = [
  ['SQLite', undefined],
  ['PostgreSQL', bin],
] as const;

test.each(ENGINES)(
  'on %s, the daemon is healthy while it changes tables, and stops when it is asked to [long]',
  async (engine, program) => {
    if (engine === 'PostgreSQL' && program === undefined) return;
    const server = program === undefined ? undefined : await openDatabase(program);
    onTestFinished(async () => server?.remove());
    const admin =
      server && new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
    await admin?.connect();
    await admin?.query(`${keptOnServer(NOW)}; RESET search_path`);
    onTestFinished(async () => admin?.end());

    const { path, daemon, ended, log, ask } = await start('endless', server?.url);
    const body = expect.stringMatching(OPENING);
    await expect.poll(() => ask('/-/healthy')).toMatchObject({ status: 200, body });
    expect(await ask('/-/ready')).toMatchObject({ status: 503, body });
    expect(await ask('/api/v1/alerts')).toMatchObject({ status: 503, body, again: '10' });
    daemon.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(await log).toContain('nestwatch has stopped');

    // Nothing of it goes on, and the store is as it was.
    if (admin) {
      const steps = () =>
        admin.query(
          `SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()`,
        );
      await expect.poll(async () => (await steps()).rowCount, { timeout: 30_000 }).toBe(0);
    } else {
      await expectKept(openSqliteStore({ path, clock: createVirtualClock() }));
    }
  },
);

test('on SQLite, another process changes the tables, and then the daemon goes on [long]', async () => {
  const { path, daemon, ended, ask, log } = await start('next');
  await expect.poll(() => ask('/-/ready')).toMatchObject({ body: expect.stringMatching(/Region eu|^Ready/) });
  daemon.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(await log).toContain(
    `"from":${NOW},"to":${NEXT},"changes":[],"message":"The tables of the store are being changed"`,
  );
  await expect(openSqliteStore({ path, clock: createVirtualClock() })).rejects.toMatchObject(
    failure('store_newer', expect.stringContaining(`was made version ${NEXT} by`)),
  );
});

test('on SQLite, the daemon says why the other process could not change the tables [long]', async () => {
  const { path, log, ended } = await start('broken');
  expect(await ended).toEqual([1, null]);
  expect(await log).toContain(`The tables of the store ${path} could not be changed: no such table: nobody`);
});
