import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matchesGlob } from '../../src/text/glob.ts';
import { countProcessorMs } from '../processor-time.ts';

test.each([
  ['*', 'anything/at all\nin lines', true],
  ['*', '', true],
  ['', '', true],
  ['', 'a', false],
  ['?', '', false],
  ['Sandbox*', 'Sandbox 2', true],
  ['Sandbox*', 'My Sandbox', false],
  ['68?', '682', true],
  ['68?', '6820', false],
  ['a*b*c', 'a b b c c', true],
  ['a*b*c', 'a c b', false],
  ['C++ (docs) [x]', 'C++ (docs) [x]', true],
  ['a.b', 'axb', false],
  ['*🐦*', 'Bird 🐦 one', true],
  ['?', '🐦', true],
  ['prod*', 'Production', false],
])('%s and %j: %s', (glob, text, fits) => {
  expect(matchesGlob(glob, text)).toBe(fits);
});

test('any glob matches as its definition says', () => {
  const short = fc.string({ unit: fc.constantFrom('a', 'b', '🐦', '*', '?'), maxLength: 8 });
  fc.assert(fc.property(short, short, (glob, text) => matchesGlob(glob, text) === byDefinition(glob, text)));
});

test('a name made to be slow costs no more than another one', () => {
  const taken = countProcessorMs();
  expect(matchesGlob('*-*-*-*x', '-'.repeat(500))).toBe(false);
  expect(matchesGlob(`*${'-'.repeat(50)}x`, '-'.repeat(20_000))).toBe(false);
  expect(taken()).toBeLessThan(500);
});

/** `*` is nothing, or one character and again `*`. */
function byDefinition(glob: string, text: string): boolean {
  const [first, ...rest] = [...glob];
  const [char, ...others] = [...text];
  if (first === undefined) return char === undefined;
  const after = () => byDefinition(rest.join(''), text);
  if (first === '*') return after() || (char !== undefined && byDefinition(glob, others.join('')));
  return (
    char !== undefined && (first === '?' || first === char) && byDefinition(rest.join(''), others.join(''))
  );
}
