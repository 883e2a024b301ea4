import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { anAlert, anEvent, putAlert, putEvents } from '../../web/sample.ts';
import { nestwatch } from '../test-io.ts';

async function stored() {
  const folder = mkdtempSync(join(tmpdir(), 'nestwatch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  writeFileSync(
    at('n.yaml'),
    `regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }\nstore: { url: "sqlite:${at('s.db')}" }\n`,
  );
  const open = (name = 's.db') => openSqliteStore({ path: at(name), clock: createVirtualClock() });
  const store = await open();
  await putAlert(store, anAlert({ id: 'a' }));
  await putEvents(store, [anEvent({ id: '1' })]);
  let isOpen = true;
  const stop = async () => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  onTestFinished(stop);
  const run = (...args: string[]) => nestwatch(['store', ...args, '--config.file', at('n.yaml')]);
  return { at, store, stop, open, run };
}

test('a backup is taken while the daemon runs, is whole and private, and holds what was committed', async () => {
  const { at, store, run, open } = await stored();
  const { exit, stdout, stderr } = await run('backup', at('b.db'));
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout).toMatch(/s\.db → .*b\.db, \d+\.\d KiB\n$/);
  expect(statSync(at('b.db')).mode & 0o777).toBe(0o600);
  // What comes afterwards is not in it.
  await putEvents(store, [anEvent({ id: '2' })]);
  const check = await run('check', at('b.db'));
  expect(check.stdout).toMatch(/ is whole: .* 1 event, 1 alert firing, 0 deliveries to be sent\n$/);
  expect((await run('check')).stdout).toMatch(/ is whole: .* 2 events, /);
  const restored = await open('b.db');
  expect(await restored.transaction((tx) => tx.alerts.list({ state: 'firing', limit: 9 }))).toHaveLength(1);
  await restored.close();
});

test('a file that is there is never written over', async () => {
  const { at, run } = await stored();
  writeFileSync(at('b.db'), 'mine');
  expect(await run('backup', at('b.db'))).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('is there already: name a new file'),
  });
  expect(readFileSync(at('b.db'), 'utf8')).toBe('mine');
});

test('a copy waits until no daemon uses the store, and restores a backup', async () => {
  const { at, run, stop, open } = await stored();
  await run('backup', at('b.db'));
  expect(await run('copy', `sqlite:${at('c.db')}`)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('Another nestwatch uses the store'),
  });
  await stop();
  rmSync(at('s.db'));
  const copied = await run('copy', `sqlite:${at('s.db')}`, '--from', `sqlite:${at('b.db')}`, '--json');
  expect(JSON.parse(copied.stdout)).toMatchObject({ from: at('b.db'), to: at('s.db') });
  const restored = await open();
  expect(await restored.transaction((tx) => tx.alerts.list({ state: 'firing', limit: 9 }))).toHaveLength(1);
  await restored.close();
});

test('what cannot be copied or checked is refused by name', async () => {
  const { at, run } = await stored();
  const said = async (...args: string[]) => (await run(...args)).stderr.split('\n')[0];
  expect(await said('copy', 'postgres://user@host/db')).toBe(
    'nestwatch: the address: a store on PostgreSQL is backed up and checked by its own tools, as pg_dump; name sqlite:FILE',
  );
  expect(await said('copy', 'sqlite::memory:')).toBe('nestwatch: the address: a store in memory has no file');
  expect(await said('check', at('none.db'))).toBe(`nestwatch: there is no store at ${at('none.db')}`);
  const other = new DatabaseSync(at('other.db'));
  other.exec('CREATE TABLE t (x)');
  other.close();
  expect(await said('check', at('other.db'))).toContain('belongs to another program');
});

test('damage is found and exits 1', async () => {
  const { at, run, stop } = await stored();
  await stop();
  const { size } = statSync(at('s.db'));
  const file = openSync(at('s.db'), 'r+');
  for (let page = 20; page < 30; page += 1) writeSync(file, Buffer.alloc(100, 0xee), 0, 100, page * 8192);
  expect(statSync(at('s.db')).size).toBe(size);
  const { exit, stdout } = await run('check');
  expect(exit).toBe(1);
  expect(stdout).toMatch(/ is damaged; restore a backup:\n {2}\S/);
  expect(JSON.parse((await run('check', '--json')).stdout)).toMatchObject({ whole: false });
});
