import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TransactionQueue } from '../../../src/store/sql/transactions.ts';
import { type Connection, openConnection } from '../../../src/store/sqlite/connection.ts';
import { createTransactionQueue } from '../../../src/store/sqlite/transaction-queue.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Statements that the queue ran, such as `BEGIN`, `COMMIT`. */
let log: string[];
let directory: string;
let connection: Connection;
let queue: TransactionQueue;
let rolledBack: number;
const clock = createVirtualClock();

beforeEach(() => {
  log = [];
  rolledBack = 0;
  directory = temporaryFolder();
  const opened = openConnection(join(directory, 'queue.db'));
  opened.exec('PRAGMA journal_mode = WAL; CREATE TABLE kept (number INTEGER PRIMARY KEY, text TEXT) STRICT');
  connection = {
    ...opened,
    exec(sql) {
      log.push(sql.split(' ')[0]!);
      opened.exec(sql);
    },
  };
  queue = createTransactionQueue({
    connection,
    clock,
    gather: async () => {},
    rolledBack: () => {
      rolledBack += 1;
    },
  });
});

afterEach(async () => {
  await queue.drain();
  connection.close();
});

const keep = (number: number, text = '') =>
  queue.run(async () => connection.prepare('INSERT INTO kept VALUES (?, ?)').run(number, text));
const kept = () =>
  queue.run(async () => {
    const rows = connection.prepare<{ number: number }>('SELECT number FROM kept ORDER BY number').all();
    return rows.map((row) => row.number);
  });
const range = (length: number) => Array.from({ length }, (_, index) => index);
const commits = () => log.filter((sql) => sql === 'COMMIT').length;

describe('group commit', () => {
  test('shares one commit among those that wait, up to a number', async () => {
    await Promise.all(range(150).map((number) => keep(number)));
    expect(commits()).toBe(3);
    expect(await kept()).toEqual(range(150));
  });

  test('needs no savepoint for a single transaction', async () => {
    await keep(1);
    expect(log).toEqual(['BEGIN', 'COMMIT']);
  });

  test('ends a batch that took long, so that the first does not wait for the last', async () => {
    const slow = (number: number) =>
      queue.run(async () => {
        await clock.advance(20);
        connection.prepare('INSERT INTO kept VALUES (?, NULL)').run(number);
      });
    await Promise.all(range(7).map(slow));
    expect(commits()).toBe(3);
  });

  test('includes those that come while the batch runs', async () => {
    const late: Promise<unknown>[] = [];
    const first = queue.run(async () => {
      late.push(keep(2));
      await Promise.resolve();
      late.push(keep(3));
    });
    await first;
    await Promise.all(late);
    expect(commits()).toBe(1);
    expect(await kept()).toEqual([2, 3]);
  });

  test('reports success to nobody before the commit', async () => {
    const order: string[] = [];
    await Promise.all(range(3).map((number) => keep(number).then(() => order.push(`${commits()}`))));
    expect(order).toEqual(['1', '1', '1']);
  });
});

describe('a failing transaction', () => {
  test('is rolled back alone, first, last or in between, and reports it', async () => {
    const outcomes = await Promise.allSettled(
      range(9).map((number) =>
        queue.run(async () => {
          connection.prepare('INSERT INTO kept VALUES (?, NULL)').run(number);
          if (number % 4 === 0) throw new Error(`no ${number}`);
        }),
      ),
    );
    expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : 'done'))).toEqual(
      range(9).map((number) => (number % 4 === 0 ? `no ${number}` : 'done')),
    );
    expect(await kept()).toEqual([1, 2, 3, 5, 6, 7]);
    expect(rolledBack).toBe(3);
  });

  test('that throws before it awaits is rolled back as well', async () => {
    const failed = queue.run(() => {
      connection.prepare('INSERT INTO kept VALUES (1, NULL)').run();
      throw new Error('at once');
    });
    await expect(failed).rejects.toThrow('at once');
    expect(await kept()).toEqual([]);
  });

  test('cannot continue after one of its statements failed', async () => {
    const swallowed = queue.run(async () => {
      const insert = connection.prepare('INSERT INTO kept VALUES (?, NULL)');
      insert.run(1);
      expect(() => insert.run(1)).toThrow('UNIQUE');
      expect(() => insert.run(2)).toThrow('UNIQUE');
    });
    await expect(swallowed).rejects.toThrow('UNIQUE');
    await keep(3);
    expect(await kept()).toEqual([3]);
  });
});

describe('a failing commit', () => {
  test('rejects all that shared it, and nothing of them remains', async () => {
    connection.exec('PRAGMA foreign_keys = ON');
    connection.exec(
      'CREATE TABLE child (number INTEGER REFERENCES kept DEFERRABLE INITIALLY DEFERRED) STRICT',
    );
    const orphan = queue.run(async () => connection.prepare('INSERT INTO child VALUES (99)').run());
    const outcomes = await Promise.allSettled([keep(1), orphan, keep(2)]);
    expect(outcomes.map((one) => one.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(connection.isTransaction()).toBe(false);
    expect(await kept()).toEqual([]);
    await keep(3);
    expect(await kept()).toEqual([3]);
  });
});

describe('a full disk', () => {
  const big = 'x'.repeat(3000);
  const pages = () => connection.prepare<{ page_count: number }>('PRAGMA page_count').get()!.page_count;

  test('rejects with disk_full what does not fit, and continues when there is space again', async () => {
    await keep(0);
    connection.exec(`PRAGMA max_page_count = ${pages() + 5}`);
    const outcomes = await Promise.allSettled(range(30).map((number) => keep(number + 1, big)));
    const failures = outcomes.filter((one) => one.status === 'rejected');
    expect(failures.length).toBeGreaterThan(20);
    expect(new Set(failures.map((one) => one.reason.code))).toEqual(new Set(['disk_full']));
    expect(failures.every((one) => one.reason.retryable)).toBe(true);
    const done = outcomes.flatMap((one, index) => (one.status === 'fulfilled' ? [index + 1] : []));
    expect(await kept()).toEqual([0, ...done]);
    connection.exec('PRAGMA max_page_count = 1000000');
    await keep(100, big);
    expect(await kept()).toEqual([0, ...done, 100]);
  });
});

describe('the lock of another program', () => {
  /** Holds the write lock until the returned function is called. */
  function lockedByAnother(): () => void {
    const other = new DatabaseSync(join(directory, 'queue.db'));
    onTestFinished(() => other.close());
    other.exec('BEGIN EXCLUSIVE');
    return () => other.exec('COMMIT');
  }
  const outcomes = (all: Promise<unknown>[]) =>
    Promise.allSettled(all).then((settled) =>
      settled.map((one) => (one.status === 'rejected' ? one.reason : 'done')),
    );
  const DOWN = {
    code: 'store_down',
    message: expect.stringMatching(/^The store .*queue\.db is locked by another program\.$/),
  };

  test('is waited for while everything else goes on, and in the order of the transactions', async () => {
    const release = lockedByAnother();
    const all = outcomes([keep(1), keep(2), kept().then((rows) => expect(rows).toEqual([1, 2]))]);
    await clock.advance(1_000);
    // A timer: while SQLite itself waits, the event loop is blocked.
    expect(clock.pending()).toBe(1);
    release();
    await clock.advance(100);
    expect(await all).toEqual(['done', 'done', 'done']);
    expect(commits()).toBe(1);
  });

  test('rejects all that wait with store_down after two seconds, then each at once, until it is over', async () => {
    const release = lockedByAnother();
    const all = outcomes([keep(1), keep(2)]);
    await clock.advance(1_900);
    const late = outcomes([keep(3)]);
    await clock.advance(200);
    expect(await all).toMatchObject([DOWN, DOWN]);
    expect(await late).toMatchObject([DOWN]);
    expect(await outcomes([keep(4), keep(5)])).toMatchObject([DOWN, DOWN]);
    expect(rolledBack).toBe(0);
    release();
    await keep(6);
    expect(await kept()).toEqual([6]);

    const again = lockedByAnother();
    const patient = outcomes([keep(7)]);
    await clock.advance(1_000);
    again();
    await clock.advance(100);
    expect(await patient).toEqual(['done']);
  });

  test('keeps nobody from closing the store', async () => {
    lockedByAnother();
    const one = outcomes([keep(1)]);
    const drained = queue.drain();
    await clock.advance(2_100);
    await drained;
    expect(await one).toMatchObject([DOWN]);
  });
});

test('an error of one statement does not affect the next transaction', async () => {
  await expect(Promise.all([keep(1), keep(1)])).rejects.toThrow('UNIQUE');
  await keep(2);
  expect(await kept()).toEqual([1, 2]);
});
