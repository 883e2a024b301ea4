import { expect, test } from 'vitest';
import { problemsOf, REGION, warningsOf } from './load.ts';

const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => `${line(at)}\n`).join('');

test.each([
  ['unknown keys', (count: number) => `poll:\n${lines(count, (at) => `  k${at}: 1`)}`],
  ['keys that stand twice', (count: number) => `poll:\n${lines(count + 1, () => '  page_size: 1')}`],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to the environment is what is tested.
  ['references that lead nowhere', (count: number) => `rules:\n${lines(count, () => '  - "${A}"')}`],
  ['wrong entries', (count: number) => `rules:\n${lines(count, () => '  - { kind: X }')}`],
])('of many mistakes, %s, a hundred are reported [long]', (_, text) => {
  const some = problemsOf(REGION + text(99));
  expect(some).toHaveLength(99);
  const [more, ...others] = problemsOf(REGION + text(2_000)).toReversed();
  expect(others).toHaveLength(100);
  expect(others.toReversed().slice(0, 99)).toEqual(some);
  expect(more).toMatch(/^\d+:\d+: there may be more: correct these first$/);
});

test('of many warnings, a hundred are reported [long]', () => {
  const receivers = (count: number) =>
    warningsOf(
      `${REGION}route: { receiver: r0 }\nreceivers:\n${lines(count, (at) => `  - { name: r${at} }`)}`,
    );
  expect(receivers(90)).toHaveLength(89);
  const all = receivers(2_000);
  expect(all).toHaveLength(101);
  expect(all.at(-1)).toBe('104:13: : there may be more: correct these first');
});

test('a file of more than 4 MiB is refused before it is parsed', () => {
  expect(problemsOf(`${REGION}#${'é'.repeat(2 ** 21)}`)).toEqual(['1:1: the file is larger than 4 MiB']);
  expect(problemsOf(`${REGION}#${'é'.repeat(2 ** 21 - 100)}`)).toEqual([]);
});
