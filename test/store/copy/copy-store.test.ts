import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type CopyBeginning, copyStore } from '../../../src/store/copy/copy-store.ts';
import { matchTables } from '../../../src/store/copy/match-tables.ts';
import { openSource, openTarget } from '../../../src/store/copy/open-rows.ts';
import { TableDigest } from '../../../src/store/copy/table-digest.ts';
import type { Table, TableRow } from '../../../src/store/copy/table-rows.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { fillStore } from '../../bench/pages-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { anAlert, putAlert } from '../../web/sample.ts';
import { rawContent } from './raw-content.ts';

const clock = createVirtualClock();
const shared = mkdtempSync(join(tmpdir(), 'nestwatch-'));
const filled = join(shared, 'filled.db');

beforeAll(async () => {
  const store = await openSqliteStore({ path: filled, clock });
  await fillStore(store, { birds: 10, events: 3_000, alerts: 20 }, clock.nowUs());
  await store.close();
});
afterAll(() => rmSync(shared, { recursive: true }));

/** A store with rows for several batches that nobody uses. */
async function stored() {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  copyFileSync(filled, at('a.db'));

  /** Copies, and interrupts the copy after this many batches. */
  async function copy(name: string, { batches = Number.POSITIVE_INFINITY, from = 'a.db' } = {}) {
    const stop = new AbortController();
    const began: CopyBeginning[] = [];
    let left = batches;
    const source = await openSource({ url: `sqlite:${at(from)}` }, clock);
    try {
      const target = await openTarget({ url: `sqlite:${at(name)}` }, clock);
      try {
        const tables = await copyStore({
          source,
          target,
          signal: stop.signal,
          began: (how) => began.push(how),
          show() {
            left -= 1;
            if (left < 0) stop.abort();
          },
        });
        return { began, tables };
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  }
  const inFile = (name: string, sql: string) => {
    const db = new DatabaseSync(at(name));
    db.exec(sql);
    db.close();
  };
  return { at, copy, inFile };
}

test('a copy that is interrupted again and again, anywhere, is complete and equal at the end', async () => {
  const { at, copy } = await stored();
  let tries = 0;
  for (let isDone = false; !isDone; tries += 1) {
    const copied = copy('b.db', { batches: 1 + tries * 11 });
    await copied.then(
      ({ began }) => {
        expect(began).toEqual(['resumed']);
        isDone = true;
      },
      (error) => expect(error).toMatchObject({ code: 'cancelled' }),
    );
    if (!isDone) {
      await expect(openSqliteStore({ path: at('b.db'), clock })).rejects.toMatchObject({
        code: 'store_unfinished',
        message: expect.stringMatching(/^The store \S+b\.db is the target of a copy that is not finished\.$/),
      });
    }
    expect(tries).toBeLessThan(30);
  }
  expect(rawContent(at('b.db'))).toEqual(rawContent(at('a.db')));
  expect(statSync(at('b.db')).mode & 0o777).toBe(0o600);
  const store = await openSqliteStore({ path: at('b.db'), clock });
  expect(await store.transaction((tx) => tx.alerts.list({ state: 'firing', limit: 99 }))).toHaveLength(20);
  await store.close();
});

test('if the source has changed meanwhile, it starts again', async () => {
  const { at, copy } = await stored();
  await expect(copy('b.db', { batches: 20 })).rejects.toMatchObject({ code: 'cancelled' });
  const store = await openSqliteStore({ path: at('a.db'), clock });
  await putAlert(store, anAlert({ id: 'later' }));
  await store.close();
  expect((await copy('b.db')).began).toEqual(['source changed']);
  expect(rawContent(at('b.db'))).toEqual(rawContent(at('a.db')));
});

test('a row that got lost on the way is noticed, and the same command starts again', async () => {
  const { at, copy, inFile } = await stored();
  await expect(copy('b.db', { batches: 45 })).rejects.toMatchObject({ code: 'cancelled' });
  inFile('b.db', "UPDATE event SET message = 'another' WHERE event = 7");
  await expect(copy('b.db')).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringMatching(
      /^The copy of the table event in sqlite:\S+ has 3000 rows and is not what /,
    ),
  });
  await expect(openSqliteStore({ path: at('b.db'), clock })).rejects.toMatchObject({
    code: 'store_unfinished',
  });
  expect((await copy('b.db')).began).toEqual(['source changed']);
  expect(rawContent(at('b.db'))).toEqual(rawContent(at('a.db')));
});

test('what exists already is never touched: another store, file or copy', async () => {
  const { at, copy } = await stored();
  await copy('b.db');
  const before = rawContent(at('b.db'));
  await expect(copy('b.db')).rejects.toMatchObject({
    code: 'usage',
    message: `${at('b.db')} is there already: name a new file`,
  });
  expect(rawContent(at('b.db'))).toEqual(before);
  writeFileSync(at('text'), 'mine, and longer than the head of a file of SQLite'.repeat(9));
  await expect(copy('text')).rejects.toMatchObject({ code: 'store_corrupt' });
  await expect(copy('c.db', { from: 'b.db', batches: 9 })).rejects.toMatchObject({ code: 'cancelled' });
  await expect(copy('c.db')).rejects.toMatchObject({
    code: 'usage',
    message: `sqlite:${at('c.db')} is a copy of sqlite:${at('b.db')} that is not whole: go on with that one, or remove it`,
  });
  await expect(copy('d.db', { from: 'c.db' })).rejects.toMatchObject({ code: 'store_unfinished' });
  writeFileSync(at('e.db-wal'), 'of a store that was moved away');
  await expect(copy('e.db')).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('e.db-wal belongs to'),
  });
});

test('neither side may be in use', async () => {
  const { at, copy } = await stored();
  const source = await openSqliteStore({ path: at('a.db'), clock });
  await expect(copy('b.db')).rejects.toMatchObject({ code: 'store_locked' });
  await source.close();
  const target = await openSqliteStore({ path: at('b.db'), clock });
  await expect(copy('b.db')).rejects.toMatchObject({ code: 'store_locked' });
  await target.close();
});

const column = (name: string, changes: object = {}) =>
  ({ name, kind: 'text', isComputed: false, isFromBody: false, ...changes }) as Table['columns'][number];
const table = (name: string, ...columns: Table['columns']) => ({ name, columns, key: ['id'] });

test.each([
  [
    'a table',
    [table('a', column('id')), table('b', column('id'))],
    [table('a', column('id'))],
    'the table b',
  ],
  [
    'a table of the target',
    [table('a', column('id'))],
    [table('a', column('id')), table('b', column('id'))],
    'the table b',
  ],
  ['a column', [table('a', column('id'), column('x'))], [table('a', column('id'))], 'the column a.x'],
  [
    'a column of the target',
    [table('a', column('id'))],
    [table('a', column('id'), column('x'))],
    'the column a.x',
  ],
  [
    'another kind',
    [table('a', column('id'))],
    [table('a', column('id', { kind: 'blob' }))],
    'the column a.id',
  ],
])('%s that one side lacks is named, and nothing is copied', (_, source, target, what) => {
  expect(() => matchTables(source, target)).toThrow(
    `Stores cannot be copied: ${what} is not the same on both sides.`,
  );
});

test('computed columns are compared but not written, and what repeats the body stays where it is', () => {
  const own = column('labels', { isFromBody: true });
  const sum = column('sum', { isComputed: true });
  const [one] = matchTables([table('a', column('id'), sum)], [table('a', column('id'), own, sum)]);
  expect(one).toMatchObject({ copied: ['id'], compared: ['id', 'sum'] });
  const [back] = matchTables([table('a', column('id'), own, sum)], [table('a', column('id'), sum)]);
  expect(back).toMatchObject({ copied: ['id'], compared: ['id', 'sum'] });
});

test('digests depend on the meaning of rows, not on their order, and differ if the rows do', () => {
  const digestOf = (...rows: TableRow[]) => {
    const digest = new TableDigest();
    for (const row of rows) digest.add(row);
    return String(digest);
  };
  expect(digestOf(['a', 1n], ['b', null])).toBe(digestOf(['b', null], ['a', 1n]));
  const different: TableRow[][] = [
    [],
    [['a', 'b']],
    [['ab', '']],
    [['a', '1']],
    [['a', 1n]],
    [['a', 1]],
    [['a', null]],
    [['a', 'n;']],
    [['a', '\ud800']],
    [['a', '\udfff']],
    [['a', '"\\ud800"']],
    [['a', '\ufffd']],
    [['a', Uint8Array.of(1)]],
    [['a', 2n ** 53n]],
    [['a', 2n ** 53n + 1n]],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  ];
  expect(new Set(different.map((rows) => digestOf(...rows))).size).toBe(different.length);
});
