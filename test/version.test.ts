import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkoutRevision } from '../src/version.ts';
import { openFolder } from './http/servers.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const OTHER = 'f'.repeat(40);

test.each<[string, Readonly<Record<string, string>>, string | undefined]>([
  ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` }, COMMIT],
  ['no branch', { '.git/HEAD': `${COMMIT}\n` }, COMMIT],
  [
    'a packed branch',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `# pack-refs with: peeled\n${OTHER} refs/heads/not/main\n${COMMIT} refs/heads/main\n`,
    },
    COMMIT,
  ],
  [
    'a branch that moved on since it was packed',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `${OTHER} refs/heads/main\n`,
      '.git/refs/heads/main': `${COMMIT}\n`,
    },
    COMMIT,
  ],
  [
    'a worktree',
    {
      '.git': 'gitdir: shared/worktrees/one\n',
      'shared/worktrees/one/HEAD': 'ref: refs/heads/one\n',
      'shared/worktrees/one/commondir': '../..\n',
      'shared/refs/heads/one': `${COMMIT}\n`,
    },
    COMMIT,
  ],
  ['a branch without a commit', { '.git/HEAD': 'ref: refs/heads/main\n' }, undefined],
  ['something else', { '.git/HEAD': 'x\n' }, undefined],
  ['no checkout', { 'package.json': '{}' }, undefined],
])('the revision of %s', (_what, files, expected) => {
  const folder = openFolder();
  onTestFinished(() => folder.close());
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  expect(checkoutRevision(folder.path)).toBe(expected);
});
