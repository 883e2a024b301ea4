import { defineConfig } from 'vitest/config';

/** Tests with real programs from Debian packages: `.ci/run` installs these and runs the tests. */
export default defineConfig({
  test: {
    include: ['test/system/**/*.system.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Most of them wait for what a program does at its own pace.
    maxWorkers: 2,
    passWithNoTests: false,
  },
});
