/**
 * `node test/bench/copy.ts [EVENTS]`: copies a store of this many events (2 million) to a PostgreSQL of its own and
 * back, by commands that are killed, and prints what each took. Exits with 1 if the copy that came back differs from
 * the original.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/time/clock.ts';
import { copyThereAndBack } from '../store/copy/killed-copy.ts';
import { findServer, startServer } from '../store/postgres/postgres-server.ts';

const events = Number(process.argv[2] ?? 2_000_000);
const bin = findServer();
if (bin === undefined) throw new Error('PostgreSQL was not found: apt-get install postgresql');
const folder = mkdtempSync(join(tmpdir(), 'nestwatch-copy-'));
const server = await startServer(bin);
try {
  await copyThereAndBack({
    ...{ folder, url: server.url, schema: 'nestwatch', clock: systemClock(), events, birds: 10_000 },
    ran(what, { seconds, mebibytes, stdout }) {
      console.info(
        `${what}: ${seconds.toFixed(1)} s, at most ${mebibytes.toFixed(0)} MiB ${stdout.trimEnd()}`,
      );
    },
    brokenOff: async () => {},
  });
  const size = statSync(join(folder, 'there.db')).size / 1024 ** 2;
  console.info(
    `PostgreSQL ${server.version}: ${events} events, a file of ${size.toFixed(0)} MiB: the same afterwards`,
  );
} finally {
  await server.remove();
  rmSync(folder, { recursive: true });
}
