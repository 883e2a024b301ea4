/**
 * Stories of the daemon with the store on PostgreSQL instead of in memory; several processes on one store, of which
 * some are stopped or of another version; copies that are killed; and servers that are away, fall silent, or lack what
 * they had confirmed.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import everyDay, { longFirst } from '../vitest.config.ts';

export default defineConfig({
  ...everyDay,
  root: join(import.meta.dirname, '..'),
  test: {
    ...everyDay.test,
    // Long ones, too, except those that explain an event: they read the tables that the others of that file read.
    testNamePattern: /^(?!an event .*\[long\])/,
    include: [
      ...['first-stories', 'explain', 'digests'].map((name) => `test/acceptance/${name}.test.ts`),
      'test/acceptance/replicas/*.postgres.ts',
      'test/store/postgres/*.postgres.ts',
    ],
    sequence: { sequencer: longFirst('/replicas/', '/digests') },
    globalSetup: ['test/store/postgres/shared-server.ts'],
    testTimeout: 300_000,
  },
});
