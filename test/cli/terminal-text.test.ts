import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { factText, jsonText, layoutOf, shown, table } from '../../src/cli/terminal-text.ts';
import { nestwatch } from './test-io.ts';

const STEERING = '\u001b[2J\u009b31m\u0085\u007f\u202efdp.exe\u2066\u200f\u061c';

describe('JSON on a terminal', () => {
  test('contains the exact text, and steers no terminal', () => {
    const written = jsonText({ [STEERING]: STEERING, family: '👨‍👩‍👧 שלום' });
    expect(JSON.parse(written)).toEqual({ [STEERING]: STEERING, family: '👨‍👩‍👧 שלום' });
    expect(written).not.toMatch(/[[\p{Cc}\p{Bidi_Control}]--\n]/v);
    expect(written).toContain('👨‍👩‍👧 שלום');
  });
});

test.each([[[]], [['--json']]])('nor does the name of a checked file: %j', async (options) => {
  const { stdout } = await nestwatch(['check-config', ...options, `${STEERING}.yaml`]);
  expect(stdout).toContain('the file does not exist');
  expect(stdout).not.toMatch(/[[\p{Cc}\p{Bidi_Control}]--\n]/v);
});

describe('facts', () => {
  const LINES = [
    'status     active, first seen long ago',
    `why        ${'abc '.repeat(5)}`,
    'One more of them',
  ];
  const on = (columns: number, isTTY = true) =>
    factText({ stdout: { columns, isTTY } } as unknown as Parameters<typeof factText>[0], LINES);

  test('go on below their text on a terminal, with no word broken', () => {
    expect(on(25)).toBe(
      'status     active, first\n           seen long ago\nwhy        abc abc abc\n           abc abc \nOne more of them\n',
    );
    expect(on(12).split('\n')).toContain('    them');
  });

  test('are a line each for a program', () => expect(on(25, false)).toBe(`${LINES.join('\n')}\n`));
});

describe('tables', () => {
  const clock = () => '';
  const rows = ['翻訳を公開', '🚀 launch', 'plain'].map((name, at) => ({ name, state: `state ${at}` }));
  const columns = {
    NAME: (one: (typeof rows)[number]) => one.name,
    STATE: (one: (typeof rows)[number]) => one.state,
  };

  test('have straight columns where characters take two places on the terminal', () => {
    expect(table(columns, rows, { isColoured: false, clock }).split('\n')).toEqual([
      ...['NAME        STATE', '翻訳を公開  state 0', '🚀 launch   state 1', 'plain       state 2', ''],
    ]);
  });

  test('fit the terminal, also sentences without spaces', () => {
    const long = [{ name: '翻訳'.repeat(30), state: 'off' }];
    expect(table(columns, long, { width: 40, isColoured: false, clock }).split('\n')).toEqual([
      ...[`NAME${' '.repeat(31)}STATE`, `${'翻訳'.repeat(8)}…  off`, ''],
    ]);
  });
});

test('a reason is never cut', () => {
  const reason = 'the glossary is locked '.repeat(86).trim();
  expect(shown(reason)).toBe(reason);
});

test.each([
  ['Europe/Amsterdam', ' 2 Jul 14:00:00'],
  ['', ' 2 Jul 12:00:00'],
  [':/etc/localtime', ' 2 Jul 12:00:00'],
])('instants on a terminal are in its time zone, and in UTC where TZ=%s names none', (zone, expected) => {
  vi.stubEnv('TZ', zone);
  onTestFinished(() => void vi.unstubAllEnvs());
  const edge = { stdout: { isTTY: true, columns: 80 }, environment: {} } as unknown as Parameters<
    typeof layoutOf
  >[0];
  expect(layoutOf(edge, {}).clock(Date.UTC(2026, 6, 2, 12) * 1000)).toBe(expected);
});
