import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { describeStore } from '../contract.ts';
import { findServer, openDatabase, type PostgresDatabase, placeOn } from './postgres-server.ts';

const bin = findServer();
const clock = createVirtualClock();
/**
 * Few rows are deleted faster one by one than by recreating the table, and an empty table is skipped. So emptying
 * takes a few milliseconds; recreating all tables after each test would take as long as the tests themselves.
 */
const EMPTY = `DO $$ DECLARE name regclass; is_used boolean; BEGIN
  FOR name IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('nestwatch') AND relkind = 'r'
    AND relname NOT IN ('schema_step', 'server', 'writer')
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', name) INTO is_used;
    IF pg_relation_size(name) > 1000000 THEN EXECUTE format('TRUNCATE %s', name);
    ELSIF is_used THEN EXECUTE format('DELETE FROM %s', name); END IF;
  END LOOP;
END $$`;

const MORE_COLUMNS = `DO $$ DECLARE name regclass; BEGIN
  FOR name IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('nestwatch') AND relkind = 'r'
  LOOP
    EXECUTE format('ALTER TABLE %s ADD COLUMN later TEXT NOT NULL DEFAULT %L', name, 'later');
  END LOOP;
END $$`;

describe.skipIf(bin === undefined)('on PostgreSQL', () => {
  let server: PostgresDatabase;
  let admin: pg.Client;
  beforeAll(async () => {
    server = await openDatabase(bin!);
    admin = new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
    await admin.connect();
  }, 60_000);
  afterAll(async () => {
    await admin?.end();
    await server?.remove();
  });

  const open = async (isShared: boolean) => {
    const { store, sharing } = await openPostgresStore({ place: placeOn(server), clock, isShared });
    // Replicas use the clock of the server, which is the test's clock here.
    sharing?.storeClock.heard(clock.nowUs(), clock.monotonicMs());
    return store;
  };

  /** Deletes what the previous test left. */
  async function empty(): Promise<void> {
    await admin.query(EMPTY);
  }

  /** The columns that the next version may add to every table while replicas of this version continue. */
  async function addColumns(): Promise<void> {
    await (await open(true)).close();
    await admin.query(MORE_COLUMNS);
  }

  const ways = [
    ['alone', false, 'own tables', false],
    // Replicas of one version, with tables of their own, are in `postgres-replicas.long.test.ts`.
    ['as one of several, beside a newer version [long]', true, 'tables of the newer', true],
  ] as const;
  describe.each(ways)('%s', (_, isShared, whose, isWhole) => {
    if (whose !== 'own tables') beforeAll(addColumns);
    // Opening takes several connections, so the tests of one way share a store.
    let opened: Store | undefined;
    async function close(): Promise<void> {
      await opened?.close();
      opened = undefined;
    }
    afterAll(close);

    describeStore(
      'the PostgreSQL store',
      async () => {
        await empty();
        opened ??= await open(isShared);
        return {
          store: { ...opened, close },
          async reopen() {
            await close();
            opened = await open(isShared);
            return opened;
          },
          close: async () => {},
        };
      },
      isWhole,
    );
  });
});

if (bin === undefined) {
  test('PostgreSQL was not found: its store was not tested', () => {
    process.stderr.write(
      'PostgreSQL was not found: the store on it was NOT tested (apt-get install postgresql).\n',
    );
    expect(bin).toBeUndefined();
  });
}
