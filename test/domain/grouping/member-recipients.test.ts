import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  activeMembers,
  byActivity,
  memberRecipients,
} from '../../../src/domain/grouping/member-recipients.ts';

const toOf = (...members: string[]) => memberRecipients(members).to;

test.each([
  ['anna@example.com', 'anna@example.com'],
  [' anna@example.com\t', 'anna@example.com'],
  ['\u00a0anna@example.com\r\n', 'anna@example.com'],
  ['Anna@EXAMPLE.com', 'Anna@example.com'],
  ['anna@example.com.', 'anna@example.com'],
  ['anna@münchen.example', 'anna@xn--mnchen-3ya.example'],
  ['anna@MÜNCHEN.example', 'anna@xn--mnchen-3ya.example'],
  ['anna@例え。jp', 'anna@xn--r8jz45g.jp'],
  ['jürgen@example.com', 'jürgen@example.com'],
  ['用户@例子.example', '用户@xn--fsqu00a.example'],
  ["o'neill+ops/x=1@example.com", "o'neill+ops/x=1@example.com"],
  ['anna@localhost', 'anna@localhost'],
])('%j is mailed as %s', (member, address) => {
  expect(memberRecipients([member])).toEqual({ to: [address], leftOut: [] });
});

test.each([
  ['anna@example.com, eve@example.net', 'this is more than one address'],
  ['anna@example.com;eve@example.net', 'this is more than one address'],
  ['anna@example.com@example.net', 'this is more than one address'],
  ['anna@example.com\r\nBcc: eve@example.net', 'the address has an invisible character in it'],
  ['anna\u202e@example.com', 'the address has an invisible character in it'],
  ['anna\u200b@example.com', 'the address has an invisible character in it'],
  ['anna@exam\u00adple.com', 'the address has an invisible character in it'],
  ['an na@example.com', 'the address has a blank in it'],
  ['anna@ example.com', 'the address has a blank in it'],
  ['Anna <anna@example.com>', 'the address has a blank in it'],
  ['<anna@example.com>', 'this is no mail address'],
  ['"anna"@example.com', 'this is no mail address'],
  ['anna', 'this is no mail address'],
  ['anna＠example.com', 'this is no mail address'],
  ['@example.com', 'this is no mail address'],
  ['anna@', 'this is no mail address'],
  ['anna@[127.0.0.1]', 'this is no mail address'],
  ['anna@exa%6dple.com', 'this is no mail address'],
  ['anna@example.com/x', 'this is no mail address'],
  ['anna@127.1', 'the domain of the address is not valid'],
  ['anna@xn--ü', 'the domain of the address is not valid'],
  ['anna@example..com', 'the domain of the address is not valid'],
  [`anna@${'x'.repeat(64)}.example`, 'the domain of the address is not valid'],
  [`${'a'.repeat(250)}@example.com`, 'the address is too long'],
  ['Anna Kowalska <>', 'the service has no address of this member'],
  ['', 'the service has no address of this member'],
])('%j is not mailed, and is named: %s', (member, why) => {
  const { to, leftOut } = memberRecipients([member, 'bo@example.com']);
  expect(to).toEqual(['bo@example.com']);
  expect(leftOut).toEqual([{ recipient: expect.any(String), why }]);
  expect(leftOut[0]!.recipient).not.toMatch(/[\p{Cc}\u202e]/u);
});

test('one person in two spellings is mailed once, also beside a configured address', () => {
  expect(
    toOf('a@münchen.example', 'a@xn--mnchen-3ya.example', 'a@MÜNCHEN.example', ' a@münchen.example. '),
  ).toEqual(['a@xn--mnchen-3ya.example']);
  const own = ['Anna <a@XN--MNCHEN-3ya.example>', 'ops@Example.com'];
  expect(memberRecipients(['a@münchen.example', 'ops@example.com', 'b@example.com'], own).to).toEqual([
    'b@example.com',
    ...own,
  ]);
});

test('no text of the service becomes two recipients or a header, and none is lost', () => {
  const parts = [
    'a',
    '@',
    '.',
    ',',
    ';',
    '<',
    '>',
    '"',
    ' ',
    '\r\n',
    '\u0000',
    'ü',
    'xn--',
    '127.1',
    '%40',
    '\ud800',
  ];
  const anyText = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((all) => all.join(''));
  fc.assert(
    fc.property(anyText, (email) => {
      const member = { id: 'u', firstName: 'eve@evil.example', lastName: '', email, isActive: true };
      const { to, leftOut } = memberRecipients(activeMembers([member]));
      expect(to.length + leftOut.length).toBe(1);
      for (const one of to) expect(one).toMatch(/^[^\s@<>,;"]+@[a-z0-9.-]+$/);
      expect(to).not.toContain('eve@evil.example');
    }),
  );
});

test('a member who may be active is not mailed, and does not count as active', () => {
  const member = (email: string, isActive: boolean | undefined) => ({
    ...{ id: 'u', firstName: 'Ann', lastName: 'Lee', email, isActive },
  });
  const members = activeMembers([
    member('a@example.com', true),
    member('b@example.com', undefined),
    member('', undefined),
    member('c@example.com', false),
  ]);
  const why = 'the service does not say whether this member is active';
  expect(memberRecipients(members)).toEqual({
    to: ['a@example.com'],
    leftOut: [
      { recipient: 'Ann Lee <> <?>', why },
      { recipient: 'b@example.com <?>', why },
    ],
  });
  expect(byActivity(members)).toEqual({
    active: ['a@example.com'],
    unknown: ['Ann Lee <>', 'b@example.com'],
  });
});
