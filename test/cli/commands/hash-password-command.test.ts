import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/program.ts';
import { isPasswordOf } from '../../../src/http/password-hash.ts';
import { createTestEdge } from '../test-io.ts';

describe('hash-password', () => {
  test.each([
    ['typed', { typed: 's3cret pass\n' }],
    ['from a pipe', { piped: 's3cret pass\nand more' }],
  ])('prints the hash of a password that is %s, and not the password [long]', async (_name, given) => {
    const { edge, stdout, stderr } = createTestEdge('typed' in given ? given : {});
    const { piped } = given as { piped?: string };
    const stdin = piped === undefined ? edge.stdin : Object.assign(Readable.from([piped]), { isTTY: false });
    expect(await runCommandLine({ ...edge, stdin }, ['hash-password'])).toBe(0);
    expect(await isPasswordOf(stdout().trim(), 's3cret pass')).toBe(true);
    expect(stdout() + stderr()).not.toContain('s3cret');
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
    ['the end of the input', ''],
  ])('is interrupted by %s', async (_how, typed) => {
    const { edge, stdout, stderr } = createTestEdge({ typed });
    expect(await runCommandLine(edge, ['hash-password'])).toBe(2);
    expect(stdout()).toBe('');
    expect(stderr()).toBe(
      'Password: \nnestwatch: no password was typed\nSee `nestwatch hash-password --help`.\n',
    );
  });

  test('refuses an empty one', async () => {
    const { edge, stderr } = createTestEdge();
    expect(await runCommandLine(edge, ['hash-password'])).toBe(2);
    expect(stderr()).toContain('the password is empty');
  });
});
