import { expect, test } from 'vitest';
import { nestwatch } from './test-io.ts';

/** The commands below these words, including the words; just the command if it has none below. */
async function commandsBelow(words: readonly string[]): Promise<readonly (readonly string[])[]> {
  const { stdout } = await nestwatch([...words, '--help']);
  // After the list come the examples.
  const listed = stdout.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '';
  const names = [...listed.matchAll(/^ {2}([a-z][a-z-]*)(?:\|[a-z]+)?(?: .*)?$/gm)].map(([, name]) => name!);
  const own = names.filter((name) => name !== 'help');
  if (own.length === 0) return [words];
  return (await Promise.all(own.map((name) => commandsBelow([...words, name])))).flat();
}

const COMMANDS = (await commandsBelow([])).map((words) => words.join(' '));

test('there are commands', () => {
  expect(COMMANDS.length).toBeGreaterThan(30);
  expect(COMMANDS).toContain('silence import');
});

test.each(COMMANDS)('the examples of `%s` name it, and options that it has', async (name) => {
  const { stdout } = await nestwatch([...name.split(' '), '--help']);
  const [help, examples = ''] = stdout.split('\nExamples:\n');
  for (const line of examples.split('\n').filter((one) => one.startsWith('  '))) {
    const [verb] = name.split(' ');
    expect(line).toMatch(new RegExp(`nestwatch ${verb}\\b`));
    for (const [option] of line.matchAll(/(?<= )--[a-z.-]+/g)) expect(help).toContain(option);
  }
});
