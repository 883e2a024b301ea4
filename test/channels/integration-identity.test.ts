import { describe, expect, test } from 'vitest';
import { identitiesOf, integrationAt, positioned } from '../../src/channels/integration-identity.ts';
import type { Integration } from '../../src/channels/receiver.ts';
import { secret } from '../../src/secret.ts';
import { email, webhook } from './sample-notifications.ts';

/** `a` is a webhook to that address, `A` one to the same address in another format, `@` a mail. */
const integrations = (letters: string): Integration[] =>
  [...letters].map((letter) =>
    letter === '@'
      ? email()
      : webhook({
          url: secret(`https://hook.example/${letter.toLowerCase()}`),
          format: letter === letter.toLowerCase() ? 'alertmanager' : 'cloudevents',
        }),
  );

test.each([
  ['nothing has changed', 'ab', 'ab', 'ab'],
  ['another kind comes first', 'ab', '@ab', 'ab'],
  ['the order changes', 'abc', 'cab', 'abc'],
  ['the first is taken out', 'ab', 'b', '-b'],
  ['the last is taken out', 'ab', 'a', 'a-'],
  ['one is added in front', 'ab', 'cab', 'ab'],
  ['an address changes', 'ab', 'xb', 'xb'],
  ['an address changes, and it moves', 'ab', '@bx', 'xb'],
  ['two addresses change', 'abc', 'xby', 'xby'],
  ['two are replaced by one', 'ab', 'x', 'x-'],
  ['one of two of the same address is taken out', 'aa', 'a', 'a-'],
  ['two of the same address differ in format', 'aA', '@aA', 'aA'],
  ['all are taken out', 'a@', '', '--'],
  ['another kind stands in its place', 'a', '@', '-'],
])('where %s, %s to %s, pending messages go to %s', (_, before, after, expected) => {
  const [identities, present] = [identitiesOf(integrations(before)), integrations(after)];
  const found = positioned(integrations(before)).map(([position]) => {
    const one = integrationAt(present, position, identities);
    return one === undefined ? '-' : after[present.indexOf(one)];
  });
  expect(found.join('')).toBe(expected);
});

test('the position of an integration does not depend on integrations of other kinds', () => {
  const positions = (letters: string) => positioned(integrations(letters)).map(([position]) => position);
  const [a, b] = positions('ab');
  expect(positions('@ab')).toEqual([positions('@')[0], a, b]);
  expect(new Set(positions('@@ab')).size).toBe(4);
});

describe('an integration is the same', () => {
  const identityOf = (integration: Integration) => identitiesOf([integration])[0];

  test('whatever else changes', () => {
    const changed = webhook({ timeoutMs: 1, sendResolved: false, secret: secret('another'), maxAlerts: 3 });
    expect(identityOf(changed)).toBe(identityOf(webhook()));
    expect(identityOf(email({ password: secret('another'), hello: 'x' }))).toBe(identityOf(email()));
  });

  test('while it reaches the same people', () => {
    expect(identityOf(email({ to: ['ann@example.com'] }))).not.toBe(identityOf(email()));
    expect(identityOf(webhook({ url: secret('https://hook.example/other') }))).not.toBe(
      identityOf(webhook()),
    );
  });

  test('and its destination does not reveal its address', () => {
    expect(identityOf(webhook({ url: secret('https://hook.example/c4nary') }))).toMatch(
      /^webhook:[0-9a-f]{16}$/,
    );
  });
});
