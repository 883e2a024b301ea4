/** The time for reading a configuration with thousands of mistakes grows with its length, not with its square. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Work } from './work-of-mistakes.ts';

const MISTAKES = 12_000;

test('twice as many mistakes take at most twice the work [long]', async () => {
  const options = ['--no-opt', '--no-maglev', '--no-sparkplug'];
  const script = join(import.meta.dirname, 'work-of-mistakes.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...options, script, String(MISTAKES)]);
  const works: readonly Work[] = JSON.parse(stdout);
  const sorts = Map.groupBy(works, ({ what }) => what);
  expect(sorts.size).toBe(7);
  for (const [what, [few, half, all]] of sorts) {
    for (const { found } of [few!, half!, all!]) expect(found, what).toBeGreaterThanOrEqual(100);
    const callsOfOne = (from: Work, to: Work) => (to.calls - from.calls) / (to.mistakes - from.mistakes);
    expect(callsOfOne(few!, half!), what).toBeGreaterThan(10);
    expect(callsOfOne(half!, all!) / callsOfOne(few!, half!), what).toBeLessThan(1.2);
  }
});
