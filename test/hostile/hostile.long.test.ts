import { expect, test } from 'vitest';
import { casesOf, longStory } from '../cases.ts';
import { commandOf, type RunOptions, runSeed } from './hostile-world.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

const SEEDS = upTo(1000);

/** What each failed world reports, with the command that repeats it. */
async function failuresOf(seeds: readonly number[], options: RunOptions): Promise<string[]> {
  const failures: string[] = [];
  for (const seed of seeds) {
    const { findings } = await runSeed(seed, options);
    if (findings.length > 0) failures.push([commandOf(seed, options), ...findings.slice(0, 3)].join('\n'));
  }
  return failures;
}

test('whatever comes from outside, the others are watched, and only text leaves', async () => {
  const seeds = casesOf('hostile worlds', SEEDS, upTo(4));
  expect(await failuresOf(seeds, { isLarge: false })).toEqual([]);
});

longStory('also with texts of megabytes and pages of millions of items', async () => {
  expect(await failuresOf(upTo(100), { isLarge: true })).toEqual([]);
});
