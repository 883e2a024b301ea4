import { defineConfig } from 'vitest/config';

/** Tests beside real programs from Debian's packages: `.ci/run` installs those and runs these. */
export default defineConfig({
  test: {
    include: ['test/system/**/*.system.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    passWithNoTests: false,
  },
});
