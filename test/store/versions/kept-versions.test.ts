/** Stores as released versions left them, which every later version opens with all that they hold. */
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { digestOf, STEPS } from '../../../src/store/versions/steps.ts';
import { TABLES_VERSION } from '../../../src/store/versions/table-changes.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { findServer, openDatabase, type PostgresDatabase, placeOn } from '../postgres/postgres-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { expectKept } from './kept-content.ts';
import { KEPT_VERSIONS, keptOnServer, writeKept } from './kept-store.ts';

const bin = findServer();
const clock = createVirtualClock();

test('each version says what it stores more than the one before', () => {
  expect(TABLES_VERSION).toBe(STEPS.length);
});

describe.each(KEPT_VERSIONS)('a store of version %i', (version) => {
  test('is opened on SQLite with all that it holds, and once more', async () => {
    const path = join(temporaryFolder(), 'store.db');
    writeKept(version, path);
    for (const _ of ['first', 'again']) await expectKept(openSqliteStore({ path, clock }));
  });

  describe.skipIf(bin === undefined)('on PostgreSQL', () => {
    let server: PostgresDatabase;
    beforeAll(async () => {
      server = await openDatabase(bin!);
    }, 60_000);
    afterAll(() => server?.remove());

    test('is opened with all that it holds, and once more [long]', async () => {
      const admin = new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
      await admin.connect();
      await admin.query(keptOnServer(version));
      await admin.end();
      const place = placeOn(server, { schema: 'nestwatch' });
      for (const _ of ['first', 'again'])
        await expectKept(openPostgresStore({ place, clock }).then(({ store }) => store));
    });
  });
});

test('there is a kept store of each version', () => {
  expect(KEPT_VERSIONS).toEqual(STEPS.map((_, index) => index + 1));
});

test('no step changes after a store was made by it: add another one instead', () => {
  const digests = STEPS.map((step) => [digestOf(step, 'sqlite'), digestOf(step, 'postgres')]);
  expect(digests).toEqual([
    ['ea6dfd1e08e7f71e', '85c49bd1d9f27b23'],
    ['ef3c816837c87664', 'c586668c5a6f65cd'],
    ['febbebf1c053d80d', '292c12cdc0961e35'],
    ['aa3b7e9d0a5a0504', 'be9546ed684a3739'],
    ['fa1088a6cc53029f', 'f0c612ba6c47aab5'],
    ['9963769e039c5e4a', 'ca8e57aedfd7ad18'],
    ['d2a92b2589b49bc7', '6973ec3c68b98a22'],
    ['772000fda5bd126c', '0f28180e55b1181d'],
    ['c74206eaf6305fad', '3be16439254fa148'],
  ]);
});
