import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These take longest, so they begin first: at the end no worker waits for another. */
const LONGEST = ['prometheus', 'pages/walk', 'pages/accessible', 'image', 'compose'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONGEST.some((name) => moduleId.endsWith(`system/${name}.system.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** Tests with real programs from Debian packages: `.ci/run` installs these and runs the tests. */
export default defineConfig({
  test: {
    include: ['test/system/**/*.system.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // One more than cores: most of them wait for what a program does at its own pace.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    passWithNoTests: false,
  },
});
