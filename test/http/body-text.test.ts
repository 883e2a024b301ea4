import { expect, test } from 'vitest';
import { bodyText } from '../../src/http/transport.ts';
import { countTurns } from '../count-turns.ts';

const MIB = 2 ** 20;

test.each([0, 1, 2, 3])(
  'a large body is decoded like a small one, even if a part ends within a character: %s',
  async (before) => {
    const parts = [Buffer.from(`\ufeff${'x'.repeat(MIB - 3 - before)}😀`), Buffer.alloc(MIB, 0xff)];
    const body = Buffer.concat([...parts, Buffer.from('😀').subarray(0, before)]);
    expect((await bodyText(body)) === new TextDecoder().decode(body)).toBe(true);
  },
);

test('other work continues after each MiB of what is not UTF-8 [long]', async () => {
  const turns = countTurns();
  expect(await bodyText(Buffer.alloc(16 * MIB, 0xff))).toHaveLength(16 * MIB);
  expect(turns()).toBeGreaterThanOrEqual(15);
});
