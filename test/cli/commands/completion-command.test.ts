import { describe, expect, test } from 'vitest';
import { COMPLETIONS, complete } from '../shells.ts';
import { nestwatch, refused } from '../test-io.ts';

describe('bash', () => {
  test.each(COMPLETIONS)('completes %s [long]', async (_what, words, expected) => {
    expect((await complete('bash', words)).toSorted()).toEqual(expected.toSorted());
  });

  test('completes a value after a sign', async () => {
    expect(await complete('bash', ['run', '--log.format', '=', 'p'])).toEqual(['pretty']);
  });
});

test.each(['bash', 'zsh', 'fish'])('%s is given every command', async (shell) => {
  const { stdout } = await nestwatch(['completion', shell]);
  const help = (await nestwatch(['--help'])).stdout;
  const commands = [...help.matchAll(/^ {2}([a-z-]+) (?=.* {2})/gm)].map(([, name]) => name!);
  expect(commands.length).toBeGreaterThan(15);
  for (const command of commands.filter((one) => one !== 'help')) expect(stdout).toContain(command);
});

test('another shell is wrong usage', async () => {
  expect(await nestwatch(['completion', 'tcsh'])).toEqual(
    refused(
      'nestwatch: there is no completion for tcsh; there is bash, zsh, fish\nSee `nestwatch completion --help`.\n',
    ),
  );
  expect((await nestwatch(['completion', 'constructor'])).exit).toBe(2);
});
