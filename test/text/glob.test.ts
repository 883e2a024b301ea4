import { expect, test } from 'vitest';
import { matchesGlob } from '../../src/text/glob.ts';

test.each([
  ['*', 'anything/at all\nin lines', true],
  ['Sandbox*', 'Sandbox 2', true],
  ['Sandbox*', 'My Sandbox', false],
  ['68?', '682', true],
  ['68?', '6820', false],
  ['C++ (docs) [x]', 'C++ (docs) [x]', true],
  ['a.b', 'axb', false],
  ['*🐦*', 'Bird 🐦 one', true],
  ['prod*', 'Production', false],
])('%s and %j: %s', (glob, text, fits) => {
  expect(matchesGlob(glob, text)).toBe(fits);
});
