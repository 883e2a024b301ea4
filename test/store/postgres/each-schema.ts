import pg from 'pg';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';
import { testStore } from '../test-store.ts';
import { type PlaceChanges, type PostgresDatabase, placeOn } from './postgres-server.ts';

/**
 * For the tests of a block a database, and for each of them a clock and a schema of its own. Stores and connections
 * close at the end of the test that opens them.
 */
export function eachSchema<Database extends PostgresDatabase>(begin: () => Promise<Database>) {
  let server: Database;
  let clock: VirtualClock;
  let count = 0;
  beforeAll(async () => {
    server = await begin();
  }, 60_000);
  afterAll(() => server?.remove());
  beforeEach(() => {
    clock = createVirtualClock();
    count += 1;
  });
  const schema = () => `s${count}`;
  const place = (changes: PlaceChanges = {}) => placeOn(server, { schema: schema(), ...changes });

  async function open(isShared: boolean, changes?: PlaceChanges) {
    const { store, sharing } = await openPostgresStore({ place: place(changes), clock, isShared });
    onTestFinished(() => store.close());
    return { store: testStore(store), sharing };
  }

  return {
    get server() {
      return server;
    },
    get clock() {
      return clock;
    },
    schema,
    place,
    /** As one of several replicas, or as the only process. */
    open,
    openStore: async (isShared: boolean, changes?: PlaceChanges) => (await open(isShared, changes)).store,
    /** A connection beside those of stores. */
    async connect(): Promise<pg.Client> {
      const client = new pg.Client({ host: server.host, user: 'nestwatch', database: server.database });
      client.on('error', () => {});
      await client.connect();
      onTestFinished(() => client.end().catch(() => {}));
      return client;
    },
  };
}
