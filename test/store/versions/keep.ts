/**
 * Writes the stores that later versions must open, once for each version of the tables:
 * `node test/store/versions/keep.ts`, with a PostgreSQL server installed. The content is a life of the daemon in the
 * simulated service: on SQLite as it was written, and on PostgreSQL as `store copy` brings it there.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createMatcher } from '../../../src/domain/matchers/matcher.ts';
import { copyStore, openSource, openTarget } from '../../../src/store/copy/copy-store.ts';
import { openStage } from '../../acceptance/stage.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { findServer, placeOn, startServer } from '../postgres/postgres-server.ts';
import { keptFile } from './kept-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'nestwatch-'));
const path = join(folder, 'store.db');
try {
  await live(path);
  const { version, dump } = dumpSqlite(path);
  keep('sqlite', version, dump);
  keep('postgres', version, await dumpPostgres(path));
} finally {
  rmSync(folder, { recursive: true });
}

function keep(engine: 'sqlite' | 'postgres', version: number, dump: string): void {
  const file = keptFile(version, engine);
  if (existsSync(file)) throw new Error(`${file} is there already: what was kept never changes.`);
  writeFileSync(file, dump);
}

/** Fills a store as the daemon does: an alert fires, one is over, one is silenced, and a notification waits. */
async function live(storePath: string): Promise<void> {
  let isRefusing = false;
  const birds: string[] = [];
  const stage = await openStage({
    regions: ['eu', 'us'],
    storePath,
    answer: () => (isRefusing ? 503 : 200),
    digests: [{ name: 'hourly', cron: '0 * * * *', timezone: 'UTC', receiver: 'ops', skipEmpty: false }],
    before(world) {
      const nest = world.addNest({ name: `Zürich 東京 "${world.region}"` });
      for (const name of ['Translate blog', 'Sync terms']) {
        birds.push(world.addBird(nest.id, { name, triggerType: 'manual' }).id);
      }
    },
  });
  const { eu, us } = stage.worlds;
  const end = (world: typeof eu, bird: string, status: 'failed' | 'succeeded') => {
    const flight = world!.startFlight(bird);
    world!.endFlight(
      flight.id,
      status,
      status === 'failed' ? { errorMessages: 'The TMS refused the job' } : {},
    );
  };
  await stage.minutesPass(2);
  end(eu, birds[0]!, 'failed');
  end(us, birds[2]!, 'failed');
  await stage.minutesPass(5);
  end(us, birds[2]!, 'succeeded');
  eu!.startFlight(birds[1]!);
  await stage.minutesPass(70);
  const nowUs = stage.clock.nowUs();
  await stage.store.transaction((tx) =>
    tx.silences.put([
      {
        id: '5f0c0000-0000-4000-8000-000000000001',
        matchers: [createMatcher('bird', '=', 'Sync terms')],
        startsAtUs: nowUs,
        endsAtUs: nowUs + 86_400_000_000,
        createdBy: 'ann@example.com',
        comment: 'known',
        recurrence: null,
        alertId: null,
        alertStartsAtUs: null,
        updatedAtUs: nowUs,
      },
    ]),
  );
  isRefusing = true;
  end(eu, birds[1]!, 'failed');
  end(us, birds[3]!, 'failed');
  await stage.minutesPass(3);
  await stage.close();
}

/** All statements that make the file again. */
function dumpSqlite(file: string): { readonly version: number; readonly dump: string } {
  const db = new DatabaseSync(file, { readOnly: true });
  const pragma = (name: string) => Number(Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]);
  const made = db
    .prepare(`SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid`)
    .all() as { name: string; type: string; sql: string }[];
  const lines = made.filter(({ name }) => name !== 'sqlite_sequence').map(({ sql }) => `${sql};`);
  for (const { name } of made.filter(({ type }) => type === 'table')) {
    const columns = db
      .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
      .all(name)
      .map((column) => String(column.name));
    const quoted = columns.map((column) => `quote(${column})`).join(` || ', ' || `);
    if (name === 'sqlite_sequence') lines.push('DELETE FROM sqlite_sequence;');
    for (const row of db.prepare(`SELECT ${quoted} AS row FROM ${name}`).all()) {
      lines.push(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${row.row});`);
    }
  }
  const version = pragma('user_version');
  lines.push(`PRAGMA application_id = ${pragma('application_id')};`, `PRAGMA user_version = ${version};`, '');
  db.close();
  return { version, dump: lines.join('\n') };
}

async function dumpPostgres(file: string): Promise<string> {
  const bin = findServer();
  if (bin === undefined) throw new Error('PostgreSQL was not found: apt-get install postgresql');
  const server = await startServer(bin);
  const clock = createVirtualClock();
  try {
    const source = await openSource({ url: `sqlite:${file}` }, clock);
    const place = placeOn(server, { schema: 'nestwatch' });
    const target = await openTarget({ url: server.url, postgres: place }, clock);
    await copyStore({ source, target, signal: new AbortController().signal, show() {} });
    await source.close();
    await target.close();
    const how = ['-h', server.host, '-U', 'nestwatch', '--schema=nestwatch', '--inserts', '--no-owner'];
    const dump = execFileSync(join(bin, 'pg_dump'), [...how, '--no-comments', server.database], {
      encoding: 'utf8',
    });
    // Commands of psql, comments, and settings that older or newer servers may lack.
    return dump.replaceAll(/^(?:\\.*|--.*|SET .*|SELECT pg_catalog\.set_config.*)?\n/gm, '');
  } finally {
    await server.remove();
  }
}
