import { expect, test } from 'vitest';
import { commandOf, type RunOptions, runSeed } from './hostile-world.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** The first seed of each hundred worlds. */
const HUNDREDS = upTo(10).map((count) => 100 * count - 99);

/** What each failed world reports, with the command that repeats it. */
async function failuresOf(seeds: readonly number[], options: RunOptions): Promise<string[]> {
  const failures: string[] = [];
  for (const seed of seeds) {
    const { findings } = await runSeed(seed, options);
    if (findings.length > 0) failures.push([commandOf(seed, options), ...findings.slice(0, 3)].join('\n'));
  }
  return failures;
}

test.each(HUNDREDS)(
  'whatever comes from outside, the others are watched, and only text leaves (worlds from %i on) [long]',
  async (first) => {
    const worlds = 4;
    const seeds = Array.from({ length: worlds }, (_, at) => first + at);
    expect(await failuresOf(seeds, { isLarge: false })).toEqual([]);
  },
);

test('also with texts of megabytes and pages of millions of items [long]', async () => {
  expect(await failuresOf(upTo(10), { isLarge: true })).toEqual([]);
});
