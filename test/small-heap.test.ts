import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Runs a program that allocates much memory, of which little stays alive; returns the size of its heap, in MiB. */
function heapAfterChurn(prelude: string): number {
  const program = `${prelude}
    const kept = [];
    for (let at = 0; at < 600_000; at += 1) kept[at % 100_000] = { at, text: 'entry ' + at };
    console.log(process.memoryUsage().heapTotal / 2 ** 20);`;
  return Number(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }),
  );
}

test('garbage takes less room if it is collected early [long]', () => {
  const module = join(import.meta.dirname, '../src/small-heap.ts');
  const usual = heapAfterChurn('');
  const small = heapAfterChurn(`await import(${JSON.stringify(`file://${module}`)});`);
  expect(small).toBeLessThan(usual * 0.7);
});
