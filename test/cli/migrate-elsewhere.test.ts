import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrateElsewhere } from '../../src/cli/migrate-elsewhere.ts';
import { takeLock } from '../../src/store/sqlite/lock.ts';
import { tempFolder } from '../http/servers.ts';
import { createTestEdge } from './test-io.ts';

test('a process that changes the tables already, as of a daemon that was killed, is what the error is about', async () => {
  const path = join(tempFolder(), 's.db');
  const unlock = takeLock(path);
  onTestFinished(unlock);
  await expect(
    migrateElsewhere(createTestEdge().edge, path, new AbortController().signal),
  ).rejects.toMatchObject({
    code: 'store_locked',
    message: `Another nestwatch uses the store ${path}.`,
  });
});
