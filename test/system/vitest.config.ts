import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { longFirst } from '../../vitest.config.ts';

const LONGEST = ['image', 'prometheus', 'pages/walk', 'pages/accessible', 'compose', 'beside-alertmanager'];

/** Tests with real programs from Debian packages: `.ci/run` installs these and runs the tests. */
export default defineConfig({
  test: {
    include: ['test/system/**/*.system.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // One more than cores: most of them wait for what a program does at its own pace.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: longFirst(...LONGEST.map((name) => `system/${name}.system.ts`)) },
    passWithNoTests: false,
  },
});
