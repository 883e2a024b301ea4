import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // A test that is switched off or left alone by accident is an error, not a quieter run.
    allowOnly: false,
    passWithNoTests: false,
  },
});
