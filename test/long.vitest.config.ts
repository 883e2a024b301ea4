/** `npm run test:long`: all cases of the tests of which `npm test` runs only some. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import everyDay from '../vitest.config.ts';

export default defineConfig({
  ...everyDay,
  root: join(import.meta.dirname, '..'),
  test: {
    ...everyDay.test,
    include: ['test/**/*.long.test.ts'],
    provide: { cases: 'all' },
    testTimeout: 300_000,
  },
});
