import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TableDigest } from '../../../src/store/copy/copy-store.ts';
import type { Row } from '../../../src/store/sql/sql.ts';
import { openSqliteSource } from '../../../src/store/sqlite/copy/sqlite-rows.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { fillStore } from '../../bench/pages-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { failure } from '../test-store.ts';
import { copyBetween } from './copy-between.ts';
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
  const folder = temporaryFolder();
  const at = (name: string) => join(folder, name);
  copyFileSync(filled, at('a.db'));

  const copy = (name: string, trouble?: Parameters<typeof copyBetween>[3]) =>
    copyBetween({ url: `sqlite:${at('a.db')}` }, { url: `sqlite:${at(name)}` }, clock, trouble);
  return {
    at,
    copy,
    files: () => readdirSync(folder).filter((name) => !name.endsWith('.lock') && !name.startsWith('a.db-')),
  };
}

test('a copy that is interrupted, anywhere, leaves nothing; the next one is complete and equal [long]', async () => {
  const { at, copy, files } = await stored();
  let tries = 0;
  for (let isDone = false; !isDone; tries += 1) {
    await copy('b.db', { batches: 1 + tries * 11 }).then(
      () => {
        isDone = true;
      },
      (error) => {
        expect(error).toMatchObject({ code: 'cancelled' });
        expect(files()).toEqual(['a.db']);
      },
    );
    expect(tries).toBeLessThan(30);
  }
  expect(tries).toBeGreaterThan(3);
  expect(files()).toEqual(['a.db', 'b.db']);
  expect(rawContent(at('b.db'))).toEqual(rawContent(at('a.db')));
  expect(statSync(at('b.db')).mode & 0o777).toBe(0o600);
  const store = await openSqliteStore({ path: at('b.db'), clock });
  expect(await store.transaction((tx) => tx.alerts.firing(undefined, 99))).toHaveLength(20);
  await store.close();
});

test('a copy that was killed is begun anew [long]', async () => {
  const { at, copy, files } = await stored();
  for (const ending of ['', '-wal', '-shm']) writeFileSync(at(`b.db.partial${ending}`), 'half a copy');
  await copy('b.db');
  expect(files()).toEqual(['a.db', 'b.db']);
  expect(rawContent(at('b.db'))).toEqual(rawContent(at('a.db')));
});

test('a row that got lost on the way is noticed, and there is no store then [long]', async () => {
  const { copy, files } = await stored();
  let isLost = false;
  const kept = (rows: readonly Row[]) => {
    if (isLost || rows.length < 900) return rows;
    isLost = true;
    return rows.slice(1);
  };
  await expect(copy('b.db', { kept })).rejects.toMatchObject(
    failure('store_failed', /^The copy of the table \S+ in sqlite:\S+ has \d+ rows and is not what /),
  );
  expect(files()).toEqual(['a.db']);
});

test('what exists already is never touched: another store or file [long]', async () => {
  const { at, copy } = await stored();
  await copy('b.db');
  const before = rawContent(at('b.db'));
  await expect(copy('b.db')).rejects.toMatchObject(
    failure('usage', `${at('b.db')} is there already: name a new file`),
  );
  expect(rawContent(at('b.db'))).toEqual(before);
  writeFileSync(at('text'), 'mine');
  await expect(copy('text')).rejects.toMatchObject({ code: 'usage' });
  expect(readFileSync(at('text'), 'utf8')).toBe('mine');
  writeFileSync(at('e.db-wal'), 'of a store that was moved away');
  await expect(copy('e.db')).rejects.toMatchObject(failure('usage', /e\.db-wal belongs to/));
});

test('neither side may be in use', async () => {
  const { at, copy } = await stored();
  const source = await openSqliteStore({ path: at('a.db'), clock });
  await expect(copy('b.db')).rejects.toMatchObject({ code: 'store_locked' });
  symlinkSync(at('a.db'), at('link.db'));
  expect(() => openSqliteSource(at('link.db'))).toThrow(/^Another nestwatch uses the store .*a\.db/);
  await source.close();
  const target = await openSqliteStore({ path: at('b.db'), clock });
  await expect(copy('b.db')).rejects.toMatchObject({ code: 'store_locked' });
  await target.close();
});

test('digests depend on the meaning of rows, not on their order, and differ if the rows do', () => {
  const digestOf = (...rows: Row[]) => {
    const digest = new TableDigest();
    for (const row of rows) digest.add(row);
    return String(digest);
  };
  expect(digestOf(['a', 1], ['b', null])).toBe(digestOf(['b', null], ['a', 1]));
  const texts = ['b', '1', 'n;', '\ud800', '\udfff', '"\\ud800"', '\ufffd'];
  const different: Row[] = [...texts, 1, null, 0.5, Uint8Array.of(1)].map((value) => ['a', value]);
  const digests = [...different, ['ab', '']].map((row) => digestOf(row));
  digests.push(digestOf(), digestOf(['a', 'b'], ['a', 'b']));
  expect(new Set(digests).size).toBe(14);
});
