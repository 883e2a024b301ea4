import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';
import { TABLES_VERSION, tableChanges } from '../../src/store/versions/table-changes.ts';
import { VERSION } from '../../src/version.ts';
import { containing, createTestEdge, done, nestwatch, refused, tempFile } from './test-io.ts';

const COMMANDS = [
  'run',
  'demo',
  'simulate',
  'api',
  'check-config',
  'status',
  'healthcheck',
  'alerts',
  'silence',
  'routes',
  'deliveries',
  'explain',
  'test-receiver',
  'render',
  'schema',
  'completion',
  'init',
];

const TABLES = `tables of ${tableChanges(TABLES_VERSION - 1)[0]}\n`;

describe('the command line', () => {
  test('--help names every command on stdout', async () => {
    const { exit, stdout, stderr } = await nestwatch(['--help']);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  });

  test.each(COMMANDS)('%s --help prints its usage', async (command) => {
    expect(await nestwatch([command, '--help'])).toEqual(done(containing(`Usage: nestwatch ${command}`)));
  });

  test.each(['', 'run', 'birds', 'test-receiver', 'api'])(
    '%s --help breaks no word at 80 columns',
    async (command) => {
      const { stdout } = await nestwatch([...(command ? [command] : []), '--help'], { columns: 80 });
      // Examples stay whole, to be copied.
      const [help = ''] = stdout.split('\nExamples:\n');
      expect(help.split('\n').filter((line) => line.length > 80)).toEqual([]);
    },
  );

  test('run --help gives the default as one would write it', async () => {
    expect((await nestwatch(['run', '--help'])).stdout).toContain('(default: 5s)');
  });

  test('--version prints the version, the revision if known, and Node', async () => {
    expect((await nestwatch(['--version'])).stdout).toBe(
      `nestwatch ${VERSION} (Node ${process.version})\n${TABLES}`,
    );
    expect((await nestwatch(['--version'], { environment: { NESTWATCH_REVISION: 'abc' } })).stdout).toBe(
      `nestwatch ${VERSION} (revision abc, Node ${process.version})\n${TABLES}`,
    );
  });

  test.each([
    ['nothing at all', [], 'Usage: nestwatch'],
    ['an unknown command', ['rum'], "error: unknown command 'rum'\n(Did you mean run?)\n"],
    ['an unknown option', ['status', '--jsn'], "error: unknown option '--jsn'\n(Did you mean --json?)\n"],
    ['an option without its value', ['status', '--url'], "error: option '--url <url>' argument missing\n"],
    ['one argument too many', ['schema', 'x'], 'error: too many arguments'],
    ['a level that there is not', ['run', '--log.level', 'loud'], "argument 'loud' is invalid"],
    [
      'a number that is none',
      ['simulate', '--listen', 'x:1', '--birds', 'many'],
      'It must be a whole number.',
    ],
    [
      'an option that is needed',
      ['simulate'],
      "error: required option '--listen <host:port>' not specified\n",
    ],
  ])('%s is wrong usage', async (_what, args, message) => {
    expect(await nestwatch(args)).toEqual(refused(containing(message)));
  });

  test.each([
    [['birds', 'show', ''], 'id-or-name'],
    [['birds', 'fly', ' ', '--yes'], 'id-or-name'],
    [['flights', 'show', ''], 'id'],
    [['alerts', 'show', ''], 'id'],
    [['deliveries', 'retry', 'a', ''], 'id'],
  ])('an empty argument is refused: %j', async (args, name) => {
    expect(await nestwatch(args)).toEqual(refused(containing(`nestwatch: <${name}> must not be empty\n`)));
  });

  test('an expected failure is one sentence and what to do, with the exit code of its table', async () => {
    expect(await nestwatch(['simulate', '--listen', 'here'])).toEqual(
      refused(
        'nestwatch: --listen must be host:port, such as 127.0.0.1:4010\nSee `nestwatch simulate --help`.\n',
      ),
    );
  });

  test.each([
    [['status', '\u001b[2J\u202efdp\u0085.exe'], 'Expected 0 arguments but got 1:  [2Jfdp\n.exe.\n'],
    [['completion', '\u009b31mred'], 'there is no completion for  31mred;'],
  ])('a repeated argument cannot steer the terminal: %j', async (args, message) => {
    const { exit, stderr } = await nestwatch(args);
    expect(exit).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/[[\p{Cc}\u202e]--\n]/v);
  });

  test('mistakes of a configuration are printed one by one with their places', async () => {
    const file = tempFile('n.yaml', 'regions: {}\nwebb: 1\nweb: { listen: x }');
    expect(await nestwatch(['status', '--config.file', file])).toEqual(
      refused(`${file}:3:16: web.listen: must be host:port, such as 127.0.0.1:9465 or [::1]:9465
Correct the mistakes; \`nestwatch check-config\` lists them all.
`),
    );
  });

  test.each([
    [['schema'], ''],
    [['--log.level', 'debug', 'schema'], 'Error: the pipe burst\n    at '],
  ])('an unexpected failure is one sentence, and its stack with the level debug: %j', async (args, stack) => {
    const { edge, stderr } = createTestEdge();
    const stdout = Object.assign(new Writable(), {
      write() {
        throw new Error('the pipe burst');
      },
    });
    expect(await runCommandLine({ ...edge, stdout }, args)).toBe(1);
    expect(stderr()).toContain('nestwatch: this should not happen, please report it: the pipe burst\n');
    expect(stderr().includes('    at ')).toBe(stack !== '');
    expect(stderr()).toContain(stack);
  });
});
