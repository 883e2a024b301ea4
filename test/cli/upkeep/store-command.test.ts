import { existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { storeMigrate } from '../../../src/cli/upkeep/store-command.ts';
import type { Edge } from '../../../src/process-io.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { STEPS } from '../../../src/store/versions/steps.ts';
import { tempFolder } from '../../http/servers.ts';
import { NEXT_STEPS } from '../../store/versions/next-steps.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { putAlert, putEvents } from '../../web/sample.ts';
import { containing, createTestEdge, done, failed, matching, nestwatch, refused } from '../test-io.ts';

/** The version of the tables. */
const NOW = STEPS.length;

async function stored() {
  const folder = tempFolder();
  const at = (name: string) => join(folder, name);
  writeFileSync(
    at('n.yaml'),
    `regions: { eu: { base_url: "http://127.0.0.1:1", token: t } }\nstore: { url: "sqlite:${at('s.db')}" }\n`,
  );
  const open = (name = 's.db') => openSqliteStore({ path: at(name), clock: createVirtualClock() });
  const store = await open();
  await putAlert(store, { id: 'a' });
  await putEvents(store, [{ id: '1' }]);
  let isOpen = true;
  const stop = async () => {
    if (isOpen) await store.close();
    isOpen = false;
  };
  onTestFinished(stop);
  const run = (...args: string[]) => nestwatch(['store', ...args, '--config.file', at('n.yaml')]);
  return { at, store, stop, open, run };
}

test('a backup is taken while the daemon runs, is complete and private, and contains what was committed', async () => {
  const { at, store, run, open } = await stored();
  expect(await run('backup', at('b.db'))).toEqual(done(matching(/s\.db → .*b\.db, \d+\.\d KiB\n$/)));
  expect(statSync(at('b.db')).mode & 0o777).toBe(0o600);
  // What is stored afterwards is not in it.
  await putEvents(store, [{ id: '2' }]);
  const check = await run('check', at('b.db'));
  expect(check.stdout).toMatch(/ is whole: .* 1 event, 1 alert firing, 0 deliveries to be sent\n$/);
  expect((await run('check')).stdout).toMatch(/ is whole: .* 2 events, /);
  const restored = await open('b.db');
  expect(await restored.transaction((tx) => tx.alerts.firing(undefined, 9))).toHaveLength(1);
  await restored.close();
});

test('an existing file is never overwritten', async () => {
  const { at, run } = await stored();
  writeFileSync(at('b.db'), 'mine');
  expect(await run('backup', at('b.db'))).toEqual(refused(containing('is there already: name a new file')));
  expect(readFileSync(at('b.db'), 'utf8')).toBe('mine');
});

test.each([
  ['s.db/b.db', 'S is not a directory'],
  ['s.db/deeper/b.db', 'S is not a directory'],
  ['none/b.db', 'there is no directory NONE'],
  [`${'long'.repeat(75)}.db`, 'ENAMETOOLONG'],
])('a backup to %s says what is in the way', async (name, obstacle) => {
  const { at, run } = await stored();
  const { exit, stderr } = await run('backup', at(name));
  const why = obstacle.replace('S', at('s.db')).replace('NONE', at('none'));
  expect(exit).toBe(1);
  expect(stderr.split('\n')[0]).toBe(`nestwatch: The copy ${at(name)} cannot be written: ${why}.`);
});

test('a copy waits until no daemon uses the store, and restores a backup [long]', async () => {
  const { at, run, stop, open } = await stored();
  await run('backup', at('b.db'));
  expect(await run('copy', '--to', `sqlite:${at('c.db')}`)).toEqual(
    failed(containing('Another nestwatch uses the store')),
  );
  await stop();
  rmSync(at('s.db'));
  const copied = await run('copy', '--from', `sqlite:${at('b.db')}`, '--json');
  const { from, to, tables } = JSON.parse(copied.stdout);
  expect({ from, to }).toEqual({ from: `sqlite:${at('b.db')}`, to: `sqlite:${at('s.db')}` });
  expect(tables).toContainEqual({
    table: 'event',
    rows: 1,
    digest: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(copied.stderr).toMatch(/^ {2}\d+ % {2}copied \d+ rows of \d+\n/);
  expect(copied.stderr).toContain('Only one of the two may be used');
  expect(statSync(at('s.db')).mode & 0o777).toBe(0o600);
  const restored = await open();
  expect(await restored.transaction((tx) => tx.alerts.firing(undefined, 9))).toHaveLength(1);
  await restored.close();
});

test('a copy that is interrupted says that nothing was copied, and to start it again', async () => {
  const { at, stop } = await stored();
  await stop();
  const { edge, stderr } = createTestEdge();
  const interrupted: Edge = {
    ...edge,
    onSignal(name, listener) {
      if (name === 'SIGINT') queueMicrotask(listener);
      return () => {};
    },
  };
  const args = ['store', 'copy', `sqlite:${at('c.db')}`, '--config.file', at('n.yaml')];
  expect(await runCommandLine(interrupted, args)).toBe(1);
  expect(stderr()).toMatch(
    /^nestwatch: nothing was copied\nIt was stopped before it was done: start it again\.\n$/m,
  );
  expect(existsSync(at('c.db'))).toBe(false);
});

test.each(['', 'sqlite:'])(
  'a copy reports what it did, and its target may be named alone: %sc.db',
  async (scheme) => {
    const { at, run, stop } = await stored();
    await stop();
    const { exit, stdout } = await run('copy', `${scheme}${at('c.db')}`);
    expect(exit).toBe(0);
    expect(stdout).toMatch(
      /^sqlite:\S+\/s\.db → sqlite:\S+\/c\.db: \d+ rows of \d+ tables, the same on both sides\n$/,
    );
  },
);

test.each([
  [['copy'], 'give --from or --to, or both: the other one is store.url'],
  [['copy', '--to', 'mysql://h/d'], '--to must be a file or postgres://user@host/database'],
  [['copy', '--to', 'sqlite::memory:'], 'sqlite::memory:: a store in memory has no file'],
  [['copy', '--to', 'sqlite:S'], '--from and --to name the same store'],
  [
    ['copy', '--to', 'sqlite:c.db', '--to-schema', 'x'],
    '--to names a file: a schema and a password are those of a server',
  ],
  [['copy', '--to', 'postgres://u:hush@h/d'], '--to must not hold the password: give --to-password-file'],
  [['copy', '--to', 'postgres://h/d'], '--to must name a user and a database: postgres://user@host/database'],
  [
    ['copy', '--to', 'postgres://u@h/d', '--to-schema', 'A b'],
    'the schema of --to must be lower-case letters, digits and underscores, no digit first, at most 63',
  ],
  [['copy', '--to', 'postgres://u@h/d', '--to-password-file', 'NONE'], 'NONE cannot be read'],
  [['check', 'NONE'], 'there is no store at NONE'],
  [['check', 'FOLDER'], 'FOLDER is a directory: name the file of a store'],
  [
    ['copy', '--from', 'sqlite:FOLDER', '--to', 'sqlite:c.db'],
    'FOLDER is a directory: name the file of a store',
  ],
  [['backup', ''], '<file> must not be empty'],
  [['copy', '--from', 'sqlite:NONE', '--to', 'sqlite:c.db'], 'there is no store at NONE'],
])('%j is refused: %s', async (args, message) => {
  const { at, run } = await stored();
  const named = (text: string) =>
    text
      .replace('NONE', at('none.db'))
      .replace('FOLDER', at('.'))
      .replace(/sqlite:S$/, `sqlite:${at('s.db')}`);
  const { exit, stderr } = await run(...args.map(named));
  expect(exit).toBe(2);
  expect(stderr.split('\n')[0]).toBe(`nestwatch: ${named(message)}`);
  expect(stderr).not.toContain('hush');
});

test('a database of another program is refused', async () => {
  const { at, run } = await stored();
  const other = new DatabaseSync(at('other.db'));
  other.exec('CREATE TABLE t (x)');
  other.close();
  expect((await run('check', at('other.db'))).stderr).toContain('belongs to another program');
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

test('a migration brings an older store to the newest version, says what it did, and needs the store to itself [long]', async () => {
  const { at, run, stop, open } = await stored();
  const old = `s.db.version-${NOW}`;
  expect(await run('migrate')).toEqual(failed(containing('Another nestwatch')));
  await stop();
  expect((await run('migrate')).stdout).toBe(`${at('s.db')}: the tables are of version ${NOW} already\n`);
  const edge = createTestEdge();
  const options = { configFile: at('n.yaml') };
  const { text } = await storeMigrate(edge.edge, undefined, options, NEXT_STEPS);
  expect(text).toBe(`${at('s.db')}: tables of version ${NOW} → ${NOW + 2}; as it was: ${at(old)}\n`);
  expect(await run('check')).toEqual(failed(containing(`was made version ${NOW + 2} by`)));
  expect((await run('migrate', '--json', at(old))).stdout).toBe(
    `${JSON.stringify({ store: at(old), from: NOW, to: NOW }, null, 2)}\n`,
  );
  await (await open(old)).close();
  expect(await run('migrate', at('none.db'))).toEqual(
    refused(containing(`there is no store at ${at('none.db')}`)),
  );
});
