import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from '../src/errors.ts';
import { METRICS } from '../src/observe/metric-catalogue.ts';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The rows of the table between two marks, cell by cell. */
function table(name: string): string[][] {
  const text = README.split(`<!-- ${name} -->`)[1]?.split(`<!-- /${name} -->`)[0] ?? '';
  const rows = text.trim().split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('the README lists every error code with what to do', () => {
  const expected = Object.entries(ERRORS).map(([code, { retryable, exit, help }]) => [
    `\`${code}\``,
    retryable ? 'yes' : 'no',
    String(exit),
    help,
  ]);
  expect(table('error-table')).toEqual(expected);
});

test('the README lists every metric with its labels and meaning', () => {
  const expected = Object.values(METRICS).map(({ name, labels, help }) => [
    `\`${name}\``,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  expect(table('metrics-table')).toEqual(expected);
});
