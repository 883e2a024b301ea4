import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { migrateStoreFile } from '../../../src/store/sqlite/upkeep/store-file.ts';
import { STEPS } from '../../../src/store/versions/steps.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Holds the lock for writing for a moment. */
const OTHER_PROGRAM = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData: path } = require('node:worker_threads');
  const db = new DatabaseSync(path);
  db.exec('BEGIN IMMEDIATE');
  parentPort.postMessage('locked');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  db.exec('COMMIT');
`;

test('changing the tables waits for another program that has locked the file [long]', async () => {
  const path = join(temporaryFolder(), 'store.db');
  writeFileSync(path, '', { mode: 0o600 });
  migrateStoreFile(path);
  const other = new Worker(OTHER_PROGRAM, { eval: true, workerData: path });
  await once(other, 'message');
  const next = { sql: 'CREATE TABLE extra (a INTEGER)', oldest: 1 };
  expect(migrateStoreFile(path, [...STEPS, next])).toMatchObject({
    from: STEPS.length,
    to: STEPS.length + 1,
  });
});
