/** `npm run test:long`: the tests of which `npm test` runs some cases, with all of them. */
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
