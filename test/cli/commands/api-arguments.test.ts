import { describe, expect, test } from 'vitest';
import { readApiArguments } from '../../../src/cli/commands/api-command.ts';

const NOTHING = { operation: undefined, parameters: {}, wantsHelp: false, all: false, yes: false };

describe('the arguments of api', () => {
  test.each([
    [[], {}],
    [['getNest', '--nestId', '5'], { operation: 'getNest', parameters: { nestId: '5' } }],
    [['--nestId=5', 'getNest'], { operation: 'getNest', parameters: { nestId: '5' } }],
    [['--nestId', '-5'], { parameters: { nestId: '-5' } }],
    [['--from=--x=y'], { parameters: { from: '--x=y' } }],
    [['--constructor', 'x'], { parameters: { constructor: 'x' } }],
    [
      [
        'a',
        '--region',
        'eu',
        '--body',
        '{}',
        '--base-url',
        'http://x',
        '--token-file',
        't',
        '--config.file',
        'c',
      ],
      { operation: 'a', region: 'eu', body: '{}', baseUrl: 'http://x', tokenFile: 't', configFile: 'c' },
    ],
    [['--all', '--yes'], { all: true, yes: true }],
    [['-h'], { wantsHelp: true }],
  ])('%j', (args, expected) => {
    expect(readApiArguments(args)).toEqual({ ...NOTHING, ...expected });
  });

  test.each([
    [['a', 'b'], 'one operation at a time: a or b'],
    [['--nestId'], '--nestId needs a value'],
    [['--nestId', '--yes'], '--nestId needs a value'],
    [['--page', '1', '--page', '2'], '--page is given twice'],
    [['-x'], 'there is no option -x: parameters begin with --'],
  ])('%j is refused', (args, message) => {
    expect(() => readApiArguments(args)).toThrow(expect.objectContaining({ code: 'usage', message }));
  });
});
