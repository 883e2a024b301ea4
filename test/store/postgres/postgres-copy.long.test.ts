/** Stores that are copied from a file to a server and back: everything arrives, whatever happens on the way. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StorePlace } from '../../../src/store/copy/copy-store.ts';
import { allTables } from '../../../src/store/copy/table-rows.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { encodeText } from '../../../src/store/sql/stored-text.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { OWN_AFFAIRS } from '../../../src/store/versions/tables.ts';
import { fillStore } from '../../bench/pages-store.ts';
import { nestwatch } from '../../cli/test-io.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { anAlert, anEvent, putAlert, putEvents } from '../../web/sample.ts';
import { copyBetween } from '../copy/copy-between.ts';
import { rawContent } from '../copy/raw-content.ts';
import { failure } from '../test-store.ts';
import { findServer, openDatabase, type PostgresDatabase, placeOn } from './postgres-server.ts';

const bin = findServer();
const clock = createVirtualClock();

describe.skipIf(bin === undefined)('a store is copied between SQLite and PostgreSQL', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-'));
  let server: PostgresDatabase;
  let admin: pg.Client;
  let count = 0;
  beforeAll(async () => {
    server = await openDatabase(bin!);
    admin = new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
    await admin.connect();
  }, 60_000);
  afterAll(async () => {
    await admin?.end();
    await server?.remove();
    rmSync(folder, { recursive: true });
  });

  const newFile = () => {
    count += 1;
    return join(folder, `${count}.db`);
  };
  const fill = async (path: string, work: (store: Store) => Promise<unknown> = async () => {}) => {
    const store = await openSqliteStore({ path, clock });
    await work(store);
    await store.close();
    return path;
  };
  const filledFile = () =>
    fill(newFile(), (store) => fillStore(store, { birds: 10, events: 3_000, alerts: 20 }, clock.nowUs()));
  const newSchema = () => {
    count += 1;
    return `s${count}`;
  };
  const inFile = (path: string): StorePlace => ({ url: `sqlite:${path}` });
  const onServer = (schema: string): StorePlace => ({
    url: server.url,
    postgres: placeOn(server, { schema }),
  });
  const openThere = async (schema: string) =>
    (await openPostgresStore({ place: placeOn(server, { schema }), clock })).store;

  const copy = (from: StorePlace, to: StorePlace, batches?: number) =>
    copyBetween(from, to, clock, batches === undefined ? {} : { batches });

  /** The columns that a server has for rows, by table. */
  async function columnsOf(schema: string): Promise<Map<string, readonly TypedColumn[]>> {
    const { rows } = await admin.query<TypedColumn & { table: string }>(
      `SELECT table_name AS table, column_name AS name, data_type AS type FROM information_schema.columns
       WHERE table_schema = $1 AND is_generated = 'NEVER' AND table_name <> ALL ($2) ORDER BY 1, ordinal_position`,
      [schema, OWN_AFFAIRS],
    );
    return Map.groupBy(rows, ({ table }) => table);
  }

  test('both engines have the same tables and columns, except the columns that repeat a body [long]', async () => {
    const [path, schema] = [await fill(newFile()), newSchema()];
    await copy(inFile(path), onServer(schema));
    const onFile = allTables().flatMap(({ name, columns }) => columns.map((one) => `${name}.${one.name}`));
    const there = [...(await columnsOf(schema))].flatMap(([name, columns]) =>
      columns.map((column) => `${name}.${column.name}`),
    );
    expect(there.filter((name) => !onFile.includes(name))).toEqual([
      'alert.labels',
      'alert.flight_id',
      'alert.flight_started_us',
    ]);
    expect(onFile.filter((name) => !there.includes(name))).toEqual([]);
  });

  test('whatever a column can hold arrives, on a server and back [long]', async () => {
    const [path, schema, back] = [newFile(), newSchema(), newFile()];
    await fill(path);
    await copy(inFile(path), onServer(schema));
    const rows = fillAnything(path, await columnsOf(schema));
    await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    const copied = await copy(inFile(path), onServer(schema));
    expect(copied.reduce((sum, table) => sum + table.rows, 0)).toBe(rows);
    expect(copied.filter((table) => table.rows < 2)).toEqual([]);
    // What is stored there is read without nestwatch.
    const { rows: found } = await admin.query(
      `SELECT started_us::text, id FROM ${schema}.flight ORDER BY flight.started_us LIMIT 1`,
    );
    expect(found).toEqual([{ started_us: String(Number.MIN_SAFE_INTEGER), id: expect.anything() }]);
    expect(await copy(onServer(schema), inFile(back))).toEqual(copied);
    expect(rawContent(back)).toEqual(rawContent(path));
    const again = newSchema();
    expect(await copy(onServer(schema), onServer(again))).toEqual(copied);
  });

  test('queued and numbered rows continue where they were [long]', async () => {
    const [path, schema, back] = [newFile(), newSchema(), newFile()];
    const before = await openSqliteStore({ path, clock });
    await putAlert(before, anAlert({ id: 'a' }));
    await putEvents(before, [anEvent({ id: '1' }), anEvent({ id: '2' })]);
    await before.transaction(async (tx) => {
      await tx.forwards.queue([
        { receiver: 'lake', event: anEvent({ id: '1' }) },
        { receiver: 'dam', event: anEvent({ id: '2' }) },
        { receiver: 'lake', event: anEvent({ id: '2' }) },
      ]);
      await tx.ownership.join('one', '1', 1);
      await tx.ownership.join('two', '1', 1);
    });
    await before.close();
    // What had a number and was deleted.
    const db = new DatabaseSync(path);
    db.exec("DELETE FROM replica WHERE name = 'two'");
    db.exec(`INSERT INTO notified_event VALUES (1, 700); INSERT INTO former_alert VALUES (900, 'z')`);
    db.exec(`INSERT INTO digest VALUES ('daily', '{"lastEvent":5000}')`);
    db.close();
    await copy(inFile(path), onServer(schema));
    const last = async (table: string, column: string) =>
      (
        await admin.query(
          `SELECT nextval(pg_get_serial_sequence('${schema}.${table}', '${column}'))::integer AS next`,
        )
      ).rows[0].next;
    expect(await last('notification', 'seq')).toBe(701);
    expect(await last('alert', 'alert')).toBe(901);
    expect(await last('event', 'event')).toBe(5001);
    expect(await last('replica', 'replica')).toBe(3);
    expect(await last('suppression', 'suppression')).toBe(1);
    const takeAll = (store: Store) =>
      store.transaction(async (tx) => (await tx.forwards.take('lake', 9)).map(({ key }) => key));
    const there = await openThere(schema);
    await there.transaction((tx) => tx.forwards.queue([{ receiver: 'lake', event: anEvent({ id: '3' }) }]));
    await there.close();
    await copy(onServer(schema), inFile(back));
    const after = await openSqliteStore({ path: back, clock });
    expect(await takeAll(after)).toEqual(['1', '2', '3'].map((id) => anEvent({ id }).key));
    expect(await after.transaction((tx) => tx.ownership.join('three', '1', 1))).toBe(4);
    await after.close();
  });

  test('neither side may be in use, and what exists already is not touched [long]', async () => {
    const [path, schema] = [await filledFile(), newSchema()];
    const target = await openThere(schema);
    await expect(copy(inFile(path), onServer(schema))).rejects.toMatchObject({ code: 'store_locked' });
    await target.close();
    await expect(copy(inFile(path), onServer(schema))).rejects.toMatchObject(
      failure('usage', /^there are tables already at postgres:\/\/.*, schema s\d+: name another schema/),
    );
    const source = await openThere(schema);
    await expect(copy(onServer(schema), inFile(newFile()))).rejects.toMatchObject({ code: 'store_locked' });
    await source.close();
    await expect(copy(onServer('nowhere'), inFile(newFile()))).rejects.toMatchObject(
      failure('usage', /^there is no store at postgres:.*, schema nowhere$/),
    );
    const { rows } = await admin.query("SELECT 1 FROM pg_namespace WHERE nspname = 'nowhere'");
    expect(rows).toEqual([]);
  });

  test('an interrupted copy is no store, and the next one begins anew [long]', async () => {
    const [path, schema, back] = [await filledFile(), newSchema(), newFile()];
    await expect(copy(inFile(path), onServer(schema), 30)).rejects.toMatchObject({ code: 'cancelled' });
    await expect(openThere(schema)).rejects.toMatchObject(
      failure('store_unfinished', expect.stringContaining(`The schema ${schema} of the store `)),
    );
    await expect(copy(onServer(schema), inFile(back))).rejects.toMatchObject({ code: 'store_unfinished' });
    await copy(inFile(path), onServer(schema));
    await expect(copy(onServer(schema), inFile(back), 30)).rejects.toMatchObject({ code: 'cancelled' });
    await copy(onServer(schema), inFile(back));
    expect(rawContent(back)).toEqual(rawContent(path));
  });

  describe('by the commands of an operator', () => {
    async function configured() {
      const schema = newSchema();
      const config = newFile().replace('.db', '.yaml');
      writeFileSync(
        config,
        `regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }\nstore: { url: "${server.url}", schema: ${schema} }\n`,
      );
      const store = await openThere(schema);
      await putAlert(store, anAlert({ id: 'a' }));
      await putEvents(store, [anEvent({ id: '1' })]);
      const run = (...args: string[]) => nestwatch(['store', ...args, '--config.file', config]);
      return { schema, store, run };
    }

    test('a backup of a server is taken while a daemon runs, is a store in a file, and restores it [long]', async () => {
      const { schema, store, run } = await configured();
      const backup = newFile();
      const { exit, stdout, stderr } = await run('backup', backup);
      expect(stderr).toMatch(/^ {2}\d+ % {2}copied /);
      expect({ exit, stdout }).toEqual({
        exit: 0,
        stdout: expect.stringMatching(/^postgres:\/\/.*, schema s\d+ → \S+\.db, \d+\.\d KiB\n$/),
      });
      expect(statSync(backup).mode & 0o777).toBe(0o600);
      expect(
        ['.partial', '.partial.lock', '-wal', '-shm', '.lock'].filter((end) => existsSync(backup + end)),
      ).toEqual([]);
      await putEvents(store, [anEvent({ id: '2' })]);
      expect((await run('check', backup)).stdout).toMatch(
        / is whole: .* 1 event, 1 alert firing, 0 deliveries to be sent\n$/,
      );
      expect((await run('check')).stdout).toMatch(
        /^postgres:\/\/.*, schema s\d+ is whole: .*, tables of version \d+, 2 events, 1 alert firing/,
      );
      expect(await run('backup', backup)).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining('is there already'),
      });
      await store.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      expect(await run('copy', '--from', `sqlite:${backup}`)).toMatchObject({ exit: 0 });
      const restored = await openThere(schema);
      expect((await restored.transaction((tx) => tx.events.page({ limit: 9 }))).events).toHaveLength(1);
      await restored.close();
    });
  });
});

interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

const TEXTS = [
  ...['', '"', '""', 'a\0b', '\0', '\ud800', 'x\udfff"', '\ufffd'],
  ...["'; --", '\\x00', '{}', '[1', 'ß\u{1f426}', '\n\r\t', 'NULL'],
];
const INTEGERS = [0, -1, 42, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
const REALS = [0, -0.1, 1e-308, 1.7976931348623157e308, 1 / 3];

/** Fills every table with rows of whatever the columns of the server's tables can hold; returns how many. */
function fillAnything(path: string, tables: ReadonlyMap<string, readonly TypedColumn[]>): number {
  const db = new DatabaseSync(path);
  let all = 0;
  for (const [name, columns] of tables) {
    const known = new Set(
      db
        .prepare(`SELECT name FROM pragma_table_info('${name}')`)
        .all()
        .map((row) => row.name),
    );
    const written = columns.filter((column) => known.has(column.name));
    const insert = db.prepare(
      `INSERT OR IGNORE INTO ${name} (${written.map((column) => column.name).join(', ')})
       VALUES (${written.map(() => '?').join(', ')})`,
    );
    insert.setReadBigInts(true);
    for (let row = 0; row < 40; row += 1) {
      const values = written.map(({ type }, index) => {
        const at = row * 7 + index * 3;
        if (type === 'boolean') return at % 2;
        if (type === 'integer') return [0, -(2 ** 31), 2 ** 31 - 1][at % 3]!;
        if (type === 'bigint') return INTEGERS[at % INTEGERS.length]!;
        if (type === 'double precision') return REALS[at % REALS.length]!;
        if (type === 'bytea') return Buffer.from([row, 0, 255]);
        return encodeText(TEXTS[at % TEXTS.length]! + (row >= TEXTS.length ? String(row) : ''));
      });
      all += Number(insert.run(...values).changes);
    }
  }
  db.close();
  return all;
}
