import { expect, test } from 'vitest';
import { guessListen } from '../../src/config/config-source.ts';
import { formatHostPort } from '../../src/http/web-address.ts';

const DEFAULT = '127.0.0.1:9465';

test.each([
  ['nothing', '', DEFAULT, false],
  ['no map', '- web', DEFAULT, false],
  ['no address', 'web: { listen: everywhere }', DEFAULT, false],
  ['an alias of nothing', 'web: *gone', DEFAULT, false],
  ['an alias of itself', 'web: &web { listen: *web }', DEFAULT, false],
  ['another address', 'web: { listen: ":9000" }', ':9000', false],
  ['one from the environment', `web: { listen: "[::1]:\${PORT}", tls: {} }`, '[::1]:9001', true],
  ['one beside a mistake', 'x: "\nweb:\n  listen: ":9000"\n  tls:\n\tcert', ':9000', true],
  [
    'one before a mistake',
    'web:\n  listen: ":9000"\n  tls:\n    cert: x\nregions: { eu: { token: @x',
    ':9000',
    true,
  ],
])('a file with %s', (_what, text, listen, isTls) => {
  const guessed = guessListen({ file: 'n.yaml', environment: { PORT: '9001' }, readFile: () => text });
  expect([formatHostPort(guessed.listen), guessed.isTls]).toEqual([listen, isTls]);
});

test('a file that cannot be read', () => {
  const readFile = () => {
    throw new Error('ENOENT');
  };
  expect(formatHostPort(guessListen({ file: 'n.yaml', environment: {}, readFile }).listen)).toBe(DEFAULT);
});
