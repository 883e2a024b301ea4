/**
 * A store is copied to a server and back by commands that are killed, twice each way. What comes back must equal the
 * original.
 */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { fillStore } from '../../bench/pages-store.ts';
import { type CopyRun, runCopy } from './copy-run.ts';
import { rawContent } from './raw-content.ts';

interface KilledCopies {
  readonly folder: string;
  /** The server's address. */
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
  readonly events: number;
  readonly birds: number;
  /** Called after each run. */
  readonly ran: (what: string, run: CopyRun) => void;
  /** Called while a copy is interrupted; throws if a daemon would accept it as a store. */
  readonly brokenOff: (where: 'server' | 'file', path: string) => Promise<void>;
}

/** Throws if anything is not as it must be. */
export async function copyThereAndBack({ folder, url, schema, ran, brokenOff, ...filling }: KilledCopies) {
  const [path, back] = [join(folder, 'there.db'), join(folder, 'back.db')];
  const store = await openSqliteStore({ path, clock: filling.clock });
  await fillStore(store, { ...filling, alerts: 200 }, filling.clock.nowUs());
  await store.close();
  const before = rawContent(path);

  async function copy(where: 'server' | 'file', args: readonly string[], kills: readonly number[]) {
    for (const percent of kills) {
      const killed = await runCopy(args, percent);
      ran(`to ${where}, killed at ${percent} %`, killed);
      strictEqual(killed.signal, 'SIGKILL', killed.stderr);
      await brokenOff(where, back);
    }
    const done = await runCopy(args);
    ran(`to ${where}, to the end`, done);
    strictEqual(done.exit, 0, done.stderr);
    ok(done.stdout.endsWith(', the same on both sides\n'), done.stdout);
  }
  // The first half of the work is copying, the second half comparing.
  await copy('server', ['--from', `sqlite:${path}`, '--to', url, '--to-schema', schema], [10, 30]);
  await copy('file', ['--from', url, '--from-schema', schema, '--to', `sqlite:${back}`], [20, 60]);
  deepStrictEqual(rawContent(back), before);
}
