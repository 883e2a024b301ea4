import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScan } from '../../src/service/json-scan.ts';
import { parseJson } from '../../src/service/parse-json.ts';
import { parseLong } from '../../src/service/parse-long.ts';
import { countTurns } from '../count-turns.ts';

/** As much as is scanned between two turns of the event loop. */
const STRETCH = 512 * 1024;
const ANSWER = 8 * STRETCH;

const parse = (text: string) => parseLong(new JsonScan(text));

/** The result for the whole text. */
async function outcome(text: string): Promise<string> {
  const scan = new JsonScan(text);
  try {
    const json = JSON.stringify(await parseLong(scan));
    return scan.text.slice(scan.at).trim() === '' ? json : 'refused';
  } catch (error) {
    return error instanceof SyntaxError ? 'refused' : String(error);
  }
}

function outcomeAtOnce(text: string): string {
  try {
    return JSON.stringify(parseJson(text));
  } catch {
    return 'refused';
  }
}

describe('JSON that is parsed in parts', () => {
  test('equals what parsing it at once gives', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.nat(3), async (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        expect(await outcome(text)).toBe(outcomeAtOnce(text));
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.nat(), fc.string({ maxLength: 2 }), async (good, at, wrong) => {
        const text = good.slice(0, at % good.length) + wrong + good.slice((at % good.length) + 1);
        expect(await outcome(text)).toBe(outcomeAtOnce(text));
      }),
    );
  });

  test.each([
    '[12345678901234567890]',
    '[-12345678901234567890, 1234567890123456789.5, 1e400, -0]',
    '{"__proto__":{"a":1},"constructor":2,"b":1,"2":1,"1":2,"b":3}',
    '[[],{},[[]],{"a":{}}]',
    '"\\ud83d\\ude00\\u0000\\/\\"\\\\"',
    '{"\\u0061":1,"a":2}',
  ])('keeps special cases: %s', async (text) => {
    expect(await outcome(text)).toBe(outcomeAtOnce(text));
  });

  test.each([
    '"\\u12"',
    '"\\u12',
    '"\\u',
    '"\\x"',
    '"a\nb"',
    '[1 2]',
    '{"a":1,}',
    '[}',
    '{]',
    '[1}',
    '01',
    '',
    'nul',
  ])('is refused whenever parsing it at once would refuse it: %j', async (text) => {
    expect(outcomeAtOnce(text)).toBe('refused');
    expect(await outcome(text)).toBe('refused');
  });

  test.each(['\\u20ac', '\\\\', '\\"', '😀'])(
    'splits nothing where one part of a text ends: %s',
    async (character) => {
      for (let before = STRETCH - character.length - 1; before <= STRETCH + 1; before += 1) {
        const text = `"${'x'.repeat(before)}${character}y"`;
        expect((await parse(text)) === parseJson(text), String(before)).toBe(true);
      }
    },
  );

  test('may be nested deeper than the stack', async () => {
    let depth = 0;
    for (let json = await parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`); json; depth += 1) {
      json = (json as unknown[])[0];
    }
    expect(depth).toBe(50_000);
  });

  test.each([
    ['white space', `${' '.repeat(ANSWER)}1`],
    ['white space in a list', `[1,${'\n'.repeat(ANSWER)}2]`],
    ['one escaped text', `"${'\\n'.repeat(ANSWER / 2)}"`],
    ['one escaped key', `{"${'\\n'.repeat(ANSWER / 2)}":1}`],
  ])('lets other work continue after each part of %s', async (_, text) => {
    const turns = countTurns();
    const json = await parse(text);
    expect(turns()).toBeGreaterThanOrEqual(ANSWER / STRETCH - 1);
    expect(JSON.stringify(json) === JSON.stringify(parseJson(text))).toBe(true);
  });

  test('lets other work continue after each thousand values', async () => {
    const turns = countTurns();
    await parse(`[${'{"a":[]},'.repeat(49_999)}1]`);
    expect(turns()).toBeGreaterThanOrEqual(100 - 1);
  });
});
