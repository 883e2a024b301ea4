import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files whose path contains one of these begin first, so that at the end no worker waits for another. */
export function longFirst(...names: readonly string[]) {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const isLong = ({ moduleId }: TestSpecification) => names.some((name) => moduleId.includes(name));
      return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
    }
  };
}

/** Whether long tests run too, as in `.ci/run` and by `npm run test:long`. */
const areWhole = process.env.NESTWATCH_TESTS === 'whole';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: [join(import.meta.dirname, 'test/property-seed.ts')],
    // These take more than a seventh of a second of a core each, and together four fifths of the time.
    ...(!areWhole && { testNamePattern: /^(?!.*\[long\])/ }),
    // Nothing in `src` keeps state in a module, so files share workers, and load it once for each of those.
    isolate: false,
    // One more than cores, since tests of real processes and sockets wait for these.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: longFirst('.long.test.ts') },
    // Stories take seconds of a core, and more where the machine has other things to do.
    testTimeout: areWhole ? 600_000 : 120_000,
    hookTimeout: 120_000,
    // So are waits for what a process, a server or a socket does: they end when it has, and a lost one with its test.
    expect: { poll: { timeout: 100_000 } },
    // A test that is switched off or left alone by accident is an error, not a quieter run.
    allowOnly: false,
    passWithNoTests: false,
  },
});
