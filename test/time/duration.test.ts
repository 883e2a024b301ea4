import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, LONGEST_MS, parseDuration } from '../../src/time/duration.ts';

describe('a duration', () => {
  test.each([
    ['500ms', 500],
    ['15s', 15_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['2w', 1_209_600_000],
    ['1y', 31_536_000_000],
    ['1y2w3d4h5m6s7ms', 31_536_000_000 + 1_209_600_000 + 273_906_007],
    ['0', 0],
    ['0s', 0],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(['', '30', '1.5h', '-5s', '5 s', '5S', '1m1h', '1s1s', '00', 's', '1h '])(
    '%j is not a duration',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  test.each([
    [93_600_000, '26h'],
    [2_592_000_000, '30d'],
    [5_400_000, '1h30m'],
    [1_500, '1s500ms'],
    [0, '0'],
  ])('%i ms is written as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('what is written can be read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: LONGEST_MS }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});
