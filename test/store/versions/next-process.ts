/**
 * Opens a store as a version with two more steps does, in a process of its own that can be killed: `node
 * next-process.ts FILE`, or the URL of a server.
 */
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { placeAt } from '../postgres/postgres-server.ts';
import { NEXT_STEPS } from './next-steps.ts';

const [where = ''] = process.argv.slice(2);
const options = { clock: systemClock(), steps: NEXT_STEPS };
const store = where.startsWith('postgres:')
  ? (await openPostgresStore({ place: placeAt(where, {}), ...options })).store
  : await openSqliteStore({ path: where, ...options });
await store.close();
process.stdout.write('opened\n');
