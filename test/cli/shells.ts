/** What real shells do with the scripts that `nestwatch completion` prints. */
import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { nestwatch, tempFile } from './test-io.ts';

/** How to ask a shell for completions; the last word is the one being typed. */
const ASK: Readonly<Record<string, (file: string, words: readonly string[]) => string>> = {
  bash: (file, words) => `source ${file}
COMP_WORDS=(${words.map((word) => JSON.stringify(word)).join(' ')})
COMP_CWORD=${words.length - 1}
_nestwatch
printf '%s\\n' "\${COMPREPLY[@]}"`,
  // zsh's own completion functions are replaced, because they only work in an interactive shell.
  zsh: (file, words) => `compdef() { }
_files() { }
_describe() { local one; for one in "\${(@P)2}"; do print -r -- "\${one%%:*}"; done }
source ${file}
words=(${words.map((word) => JSON.stringify(word)).join(' ')})
CURRENT=${words.length}
_nestwatch`,
  fish: (file, words) => `source ${file}
complete -C ${JSON.stringify(words.join(' '))} | string split -f 1 \\t`,
};

export async function complete(shell: string, words: readonly string[]): Promise<string[]> {
  const { exit, stdout } = await nestwatch(['completion', shell]);
  expect(exit).toBe(0);
  const file = tempFile(`completion.${shell}`, stdout);
  const script = ASK[shell]!(file, ['nestwatch', ...words]);
  const asked = spawnSync(shell, ['-c', script], { encoding: 'utf8' });
  expect(asked.stderr).toBe('');
  const current = words.at(-1)!;
  // zsh and fish filter by themselves in an interactive shell.
  return asked.stdout.split('\n').filter((word) => word !== '' && word.startsWith(current));
}

/** What is completed, the words before it with its beginning, and the possible completions. */
export const COMPLETIONS: [string, string[], string[]][] = [
  ['a command', ['si'], ['simulate', 'silence']],
  ['a command below it', ['silence', 'e'], ['expire', 'export']],
  ['an option', ['run', '--log.'], ['--log.level', '--log.format']],
  ['an option behind others', ['silence', 'add', 'bird=x', '--dry'], ['--dry-run']],
  ['a value', ['run', '--log.level', 'w'], ['warn']],
  ['an operation', ['api', 'fly'], ['flyBird']],
  ['a shell', ['completion', 'z'], ['zsh']],
  ['the name of an alert', ['silence', 'add', 'FlightF'], ['FlightFailed']],
  ['nothing that is no word of that place', ['status', '--once'], []],
];
