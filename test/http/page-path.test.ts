import fc from 'fast-check';
import { expect, test } from 'vitest';
import { alertPath, birdPath, eventPath, idOfPath } from '../../src/http/page-path.ts';
import { anyCharacter } from '../any-character.ts';

test.each([
  [
    'an alert',
    alertPath('FlightFailed/1d9a4c07/eu/bird/148890'),
    'alerts/FlightFailed/1d9a4c07/eu/bird/148890',
  ],
  ['the second end of a Flight', eventPath('eu/flight/f1/failed#2'), 'events/eu/flight/f1/failed%232'],
  ['a Bird', birdPath('eu', 'a/b?'), 'birds/eu/a%2Fb%3F'],
  ['what would climb out', alertPath('RegionDown/../../x'), 'alerts/RegionDown%2F..%2F..%2Fx'],
  ['an empty part', eventPath('eu/flight//failed'), 'events/eu%2Fflight%2F%2Ffailed'],
])('%s has an address that can be read', (_, path, expected) => {
  expect(path).toBe(expected);
});

test('every id is read back from its address, which leads nowhere else', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 3 }), (id) => {
      const { pathname } = new URL(`http://watch.example.com/${eventPath(`eu/${id}`)}`);
      expect(pathname.startsWith('/events/')).toBe(true);
      expect(idOfPath(pathname.slice('/events/'.length))).toBe(`eu/${id}`.toWellFormed());
    }),
  );
});

test('an address that is not properly encoded stands for nothing', () => {
  expect(idOfPath('100%')).toBeUndefined();
});
