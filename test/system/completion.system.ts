/** Shells that are not on every machine; `test/cli/upkeep/completion-command.test.ts` tests bash. */
import { describe, expect, test } from 'vitest';
import { COMPLETIONS, complete } from '../cli/shells.ts';

describe.each(['zsh', 'fish'])('%s', (shell) => {
  test.each(COMPLETIONS)('completes %s', async (_what, words, expected) => {
    expect((await complete(shell, words)).toSorted()).toEqual(expected.toSorted());
  });
});
