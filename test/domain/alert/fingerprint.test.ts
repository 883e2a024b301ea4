import { expect, test } from 'vitest';
import { fingerprint, hash64 } from '../../../src/domain/alert/alert.ts';

// The values of a real Alertmanager (0.25) to which these alerts were posted.
test.each([
  [{ alertname: 'RegionDown', region: 'eu', severity: 'critical' }, '9d875cba4f5c174a'],
  [
    { alertname: 'FlightFailed', severity: 'warning', region: 'eu', nest: 'Märkte "x"\n', bird: '日本 🐦' },
    'bc6f0723ee7bd3da',
  ],
])("%j has Alertmanager's fingerprint", (labels, expected) => {
  expect(fingerprint(labels)).toBe(expected);
  expect(fingerprint(Object.fromEntries(Object.entries(labels).toReversed()))).toBe(expected);
});

test('the parts of a hash cannot run into each other', () => {
  expect(hash64(['ab', 'c'])).not.toBe(hash64(['a', 'bc']));
});
