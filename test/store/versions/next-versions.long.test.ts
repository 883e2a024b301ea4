/** What the next versions of the tables do to a store of this one, and what this one does with theirs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { STEPS, type Step } from '../../../src/store/versions/steps.ts';
import { VERSION } from '../../../src/version.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { findServer, openDatabase, type PostgresDatabase, placeAt } from '../postgres/postgres-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { failure } from '../test-store.ts';
import { expectKept } from './kept-content.ts';
import { keptOnServer, writeKept } from './kept-store.ts';
import { BROKEN_STEPS, NEXT_STEPS } from './next-steps.ts';

const bin = findServer();
const clock = createVirtualClock();
const NOW = STEPS.length;
const NEXT = NEXT_STEPS.length;

/** A process that migrates the store as the version after the next does. */
function migrate(where: string, version: 'next' | 'endless' = 'next') {
  const program = join(import.meta.dirname, 'next-nestwatch.ts');
  const args = [program, version, 'store', 'migrate', where];
  const started = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => void started.kill('SIGKILL'));
  return { process: started, ended: once(started, 'exit') };
}

const KILLS = 5;

describe('a file', () => {
  let path: string;
  beforeEach(() => {
    path = join(temporaryFolder(), 'store.db');
    writeKept(NOW, path);
  });

  const open = (steps?: readonly Step[]) => openSqliteStore({ path, clock, steps });
  const inFile = (sql: string) => {
    const db = new DatabaseSync(path);
    const rows = db.prepare(sql).all();
    db.close();
    return rows;
  };

  test('is brought to the newest version, after a copy of it was made [long]', async () => {
    await expectKept(open(NEXT_STEPS));
    expect(inFile('SELECT step, version, oldest FROM schema_step')).toEqual(
      NEXT_STEPS.map(({ oldest }, index) => ({ step: index + 1, version: VERSION, oldest })),
    );
    expect(inFile('SELECT DISTINCT note FROM bird')).toEqual([{ note: 'the number 7' }]);
  });

  test('goes back to the copy by its name alone, and forward again [long]', async () => {
    await (await open(NEXT_STEPS)).close();
    renameSync(`${path}.version-${NOW}`, path);
    for (const steps of [STEPS, NEXT_STEPS]) {
      await expectKept(open(steps));
    }
  });

  test('is whole and of the newest version, however often the process is killed [long]', async () => {
    // Until the copy is being made, until it is made, and until more and more of the change is written.
    const reached = [
      () => existsSync(`${path}.version-${NOW}.partial`),
      () => existsSync(`${path}.version-${NOW}`),
      ...Array.from({ length: KILLS - 2 }, (_, index) => () => walBytes() > index * 2_400_000),
    ];
    const walBytes = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    let killed = 0;
    for (const isReached of reached) {
      const next = migrate(path);
      const ended = next.ended.then(() => true);
      await expect
        .poll(async () => isReached() || next.process.exitCode !== null, { interval: 1 })
        .toBe(true);
      next.process.kill('SIGKILL');
      await ended;
      if (next.process.signalCode === 'SIGKILL') killed += 1;
      const [row] = inFile('SELECT count(*) AS alerts FROM alert');
      expect(row).toEqual({ alerts: 4 });
    }
    expect(killed).toBe(KILLS);
    expect(await migrate(path).ended).toEqual([0, null]);
    await expectKept(open(NEXT_STEPS));
    expect(inFile('SELECT count(*) AS count FROM number')).toEqual([{ count: 400_000 }]);
    expect(inFile('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  test('stays as it was if a step fails [long]', async () => {
    await (await open()).close();
    await expect(open(BROKEN_STEPS)).rejects.toThrow('nobody');
    await expectKept(open());
  });

  test('is refused by an older version that cannot use it, which changes nothing and says why [long]', async () => {
    await (await open(NEXT_STEPS)).close();
    const before = readFileSync(path);
    await expect(open()).rejects.toMatchObject(
      failure(
        'store_newer',
        `The store ${path} was made version ${NEXT} by nestwatch ${VERSION}; this one, ${VERSION}, knows version ${NOW}.`,
      ),
    );
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('is opened by an older version that can use it, and then by the newer one', async () => {
    const compatible = NEXT_STEPS.slice(0, -1);
    await (await open(compatible)).close();
    await expectKept(open());
    await expectKept(open(compatible));
  });

  test.each([
    // As it was a hundred commits before the first store was kept.
    ['before it stored digests', 'ALTER TABLE delivery DROP COLUMN refusals'],
    ['with its digest', `UPDATE schema_step SET digest = 'other'`],
  ])('of another build under the same number is refused by name, made %s [long]', async (how, change) => {
    rmSync(path);
    writeKept(1, path);
    if (how === 'with its digest') await (await open()).close();
    inFile(change);
    await expect(open()).rejects.toMatchObject(
      failure(
        'store_other',
        `The store ${path} has tables that another build of nestwatch ${VERSION} made as version 1: they are not those that nestwatch ${VERSION} knows by this number.`,
      ),
    );
  });
});

describe.skipIf(bin === undefined)('a schema', () => {
  let server: PostgresDatabase;
  let admin: pg.Client;
  beforeEach(async () => {
    server = await openDatabase(bin!);
    admin = new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
    await admin.connect();
    await admin.query(`${keptOnServer(NOW)}; RESET search_path`);
  });
  afterEach(async () => {
    await admin.end();
    await server.remove();
  });

  const open = async (steps?: readonly Step[]) =>
    (await openPostgresStore({ place: placeAt(server.url, {}), clock, steps })).store;

  /** The server's processes that run statements like this, besides the one that asks. */
  const running = async (like: string) => {
    const { rows } = await admin.query(
      `SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()
       AND datname = current_database()`,
      [like],
    );
    return rows.length;
  };

  test('is whole and of the newest version, however often the process is killed [long]', async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const next = migrate(server.url);
      await expect.poll(() => running('%INSERT INTO number%'), { interval: 1 }).toBe(1);
      next.process.kill('SIGKILL');
      expect(await next.ended).toEqual([null, 'SIGKILL']);
    }
    expect(await migrate(server.url).ended).toEqual([0, null]);
    await expectKept(open(NEXT_STEPS));
    const { rows } = await admin.query('SELECT count(*)::integer AS count FROM nestwatch.number');
    expect(rows).toEqual([{ count: 400_000 }]);
  });

  test('is no longer changed for a process that was killed [long]', async () => {
    const endless = migrate(server.url, 'endless');
    await expect.poll(() => running('%pg_sleep%')).toBe(1);
    endless.process.kill('SIGKILL');
    await expect.poll(() => running('%pg_sleep%'), { timeout: 30_000 }).toBe(0);
  });

  test('stays as it was if a step fails [long]', async () => {
    await expect(open(BROKEN_STEPS)).rejects.toThrow('nobody');
    await expectKept(open());
  });

  test('is refused by an older version that cannot use it, which says why [long]', async () => {
    await (await open(NEXT_STEPS)).close();
    await expect(open()).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringMatching(
        `^The schema nestwatch of the store .* was made version ${NEXT} by nestwatch ${VERSION}; this one, ${VERSION}, knows version ${NOW}\\.$`,
      ),
    });
  });

  test.each([
    ['before it stored digests', 'ALTER TABLE nestwatch.delivery DROP COLUMN refusals'],
    [
      'with its digest',
      `ALTER TABLE nestwatch.schema_step ADD COLUMN digest TEXT; UPDATE nestwatch.schema_step SET digest = 'other'`,
    ],
  ])('of another build under the same number is refused by name, made %s', async (_, change) => {
    await admin.query(`DROP SCHEMA nestwatch CASCADE; ${keptOnServer(1)}; RESET search_path`);
    await admin.query(change);
    await expect(open()).rejects.toMatchObject({
      code: 'store_other',
      message: expect.stringMatching(
        `^The schema nestwatch of the store .* has tables that another build of nestwatch ${VERSION} made as version 1: `,
      ),
    });
  });
});
