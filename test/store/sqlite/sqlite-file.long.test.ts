import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Event } from '../../../src/domain/alert/event.ts';
import { exposedFiles, openStore, storePath } from '../../../src/store/open-store.ts';
import { openConnection } from '../../../src/store/sqlite/connection.ts';
import { prepareSchema } from '../../../src/store/sqlite/prepare-schema.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Transaction } from '../../../src/store/store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import {
  alert,
  delivery,
  event,
  everyPage,
  groupNotification,
  insert,
  NOW_US,
} from '../contract/sample-records.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { failure, type TestStore, testStore } from '../test-store.ts';

const clock = createVirtualClock();
let directory: string;
let path: string;

beforeEach(() => {
  directory = temporaryFolder();
  path = join(directory, 'store.db');
});

/** A store that closes with the test, if not before. */
async function open(file = path): Promise<TestStore> {
  const store = await openSqliteStore({ path: file, clock });
  onTestFinished(() => store.close());
  return testStore(store);
}
const refusal = (file = path) =>
  open(file).then(
    (store) => store.close().then(() => 'opened'),
    (error) => error,
  );

/** Fills a store with something to lose and closes it. */
async function fill(length = 500): Promise<void> {
  const store = await open();
  const events = Array.from({ length }, (_, at) => event(`e${at}`, { occurredAtUs: NOW_US + at }));
  await store.transaction((tx) => insert(tx, events));
  await store.close();
}

function child(
  command: string,
  args: readonly string[],
): { process: ChildProcess; lines: AsyncIterator<string> } {
  const started = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => kill(started));
  return { process: started, lines: createInterface({ input: started.stdout })[Symbol.asyncIterator]() };
}

const nestwatch = (...args: string[]) =>
  child(process.execPath, [join(import.meta.dirname, 'store-process.ts'), ...args]);

async function kill(started: ChildProcess): Promise<void> {
  if (started.exitCode !== null || started.signalCode !== null) return;
  const exited = once(started, 'exit');
  started.kill('SIGKILL');
  await exited;
}

describe('opening a store', () => {
  test('creates the file and its directories', async () => {
    const deep = join(directory, 'a', 'b', 'store.db');
    await open(deep);
    expect(existsSync(deep)).toBe(true);
  });

  test('gives nobody else a right to what it creates, whatever the umask, and leaves existing files as they are', async () => {
    const before = process.umask(0o000);
    onTestFinished(() => void process.umask(before));
    const deep = join(directory, 'own', 'store.db');
    const store = await open(deep);
    await store.streams.open('eu', 'notification', '');
    const modes = ['', '-wal', '-shm', '.lock'].map((end) => statSync(`${deep}${end}`).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
    expect(statSync(join(directory, 'own')).mode & 0o777).toBe(0o700);
    expect(await exposedFiles(`sqlite:${deep}`)).toEqual([]);
    await store.close();

    chmodSync(deep, 0o640);
    chmodSync(join(directory, 'own'), 0o775);
    await (await open(deep)).close();
    expect(statSync(deep).mode & 0o777).toBe(0o640);
    expect(await exposedFiles(`sqlite:${deep}`)).toEqual([
      `others may read ${deep} (0640): chmod 600 it`,
      `others may replace what is in ${join(directory, 'own')} (0775): chmod 700 it`,
    ]);
    expect(await exposedFiles('sqlite::memory:')).toEqual([]);
  });

  test('uses the place that store.url names', async () => {
    const { store, sharing } = await openStore({ url: `sqlite:${path}`, clock });
    await store.close();
    expect(sharing).toBeUndefined();
    expect(existsSync(path)).toBe(true);
    const { store: trial } = await openStore({ url: 'sqlite::memory:', clock });
    expect(await trial.transaction((tx) => tx.streams.list('eu'))).toEqual([]);
    await trial.close();
  });

  test.each([
    ['postgres://user@host/db', /names a store on a server/],
    ['postgresql://host/db', /names a store on a server/],
    ['sqlite:', /store\.url must look like sqlite:data\/nestwatch\.db/],
    ['data/nestwatch.db', /store\.url must look like/],
    ['mysql://host/db', /store\.url must look like/],
  ])('refuses %s as a wrong configuration', async (url, message) => {
    await expect(openStore({ url, clock })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(message),
    });
  });

  test('refuses an impossible place by name', async () => {
    writeFileSync(path, '');
    const below = join(path, 'below a file', 'x.db');
    expect(await refusal(below)).toMatchObject(
      failure('store_failed', `The store ${below} cannot be made or opened: ${path} is not a directory.`),
    );
    expect(await refusal(directory)).toMatchObject(
      failure(
        'store_failed',
        `The store ${directory} cannot be made or opened: ${directory} is a directory.`,
      ),
    );
  });

  test('reuses no number of what was deleted', async () => {
    const first = await open();
    const later = event('later', { occurredAtUs: NOW_US + 1_000_000 });
    const queue = (tx: Transaction, id: string, events: readonly Event[]) =>
      tx.outbox.enqueue(groupNotification(id, events), [
        delivery(id, { state: 'delivered', settledAtUs: NOW_US }),
      ]);
    await first.transaction(async (tx) => {
      await insert(tx, [later, event('a'), event('b')]);
      await queue(tx, 'deleted', [later]);
      await tx.digests.put({ name: 'daily', lastUs: NOW_US, lastEvent: 3 });
      await tx.upkeep.prune(NOW_US + 1, 100);
    });
    await first.close();
    const second = await open();
    await second.transaction(async (tx) => {
      await queue(tx, 'another', []);
      expect(await tx.outbox.notificationsOfEvent(later.key)).toEqual([]);
      await tx.upkeep.prune(NOW_US + 2_000_000, 100);
    });
    await second.close();
    const third = await open();
    await third.transaction(async (tx) => {
      await insert(tx, [event('c', { occurredAtUs: NOW_US + 9_000_000, type: 'flight.failed' })]);
      expect(await tx.digests.endedFlights(3, 100)).toHaveLength(1);
    });
  });

  test('keeps the texts of the newest malformed entries of each stream [long]', async () => {
    const store = await open();
    const keep = (stream: number, from: number, count: number) =>
      store.streams.quarantine(
        stream,
        Array.from({ length: count }, (_, index) => ({ raw: `entry ${from + index}`, reason: 'cut' })),
        NOW_US,
      );
    expect(await keep(1, 0, 1)).toBe(1);
    expect(await keep(2, 0, 150)).toBe(150);
    expect(await keep(2, 100, 250)).toBe(200);
    await store.close();
    const db = new DatabaseSync(path);
    const rows = db.prepare(`SELECT stream, reason, raw FROM quarantine WHERE raw <> ''`).all();
    const all = db.prepare(`SELECT count(*) AS count FROM quarantine WHERE reason = 'cut'`).get();
    db.close();
    expect(rows.map(({ stream, raw }) => `${stream} ${raw}`)).toEqual([
      '1 entry 0',
      ...Array.from({ length: 200 }, (_, index) => `2 entry ${150 + index}`),
    ]);
    expect(all).toEqual({ count: 351 });
  });

  test('refuses a store from before the first release, says what to do, and changes nothing', async () => {
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE event (event INTEGER)');
    db.exec(`PRAGMA application_id = ${0x6e657374}; PRAGMA user_version = 13`);
    db.close();
    const before = readFileSync(path);
    expect(await refusal()).toMatchObject(
      failure(
        'config_invalid',
        `The store ${path} is of a version before 0.1.0, which this one cannot read: ` +
          'move the file away, so that a new store begins, or name another file in store.url.',
      ),
    );
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test('refuses the database of another program and changes nothing', async () => {
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE theirs (x); PRAGMA user_version = 1');
    db.close();
    const before = readFileSync(path);
    expect(await refusal()).toMatchObject({ code: 'config_invalid' });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('refuses what is not a database', async () => {
    writeFileSync(path, 'This is a text of more than a hundred bytes. '.repeat(40));
    expect(await refusal()).toMatchObject(
      failure('store_corrupt', `The store ${path} is not an SQLite database.`),
    );
  });

  test('refuses a damaged store', async () => {
    await fill();
    const pageSize = 8192;
    const file = openSync(path, 'r+');
    for (let at = 6 * pageSize; at < statSync(path).size; at += pageSize) {
      writeSync(file, Buffer.alloc(200, 0xa5), 0, 200, at + 8);
    }
    closeSync(file);
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' });
  });

  test('refuses a truncated store', async () => {
    await fill();
    writeFileSync(path, readFileSync(path).subarray(0, 5 * 8192 + 100));
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' });
  });

  test('releases the lock when it refuses', async () => {
    writeFileSync(path, 'x'.repeat(5000));
    expect(await refusal()).toMatchObject({ code: 'store_corrupt' });
    rmSync(path);
    expect(await refusal()).toBe('opened');
  });
});

describe('one process at a time', () => {
  test('learns at once that another one uses the store, by any name [long]', async () => {
    const holder = nestwatch('hold', path);
    expect((await holder.lines.next()).value).toBe('open');
    const alias = join(directory, 'alias.db');
    symlinkSync(path, alias);
    for (const name of [path, alias, join(directory, '.', 'store.db')]) {
      expect(await refusal(name)).toMatchObject(
        failure('store_locked', `Another nestwatch uses the store ${path}.`),
      );
    }
    await kill(holder.process);
    expect(await refusal()).toBe('opened');
  });

  test('refuses a second opening by the same process until the first is closed', async () => {
    const store = await open();
    expect(await refusal()).toMatchObject({ code: 'store_locked' });
    await store.close();
    expect(await refusal()).toBe('opened');
  });

  test('does not keep people from reading the store with another program', async () => {
    await fill(10);
    const store = await open();
    const reader = new DatabaseSync(path, { readOnly: true });
    const read = reader.prepare('SELECT count(*) AS count FROM event');
    expect(read.get()).toEqual({ count: 10 });
    await store.transaction((tx) => insert(tx, [event('new')]));
    expect(read.get()).toEqual({ count: 11 });
    reader.close();
  });
});

describe('another program that has locked the store', () => {
  /** Takes the lock, as writing does, or also keeps others from reading. The returned function releases it. */
  function locked(mode: 'writing' | 'reading'): () => void {
    const other = new DatabaseSync(path);
    onTestFinished(() => void (other.isOpen && other.close()));
    if (mode === 'reading') other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    else other.exec('BEGIN EXCLUSIVE');
    return () => other.close();
  }

  test.each(['writing', 'reading'] as const)(
    'to keep it from %s is waited for at the start [long]',
    async (mode) => {
      await fill(10);
      const release = locked(mode);
      const opening = refusal();
      await clock.advance(5_000);
      release();
      await clock.advance(100);
      expect(await opening).toBe('opened');
    },
  );

  test('is waited for while a new store is made', async () => {
    const other = new DatabaseSync(path);
    other.exec('BEGIN EXCLUSIVE');
    const opening = refusal();
    await clock.advance(5_000);
    other.close();
    await clock.advance(100);
    expect(await opening).toBe('opened');
  });

  test.each(['writing', 'reading'] as const)(
    'to keep it from %s for long is named, and nothing is held [long]',
    async (mode) => {
      await fill(10);
      const release = locked(mode);
      const opening = refusal();
      await clock.advance(10_100);
      expect(await opening).toMatchObject(
        failure('store_down', `The store ${path} is locked by another program.`),
      );
      release();
      expect(await refusal()).toBe('opened');
    },
  );

  test.each(['writing', 'reading'] as const)(
    'to keep it from %s is waited for as long as the start may take, and told [long]',
    async (mode) => {
      await fill(10);
      const release = locked(mode);
      const told: unknown[] = [];
      const opening = openStore({
        url: `sqlite:${path}`,
        clock,
        patienceMs: 120_000,
        away: (error) => told.push(error),
      });
      await clock.advance(12_000);
      expect(told).toMatchObject([{ code: 'store_down' }]);
      release();
      await clock.advance(100);
      await (await opening).store.close();
    },
  );

  test('does not lose what was to be written meanwhile', async () => {
    const store = await open();
    const release = locked('writing');
    const insert = store.transaction(async (tx) => {
      const { stream } = await tx.streams.open('eu', 'notification', '');
      return tx.events.insert(stream, [event('a')]);
    });
    await clock.advance(1_000);
    release();
    await clock.advance(100);
    expect(await insert).toHaveLength(1);
  });
});

describe('committed data', () => {
  test('is on disk when a commit returns, in a log that survives the process', () => {
    const connection = openConnection(path);
    prepareSchema(connection, path);
    const pragma = (name: string) => Object.values(connection.prepare<object>(`PRAGMA ${name}`).get()!)[0];
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(2);
    connection.close();
  });

  /** Bytes appended to the write-ahead log: a commit that changed nothing appends none. */
  const walBytes = () => statSync(`${path}-wal`).size;

  test('costs no write if nothing changed', async () => {
    const store = await open();
    const insert = () =>
      store.transaction(async (tx) => {
        const { stream } = await tx.streams.open('eu', 'notification', '');
        await tx.streams.advanceCursor(stream, NOW_US);
        return tx.events.insert(stream, [event('a'), event('b')]);
      });
    expect(await insert()).toHaveLength(2);
    const before = walBytes();
    expect(await insert()).toHaveLength(0);
    await store.events.page({ limit: 10 });
    await store.outbox.claim('ops', 0, NOW_US, 10);
    await store.upkeep.prune(0, 10);
    expect(walBytes()).toBe(before);
  });

  test('leaves no link to an event that retention deleted', async () => {
    const store = await open();
    await store.transaction(async (tx) => {
      await insert(tx, [event('old')]);
      await tx.alerts.put([alert('a', { state: 'resolved' })]);
      await tx.alerts.linkEvents([{ alertId: 'a', seq: 1, event: event('old') }]);
    });
    // The alert's episode is deleted together with the event.
    expect(await store.upkeep.prune(NOW_US + 1, 10)).toBe(2);
    await store.close();
    const reader = new DatabaseSync(path, { readOnly: true });
    expect(reader.prepare('SELECT count(*) AS count FROM alert_event').get()).toEqual({ count: 0 });
    reader.close();
  });

  const KILLS = [1, 7, 40, 150, 333];
  test('is complete after kill -9 at any moment: what was acknowledged, and no half of anything [long]', async () => {
    let first = 0;
    for (const killAfter of KILLS) {
      const writer = nestwatch('write', path, String(first));
      expect((await writer.lines.next()).value).toBe('open');
      const acknowledged: number[] = [];
      while (acknowledged.length < killAfter) acknowledged.push(Number((await writer.lines.next()).value));
      const exited = once(writer.process, 'exit');
      writer.process.kill('SIGKILL');
      for (let line = await writer.lines.next(); !line.done; line = await writer.lines.next()) {
        acknowledged.push(Number(line.value));
      }
      await exited;
      const store = await open();
      const { done, parts } = await store.transaction(async (tx) => ({
        done: new Set((await tx.inventory.nests('eu')).map((nest) => Number(nest.nestId))),
        parts: await countParts(tx),
      }));
      for (const number of acknowledged) expect(done.has(number)).toBe(true);
      expect(new Set(parts.keys())).toEqual(done);
      expect(new Set(parts.values())).toEqual(new Set([3]));
      await store.close();
      first = Math.max(...done) + 1;
    }
  });

  test('a store fails permanently once the disk has failed, and is complete when it is opened again [long]', async () => {
    // The shell limits the size of files: to SQLite that is a disk that fails to write.
    const writer = child('sh', [
      '-c',
      'ulimit -f 4000; exec "$@"',
      'sh',
      process.execPath,
      join(import.meta.dirname, 'store-process.ts'),
      'write',
      path,
      '0',
    ]);
    const acknowledged: number[] = [];
    const complaints: string[] = [];
    for (let line = await writer.lines.next(); !line.done; line = await writer.lines.next()) {
      if (/^\d+$/.test(line.value)) acknowledged.push(Number(line.value));
      else complaints.push(line.value);
    }
    expect(complaints).toEqual(['open', 'store_failed', 'then store_failed']);
    expect(acknowledged.length).toBeGreaterThan(100);
    const store = await open();
    const done = new Set((await store.inventory.nests('eu')).map((nest) => Number(nest.nestId)));
    for (const number of acknowledged) expect(done.has(number)).toBe(true);
  });

  /** How many events of each numbered transaction exist. */
  async function countParts(tx: Transaction) {
    const pages = await everyPage((cursor) => tx.events.page({ limit: 1000, cursor }));
    const parts = new Map<number, number>();
    for (const { key } of pages.flatMap(({ events }) => events)) {
      const number = Number(/(\d+)-\d+$/.exec(key)![1]);
      parts.set(number, (parts.get(number) ?? 0) + 1);
    }
    return parts;
  }
});

test('a store reports its size and the free space', async () => {
  const store = await open();
  const before = store.space()!;
  expect(before.used).toBeGreaterThanOrEqual(statSync(path).size);
  expect(before.free).toBeGreaterThan(0);
  expect(before.whole).toBeGreaterThan(before.free!);
  await store.close();
  await fill(5_000);
  const again = await open();
  expect(again.space()!.used).toBeGreaterThan(before.used + 500_000);
  await again.close();
  expect((await openSqliteStore({ path: ':memory:', clock })).space()).toMatchObject({ whole: 0 });
});

test.each([
  ['sqlite:data/n.db', 'data/n.db'],
  ['sqlite:/var/n.db', '/var/n.db'],
  ['sqlite:///var/n.db', '/var/n.db'],
])('%s names the file %s', (url, path) => {
  expect(storePath(url)).toBe(path);
});
