import { describe, expect, test } from 'vitest';
import { removerOf, secret, secretFrom, secretsIn, withoutSecrets } from '../src/secret.ts';

const PASSWORD = `s3"<&'/+ é~x!`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a secret is removed', () => {
  test.each([
    ['as it is', PASSWORD],
    ['in JSON', JSON.stringify(PASSWORD)],
    ['in JSON by PHP, which escapes slashes', JSON.stringify(PASSWORD).replaceAll('/', '\\/')],
    ['in JSON by Python, which is ASCII', JSON.stringify(PASSWORD).replace('é', '\\u00e9')],
    [
      'in HTML',
      PASSWORD.replaceAll('&', '&amp;').replace('<', '&lt;').replace('"', '&quot;').replace("'", '&#39;'),
    ],
    ['in an address', encodeURIComponent(PASSWORD)],
    ['in an address in small letters', encodeURIComponent(PASSWORD).toLowerCase()],
    ['in a form', new URLSearchParams({ a: PASSWORD }).toString().slice(2)],
  ])('%s', (_, said) => {
    const shown = withoutSecrets(`before ${said} after`, [PASSWORD]);
    expect(shown).toMatch(/^before "?\[secret\]"? after$/);
  });

  test.each([
    ['base64', base64(PASSWORD)],
    ['base64 for addresses', Buffer.from(PASSWORD).toString('base64url')],
    ['HTTP Basic', base64(`me:${PASSWORD}`)],
    ['HTTP Basic of a longer user', base64(`anna:${PASSWORD}`)],
    [
      'HTTP Basic of an OAuth 2 client',
      base64(`c:${new URLSearchParams({ a: PASSWORD }).toString().slice(2)}`),
    ],
    ['SASL PLAIN', base64(`\0user\0${PASSWORD}`)],
    ['XOAUTH2', base64(`user=me\x01auth=Bearer ${PASSWORD}\x01\x01`)],
  ])('as %s, as a whole', (_, said) => {
    expect(withoutSecrets(`535 no: ${said}; twice: ${said}`, [PASSWORD])).toBe(
      '535 no: [secret]; twice: [secret]',
    );
  });

  test('whole, even if another secret is a part of it', () => {
    expect(withoutSecrets('hunter2-and-more hunter2', ['hunter2', 'hunter2-and-more'])).toBe(
      '[secret] [secret]',
    );
  });

  test('together with the parts of an address that may be keys', () => {
    const address = 'https://proxy-user:pass%26word@hooks.example.com/services/T0KEN?code=a%20b1';
    const said = 'hooks.example.com: no T0KEN, not a b1, a%20b1, pass&word';
    expect(withoutSecrets(said, [address])).toBe(
      'hooks.example.com: no [secret], not [secret], [secret], [secret]',
    );
    expect(withoutSecrets('sig is wrong', ['?key=sig is wrong'])).toBe('[secret]');
    expect(
      withoutSecrets('no /alertmanager/k3y1/api/v2/alerts', [
        'http://am/alertmanager/k3y1',
        'http://am/alerts',
      ]),
    ).toBe('no /alertmanager/[secret]/api/v2/alerts');
  });
});

test('short texts are left, as they would occur anywhere', () => {
  expect(withoutSecrets('a cat and abc', ['abc', 'a'])).toBe('a cat and abc');
});

test('a text full of the secret takes no longer than its length', () => {
  const clean = removerOf([PASSWORD], () => true);
  expect(clean(`${base64(PASSWORD)} `.repeat(200_000))).toBe('[secret] '.repeat(200_000));
});

test('all secrets within a value are found, at any depth', () => {
  const value = {
    token: secret('one'),
    lists: [{ users: new Map([['anna', { hash: secret('two') }]]) }],
    text: 'none',
    isTrusted: () => true,
    empty: secret(''),
    file: secretFrom(() => 'three'),
    nothing: null,
  };
  expect(secretsIn(value)).toEqual(['one', 'two', 'three']);
});
