/** `npm run test:long`: every test of `npm test`, with all cases of those of which that runs only some. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import everyDay from '../vitest.config.ts';

export default defineConfig({
  ...everyDay,
  root: join(import.meta.dirname, '..'),
  test: {
    ...everyDay.test,
    provide: { cases: 'all' },
    testTimeout: 300_000,
  },
});
